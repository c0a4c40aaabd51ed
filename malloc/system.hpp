// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The system calls of libashlar besides memory, made directly: other libraries stand in front of the C library's
// functions.
#pragma once

#include <cerrno>
#include <cstddef>
#include <span>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <ashlar/base/platform.hpp>

namespace ashlar::drop_in {

[[nodiscard]] inline int process_id() noexcept { return static_cast<int>(detail::call_kernel(SYS_getpid)); }
[[nodiscard]] inline int thread_id() noexcept { return static_cast<int>(detail::call_kernel(SYS_gettid)); }

/// Returns: whether eight bytes at the address can be read. The system copies them as a signal set before it looks at
/// the first argument, which it refuses.
[[nodiscard]] inline bool is_readable(const void* p) noexcept {
  constexpr int no_such_act = ~0;
  const long result = detail::call_kernel(SYS_rt_sigprocmask, no_such_act, p, nullptr, 8);
  return result < 0 && result != -EFAULT;
}

/// Files by their descriptors, without points of cancellation. Each call returns an error as its negated number.
struct files {
  [[nodiscard]] static int open(const char* path, int flags, unsigned mode = 0) noexcept {
    return static_cast<int>(detail::call_kernel(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
  }
  [[nodiscard]] static long read(int descriptor, std::span<char> into) noexcept {
    return detail::call_kernel(SYS_read, descriptor, into.data(), into.size());
  }
  static void close(int descriptor) noexcept { detail::call_kernel(SYS_close, descriptor); }
  /// Returns: a copy, of at least the number `least`.
  [[nodiscard]] static int copy(int descriptor, int least) noexcept {
    return static_cast<int>(detail::call_kernel(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, least));
  }
  [[nodiscard]] static int facts(int descriptor, struct stat& of) noexcept {
#if defined(SYS_fstat)
    return static_cast<int>(detail::call_kernel(SYS_fstat, descriptor, &of));
#else
    return ::fstat(descriptor, &of);
#endif
  }
};

/// A scope in which no request ends the thread (`pthread_cancel`): the calls in it are cancellation points, and a
/// thread that ended there would keep a lock. A request that arrives meanwhile takes effect at the next such call
/// behind it.
class cancellation_deferral {
public:
  cancellation_deferral() noexcept { static_cast<void>(::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former_)); }
  cancellation_deferral(const cancellation_deferral&) = delete;
  cancellation_deferral& operator=(const cancellation_deferral&) = delete;
  ~cancellation_deferral() { static_cast<void>(::pthread_setcancelstate(former_, nullptr)); }

private:
  int former_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace ashlar::drop_in
