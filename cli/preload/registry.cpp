// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Logs are mapped when there are more threads than ever before, and are kept forever.
#include "cli/preload/registry.hpp"

#include <atomic>

#include "cli/preload/workspace.hpp"

namespace ashlar::recorder {

namespace {

constinit spin_lock registry_lock;
constinit std::atomic<thread_log*> all_logs{nullptr};
constinit std::atomic<std::uint32_t> threads{0};

void restart(thread_log& log) noexcept {
  log.lock.unlock();
  log.count.store(0, std::memory_order_relaxed);
  log.written = log.sequence = 0;
  log.last_time = 0;
}

thread_log* find_free() noexcept {
  for (thread_log* log = all_logs.load(std::memory_order_relaxed); log != nullptr; log = log->next)
    if (!log->in_use) return log;
  return nullptr;
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
  thread_log* log = find_free();
  if (log == nullptr) log = make_log();
  if (log == nullptr) return nullptr;
  const ashlar::detail::lock_scope alone(log->lock);
  log->count.store(0, std::memory_order_relaxed);
  log->written = log->sequence = 0;
  log->last_time = 0;
  log->in_use = true;
  return log;
}

void give_back_log(thread_log* log) noexcept {
  const ashlar::detail::lock_scope hold(registry_lock);
  log->in_use = false;
}

thread_log* next_log(thread_log* log) noexcept {
  return log == nullptr ? all_logs.load(std::memory_order_acquire) : log->next;
}

void reset_logs(thread_log* own) noexcept {
  registry_lock.unlock();
  threads.store(0, std::memory_order_relaxed);
  for (thread_log* log = next_log(nullptr); log != nullptr; log = next_log(log)) {
    restart(*log);
    log->in_use = log == own;
  }
  if (own != nullptr) own->thread = new_thread_number();
}

}  // namespace ashlar::recorder
