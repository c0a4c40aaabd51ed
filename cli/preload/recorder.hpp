// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the interposed functions call: notes a record for the calling thread. The rest of the recorder is behind it.
#pragma once

#include <cstdint>

#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/trace/record.hpp>

#include "cli/preload/clock.hpp"
#include "cli/preload/stacks.hpp"
#include "cli/preload/thread_log.hpp"

namespace ashlar::recorder {

/// The calling thread. In static TLS, and small: a preloaded library must leave room there.
struct thread_state {
  thread_log* log = nullptr;  ///< Null: not recorded yet, or not any more, or inside the recorder.
  std::uint32_t thread = 0;
  std::uint8_t rounds = 0;  ///< Of thread-exit destructors seen.
  bool busy = false;        ///< Inside the recorder: what is allocated now is its own business.
  bool named = false;       ///< `thread` is set.
};

extern constinit thread_local thread_state self;

/// Marks the thread as inside the recorder for a scope; errno and the thread's log are put back afterwards.
class inside_recorder {
public:
  inside_recorder() noexcept;
  ~inside_recorder();
  inside_recorder(const inside_recorder&) = delete;
  inside_recorder& operator=(const inside_recorder&) = delete;

private:
  thread_log* log_;
  int errno_;
  int cancel_state_ = 0;
  bool was_busy_;
};

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

/// Effects: notes what happened to the block at `p`, now.
ASHLAR_INLINE void note_block(trace::operation op, const void* p, std::uint64_t size,
                              std::uint8_t alignment_code) noexcept {
  note({.time = ticks(),
        .address = reinterpret_cast<std::uintptr_t>(p),
        .size = size,
        .stack = stack_here(),
        .code = detail::trace_io::code_of(op),
        .alignment_code = alignment_code});
}

/// Effects: notes that the program got `p` just now, null if it got nothing.
ASHLAR_INLINE void note_allocation(trace::operation op, const void* p, std::uint64_t size,
                                   std::uint8_t alignment_code = 0) noexcept {
  note_block(op, p, size, alignment_code);
}

/// Effects: notes that the program gives `p` back. Must come before it really does.
ASHLAR_INLINE void note_release(trace::operation op, const void* p, std::uint64_t size = 0,
                                std::uint8_t alignment_code = 0) noexcept {
  note_block(op, p, size, alignment_code);
}

/// Effects: writes all that threads have noted, and the end of the trace. More may follow.
void finish() noexcept;

/// Effects: before the program is replaced by another: `finish()`, unless nothing is in the file yet. So a wrapper that
/// only starts the real program leaves the trace's name to it.
void before_exec() noexcept;

}  // namespace ashlar::recorder
