// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interface of the interposed functions to the recorder: notes a record for the calling thread.
#pragma once

#include <atomic>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/record.hpp>

#include "cli/preload/clock.hpp"
#include "cli/preload/frame.hpp"
#include "cli/preload/real.hpp"
#include "cli/preload/stacks.hpp"
#include "cli/preload/thread_log.hpp"

namespace ashlar::recorder {

/// The calling thread. In static TLS, and small, since a preloaded library must leave room there.
struct thread_state {
  thread_log* log = nullptr;  ///< Null: not yet recorded, no longer recorded, or inside the recorder.
  std::uint32_t thread = 0;
  std::uint8_t rounds = 0;  ///< Rounds of thread-exit destructors so far.
  bool busy = false;        ///< Inside the recorder: its own allocations are not recorded.
  bool named = false;       ///< `thread` is set.
  stack_bounds stack = {};  ///< Of the thread, as far down as it is known.
};

extern constinit thread_local thread_state self;

/// Marks the thread as inside the recorder for a scope; restores errno and the thread's log afterwards.
class inside_recorder {
public:
  inside_recorder() noexcept;
  ~inside_recorder();
  inside_recorder(const inside_recorder&) = delete;
  inside_recorder& operator=(const inside_recorder&) = delete;

private:
  thread_log* log_;
  int errno_ = 0;
  int cancel_state_ = 0;
  bool was_busy_;
};

/// A function that follows ours in the search order, looked up at its first use.
template <class Function>
class next_symbol {
public:
  constexpr explicit next_symbol(const char* name) noexcept : name_(name) {}

  [[nodiscard]] const char* name() const noexcept { return name_; }

  /// Returns: the function, or null if there is none now.
  [[nodiscard]] Function get() noexcept {
    void* found = found_.load(std::memory_order_acquire);
    if (found == nullptr) {
      const inside_recorder inside;
      found = next_definition(name_);
      found_.store(found, std::memory_order_release);
    }
    return reinterpret_cast<Function>(found);
  }

private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

/// Returns: whether events are wanted. Effects: the first call with an environment starts the recorder.
[[nodiscard]] bool is_recording() noexcept;

/// Effects: notes `r` for a thread without a log: gives it one, or notes nothing.
void note_without_log(const detail::trace_io::record& r) noexcept;

/// Effects: writes out the calling thread's log, which is full.
void write_full_log() noexcept;

/// Effects: notes `r`. Never fails, never changes errno.
ASHLAR_INLINE void note(const detail::trace_io::record& r) noexcept {
  thread_log* const log = self.log;
  if (ASHLAR_UNLIKELY(log == nullptr)) return note_without_log(r);
  if (ASHLAR_UNLIKELY(log->append(r))) write_full_log();
}

/// Effects: notes an event now, with the id of its name; null: without one.
void note_named(trace::operation op, const char* name) noexcept;

/// Effects: notes an event of the block at `p`, now: the program has just received it, null for a failure, or gives it
/// back, which must be noted before the release.
ASHLAR_INLINE void note_block(trace::operation op, const void* p, std::uint64_t size = 0,
                              std::uint8_t alignment_code = 0) noexcept {
  const std::uint32_t stack = stack_here();  // the first one starts the recorder, which decides the clock
  note({.time = ticks(),
        .address = reinterpret_cast<std::uintptr_t>(p),
        .size = size,
        .stack = stack,
        .code = detail::trace_io::code_of(op),
        .alignment_code = alignment_code});
}

/// Effects: writes the modules that were loaded or unloaded since the last call.
void note_modules() noexcept;

/// Effects: writes all noted records of all threads, and the end of the trace. More may follow.
void finish() noexcept;

/// An exec, which only returns if it fails. Effects: before it: `finish()`, unless the file is still empty. So a
/// wrapper that only starts the real program leaves the trace's name to it.
class exec_attempt {
public:
  exec_attempt() noexcept;
  ~exec_attempt();
  exec_attempt(const exec_attempt&) = delete;
  exec_attempt& operator=(const exec_attempt&) = delete;
};

}  // namespace ashlar::recorder
