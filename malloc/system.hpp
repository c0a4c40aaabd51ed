// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The system calls of libashlar besides memory, made directly: other libraries stand in front of the C library's
// functions. And where its text goes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <ashlar/base/platform.hpp>

namespace ashlar::drop_in {

[[nodiscard]] inline int process_id() noexcept { return static_cast<int>(detail::call_kernel(SYS_getpid)); }
[[nodiscard]] inline int thread_id() noexcept { return static_cast<int>(detail::call_kernel(SYS_gettid)); }

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

// ---- where text goes: a second descriptor of the error stream, since many programs have closed the first at their end

/// Effects: duplicates the error stream, once; the copy is closed by `exec`.
void keep_error_stream() noexcept;

/// Returns: the copy, or 2 if that is the same file or nothing was kept; -1 if the program has other files by both
/// numbers.
[[nodiscard]] int kept_error_stream() noexcept;

/// Effects: writes the text to a descriptor as `detail::write_quietly` does, unless it is negative; allocates nothing.
/// At the first failure `descriptor` becomes the negated number of the error, so that no later text waits again.
void write_to(int& descriptor, std::string_view text) noexcept;

/// A sink of text: one type for all writers, so that their code exists once.
struct text_output {
  void (*write)(const char* text, std::size_t bytes, void* argument);
  void* argument;

  void operator()(std::string_view text) const { write(text.data(), text.size(), argument); }
};

/// Returns: a sink as `write_to`. Lifetime: the descriptor outlives it.
[[nodiscard]] text_output output_to(int& descriptor) noexcept;

}  // namespace ashlar::drop_in
