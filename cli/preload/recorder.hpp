// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interface of the interposed functions to the recorder: notes a record for the calling thread, with its call
// stack, which is written once; and the files mapped into the process, so that stacks can be named later, on any
// machine.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/record.hpp>

#include "cli/preload/clock.hpp"
#include "cli/preload/frame.hpp"
#include "cli/preload/live_file.hpp"
#include "cli/preload/real.hpp"
#include "cli/preload/thread_log.hpp"

namespace ashlar::recorder {

/// Frames of each record; 0: no stacks. Not 0 before the recorder has started, so that the first event has its stack.
extern std::uint32_t stack_depth;

/// Effects: prepares the walk by rules, if stacks are wanted and `is_on`; also in the middle of the loader's work.
void start_stacks(bool is_on) noexcept;

/// Effects: loads the unwinder for stacks that cannot be walked. Call it in a constructor, where a library may be
/// loaded. Until then such stacks end at the frame that has no rule.
void prepare_unwinder() noexcept;

/// Returns: the id of the calling stack; 0 if it is unavailable.
[[nodiscard]] std::uint32_t take_stack() noexcept;

[[nodiscard]] ASHLAR_INLINE std::uint32_t stack_here() noexcept {
  return ASHLAR_LIKELY(stack_depth == 0) ? 0 : take_stack();
}

/// Returns: the greatest id so far.
[[nodiscard]] std::uint32_t last_stack() noexcept;

/// Effects: what ran in [begin, end) is gone: a stack that passes through it later is another stack, though its
/// addresses are the same. Expects: no other thread calls it at the same time.
void add_gone_code(std::uint64_t begin, std::uint64_t end) noexcept;

/// Effects: writes the stacks that are not in the file yet. Returns: false if recording is over.
bool write_stacks() noexcept;

/// Effects: stacks that are not in the file yet lie in `shared` from now on.
void share_stacks(pending_items<pending_table_bytes>& shared) noexcept;

/// Effects: the modules of the program's start lie in the live file, as long as the trace has none.
void share_modules() noexcept;

/// Effects: in a forked child: forgets all stacks. If `locks_are_orphaned`, a thread that the child lacks may hold
/// locks of libunwind and of the loader forever: stacks are then taken without them, or not at all.
void reset_stacks(bool locks_are_orphaned) noexcept;

/// Effects: lists the modules of the program's start, for children that fork before the first write.
void prepare_modules() noexcept;

/// Effects: if stacks are recorded, writes the modules that were loaded or unloaded since the last call. Later stacks
/// through unloaded code are new ones.
void write_modules() noexcept;

/// As `write_modules`, before and after a module may go: waits at most 0.1 s for another thread that writes them.
void write_modules_patiently() noexcept;

/// Effects: before a fork: keeps other threads from listing modules, for at most a tenth of a second.
void hold_modules() noexcept;
/// Effects: after a fork, in the parent: lets them list again.
void release_modules() noexcept;

/// Effects: in a forked child: forgets the written modules. If `locks_are_orphaned`, a thread that the child lacks may
/// hold the loader's lock forever: the child then writes the parent's list and never calls the loader.
void reset_modules(bool locks_are_orphaned) noexcept;

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

  /// Returns: the function, or else what `search(name)` finds, which must stay loaded; null if there is none now.
  [[nodiscard]] Function get(void* (*search)(const char*) noexcept = nullptr) noexcept {
    void* found = found_.load(std::memory_order_acquire);
    if (found == nullptr) {
      const inside_recorder inside;
      found = next_definition(name_);
      if (found == nullptr && search != nullptr) found = search(name_);
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

/// Effects: writes all noted records of all threads, and the end of the trace. More may follow. Returns: whether it
/// did, and no log was held by a thread that does not run.
bool finish() noexcept;

/// Effects: `finish()`, and what comes later need not survive.
void finish_for_good() noexcept;

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
