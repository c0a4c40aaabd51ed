// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shared log: rare, small, under its own lock.
#include "cli/preload/late_log.hpp"

#include <new>

#include <ashlar/base/lock.hpp>

#include "cli/preload/sleeping_lock.hpp"
#include "cli/preload/workspace.hpp"

namespace ashlar::recorder {

namespace {

constinit sleeping_lock late_lock;
thread_log* late = nullptr;
std::uint32_t late_thread = late_stream;

thread_log* make() noexcept {
  auto* const log = static_cast<thread_log*>(map_memory(sizeof(thread_log)));
  if (log != nullptr) log->thread = late_stream;
  return log;
}

void make_room(log_writer write) noexcept {
  if (late->count.load(std::memory_order_relaxed) + 2 < log_records) return;
  write(*late);
  late->written = 0;
  late->count.store(0, std::memory_order_relaxed);
}

}  // namespace

std::uint64_t append_late(std::uint32_t thread, const detail::trace_io::record& r, log_writer write) noexcept {
  const ashlar::detail::lock_scope hold(late_lock);
  if (late == nullptr) late = make();
  if (late == nullptr) return 1;
  make_room(write);
  if (thread != late_thread)
    static_cast<void>(late->append({.time = r.time, .stack = thread, .code = detail::trace_io::opcode::thread_switch}));
  late_thread = thread;
  static_cast<void>(late->append(r));
  return 0;
}

void write_late_log(log_writer write) noexcept {
  const ashlar::detail::lock_scope hold(late_lock);
  if (late != nullptr) write(*late);
}

void reset_late_log() noexcept {
  late_lock.unlock();
  late_thread = late_stream;
  if (late == nullptr) return;
  late->count.store(0, std::memory_order_relaxed);
  late->written = late->sequence = 0;
  late->last_time = 0;
}

}  // namespace ashlar::recorder
