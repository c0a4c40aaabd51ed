// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread's records until they are written: a plain array to which only its owner appends. The logs of all threads
// are handed to new threads, taken back from ending ones, and listed at the end of the process; one log is for the
// threads without.
#pragma once

#include <cstddef>

#include <sys/mman.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/trace/record.hpp>

#include "cli/preload/live_file.hpp"
#include "cli/preload/real.hpp"
#include "cli/preload/sleeping_lock.hpp"
#include "cli/preload/stack_walk.hpp"
#include "cli/preload/status.hpp"

namespace ashlar::recorder {

/// What lies before such an address can be wiped in a forked child.
inline constexpr std::size_t page_of_guard = 4096;

/// The owner appends without a lock. The writer to the file, owner or not, holds `lock` and notes what is written.
struct thread_log {
  /// Null in a child whose fork the recorder did not learn of, where the records are another process's.
  live_records* live = nullptr;
  known_stacks stacks;  ///< Of the owner; stacks of owners before it do no harm.
  alignas(page_of_guard) sleeping_lock lock;
  thread_log* next = nullptr;  ///< Of all logs; they are recycled, never given back.
  thread_log* next_free = nullptr;
  bool in_use = false;

  /// Effects: appends `r`, if there is room. Returns: whether the log is full now.
  [[nodiscard]] ASHLAR_INLINE bool append(const detail::trace_io::record& r) noexcept {
    live_records* const to = live;
    if (ASHLAR_UNLIKELY(to == nullptr)) return true;
    const std::uint32_t n = to->count.load(std::memory_order_relaxed);
    to->records[n] = r;
    to->count.store(n + 1, std::memory_order_release);  // pairs with the acquire in unwritten()
    return n + 1 >= log_records;
  }

  /// Returns: the records that are in the log.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t appended() const noexcept {
    return live == nullptr ? 0 : live->count.load(std::memory_order_relaxed);
  }

  /// Effects: gives it room for records, in the live file or in memory of its own. Returns: whether there is memory.
  /// `live` is set once a fork wipes it: another thread may fork meanwhile.
  [[nodiscard]] bool get_room() noexcept {
    if (live != nullptr) return true;
    live_records* room = recorder::live.take();
    const std::size_t guarded =
        static_cast<std::size_t>(reinterpret_cast<std::byte*>(&lock) - reinterpret_cast<std::byte*>(this));
    if (room != nullptr && madvise(this, guarded, MADV_WIPEONFORK) != 0) {
      munmap(room, sizeof(live_records));
      room = nullptr;
    }
    live = room != nullptr ? room : static_cast<live_records*>(map_memory(sizeof(live_records)));
    return live != nullptr;
  }
};

/// Returns: a log with all zeros, or null if there is no memory.
[[nodiscard]] inline thread_log* make_log() noexcept {
  return static_cast<thread_log*>(map_memory(sizeof(thread_log)));
}

/// Logs are mapped when there are more threads than ever before, and are kept forever.
class log_registry {
public:
  /// Returns: an empty log for a new stream, or null if there is no memory.
  [[nodiscard]] thread_log* take() noexcept {
    const ashlar::lock_scope hold(lock_);
    thread_log* const log = free_ != nullptr ? free_ : make();
    if (log == nullptr || !log->get_room()) return nullptr;
    free_ = log->next_free;
    const ashlar::lock_scope alone(log->lock);
    log->live->restart();
    log->in_use = true;
    return log;
  }

  /// Effects: makes `log` available to another thread. Expects: it is written, and its thread has ended.
  void give_back(thread_log* log) noexcept {
    const ashlar::lock_scope hold(lock_);
    make_free(*log);
  }

  /// Returns: the number of a new thread, 0 for the first.
  [[nodiscard]] std::uint32_t new_thread_number() noexcept { return threads_.fetch_add(1, std::memory_order_relaxed); }

  /// Returns: the log after `log` among all that were ever made, the first after null; null at the end.
  [[nodiscard]] thread_log* next(const thread_log* log) const noexcept {
    return log == nullptr ? all_.load(std::memory_order_acquire) : log->next;
  }

  /// Effects: in a forked child: empties and frees every log.
  void reset() noexcept {
    lock_.unlock();
    threads_.store(0, std::memory_order_relaxed);
    free_ = nullptr;
    for (thread_log* log = next(nullptr); log != nullptr; log = next(log)) {
      log->lock.unlock();
      make_free(*log);
    }
  }

private:
  void make_free(thread_log& log) noexcept {
    log.in_use = false;
    log.next_free = free_;
    free_ = &log;
  }

  thread_log* make() noexcept {
    thread_log* const log = make_log();
    if (log == nullptr) return nullptr;
    log->next = all_.load(std::memory_order_relaxed);
    all_.store(log, std::memory_order_release);  // pairs with the acquire in next()
    return log;
  }

  sleeping_lock lock_;
  std::atomic<thread_log*> all_{nullptr};
  thread_log* free_ = nullptr;
  std::atomic<std::uint32_t> threads_{0};
};

/// One shared log for threads without a log: past their last destructor, or out of memory for one. Rare, and under a
/// lock of its own. Each record of it names its thread.
class late_log {
public:
  /// Effects: notes `r` of `thread`, after `write_out(log)` if the log is full. Returns: the number of lost records.
  template <class Write>
  std::uint64_t append(std::uint32_t thread, const detail::trace_io::record& r, Write write_out) noexcept {
    const ashlar::lock_scope hold(lock_);
    if (log_ == nullptr) log_ = make_log();
    if (log_ == nullptr || !log_->get_room()) return 1;
    log_->live->thread = stream;
    if (log_->live->count.load(std::memory_order_relaxed) + 2 >= log_records) {
      write_out(*log_);
      log_->live->clear();
    }
    using detail::trace_io::opcode;
    if (thread != thread_)
      static_cast<void>(log_->append({.time = r.time, .stack = thread, .code = opcode::thread_switch}));
    thread_ = thread;
    static_cast<void>(log_->append(r));
    return 0;
  }

  /// Effects: `write_out(log)`, if there is one.
  template <class Write>
  void write(Write write_out) noexcept {
    const ashlar::lock_scope hold(lock_);
    if (log_ != nullptr && log_->live != nullptr) write_out(*log_);
  }

  /// Effects: in a forked child: empties the log.
  void reset() noexcept {
    lock_.unlock();
    thread_ = stream;
    if (log_ != nullptr && log_->live != nullptr) log_->live->restart();
  }

private:
  static constexpr std::uint32_t stream = 0xffff'ffff;  // its number in the file

  sleeping_lock lock_;
  thread_log* log_ = nullptr;
  std::uint32_t thread_ = stream;
};

}  // namespace ashlar::recorder
