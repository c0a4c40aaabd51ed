// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The faults that the faulty malloc can have, one at a time, by the variable ASHLAR_TEST_FAULT.
#pragma once

namespace faulty {

/// Each breaks the rule that its line of CMakeLists.txt names.
enum class fault {
  none,
  errno_lost_by_free,
  no_enomem,
  aligned_to_8,
  ignores_alignment,
  calloc_is_dirty,
  calloc_wraps,
  reallocarray_wraps,
  serves_beyond_ptrdiff_max,
  zero_size_is_null,
  zero_size_is_shared,
  realloc_0_gives_block,
  realloc_loses_tail,
  failed_realloc_frees,
  shrink_fails,
  usable_size_too_small,
  usable_size_too_large,
  posix_memalign_accepts,
  posix_memalign_writes,
  aborts_without_memory,
  new_gives_null,
  new_ignores_handler,
  new_ignores_alignment,
  nothrow_new_terminates,
  cancellation_point,
  uses_much_stack,
  races,
  lost_with_its_thread,
  closed_by_a_key,
  lock_lost_by_fork,
  lock_held_by_handlers,
  null_before_constructor,
  closed_at_start_of_exit,
  looks_up_under_lock,
  trims_blocks,
  mallinfo_is_empty,
};

/// Returns: the fault of this process.
fault present() noexcept;

inline bool has(fault wanted) noexcept { return present() == wanted; }

}  // namespace faulty
