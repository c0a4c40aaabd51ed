// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The name of the fault in the environment, read at the first call that finds one.
#include "tests/malloc/faulty/faults.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace {

// In the order of the enumeration.
constexpr const char* names[] = {
    "none",
    "errno_lost_by_free",
    "no_enomem",
    "aligned_to_8",
    "ignores_alignment",
    "calloc_is_dirty",
    "calloc_wraps",
    "reallocarray_wraps",
    "serves_beyond_ptrdiff_max",
    "zero_size_is_null",
    "zero_size_is_shared",
    "realloc_0_gives_block",
    "realloc_loses_tail",
    "failed_realloc_frees",
    "shrink_fails",
    "usable_size_too_small",
    "usable_size_too_large",
    "posix_memalign_accepts",
    "posix_memalign_writes",
    "aborts_without_memory",
    "new_gives_null",
    "new_ignores_handler",
    "new_ignores_alignment",
    "nothrow_new_terminates",
    "cancellation_point",
    "uses_much_stack",
    "races",
    "lost_with_its_thread",
    "closed_by_a_key",
    "lock_lost_by_fork",
    "lock_held_by_handlers",
    "null_before_constructor",
    "closed_at_start_of_exit",
    "looks_up_under_lock",
    "trims_blocks",
    "mallinfo_is_empty",
};
static_assert(std::size(names) == static_cast<std::size_t>(faulty::fault::mallinfo_is_empty) + 1);

faulty::fault of_name(const char* name) {
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (std::strcmp(name, names[i]) == 0) return static_cast<faulty::fault>(i);
  ::_exit(99);
}

/// The environment as the kernel gave it: libc's own is not set yet when the first callers come.
faulty::fault named_by_environment() {
  static constinit char text[32 << 10];
  const int file = ::open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
  std::size_t length = 0;
  for (ssize_t n = 1; n > 0; length += static_cast<std::size_t>(n))
    n = std::max(ssize_t{0}, ::read(file, text + length, sizeof text - 1 - length));
  ::close(file);
  constexpr char variable[] = "ASHLAR_TEST_FAULT=";
  for (const char* each = text; each < text + length; each += std::strlen(each) + 1)
    if (std::strncmp(each, variable, sizeof variable - 1) == 0) return of_name(each + sizeof variable - 1);
  return faulty::fault::none;
}

constinit bool is_known = false;
constinit faulty::fault known = faulty::fault::none;

}  // namespace

faulty::fault faulty::present() noexcept {
  if (!is_known) {
    is_known = true;
    known = named_by_environment();
  }
  return known;
}
