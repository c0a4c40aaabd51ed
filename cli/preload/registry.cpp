// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Logs are mapped when there are more threads than ever before, and are kept forever.
#include "cli/preload/registry.hpp"

#include <atomic>

#include <ashlar/base/lock.hpp>

#include "cli/preload/sleeping_lock.hpp"
#include "cli/preload/workspace.hpp"

namespace ashlar::recorder {

namespace {

constinit sleeping_lock registry_lock;
constinit std::atomic<thread_log*> all_logs{nullptr};
thread_log* free_logs = nullptr;
constinit std::atomic<std::uint32_t> threads{0};

void restart(thread_log& log) noexcept {
  log.count.store(0, std::memory_order_relaxed);
  log.written = log.sequence = 0;
  log.last_time = 0;
}

void make_free(thread_log& log) noexcept {
  log.in_use = false;
  log.next_free = free_logs;
  free_logs = &log;
}

thread_log* take_free() noexcept {
  thread_log* const log = free_logs;
  if (log != nullptr) free_logs = log->next_free;
  return log;
}

thread_log* make_log() noexcept {
  auto* const log = static_cast<thread_log*>(map_memory(sizeof(thread_log)));  // all zeros: an empty log
  if (log == nullptr) return nullptr;
  log->next = all_logs.load(std::memory_order_relaxed);
  all_logs.store(log, std::memory_order_release);  // pairs with the acquire in next_log()
  return log;
}

}  // namespace

std::uint32_t new_thread_number() noexcept { return threads.fetch_add(1, std::memory_order_relaxed); }

thread_log* take_log() noexcept {
  const ashlar::detail::lock_scope hold(registry_lock);
  thread_log* log = take_free();
  if (log == nullptr) log = make_log();
  if (log == nullptr) return nullptr;
  const ashlar::detail::lock_scope alone(log->lock);
  restart(*log);
  log->in_use = true;
  return log;
}

void give_back_log(thread_log* log) noexcept {
  const ashlar::detail::lock_scope hold(registry_lock);
  make_free(*log);
}

thread_log* next_log(thread_log* log) noexcept {
  return log == nullptr ? all_logs.load(std::memory_order_acquire) : log->next;
}

void reset_logs() noexcept {
  registry_lock.unlock();
  threads.store(0, std::memory_order_relaxed);
  free_logs = nullptr;
  for (thread_log* log = next_log(nullptr); log != nullptr; log = next_log(log)) {
    log->lock.unlock();
    restart(*log);
    make_free(*log);
  }
}

}  // namespace ashlar::recorder
