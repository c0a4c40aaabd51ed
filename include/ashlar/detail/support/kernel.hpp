// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls past the functions of the C library: another library may stand in front of those, and allocate in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

#if defined(__linux__) && ASHLAR_POSIX
#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>
#define ASHLAR_HAS_KERNEL 1
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define ASHLAR_ENTERS_KERNEL 1
#elif defined(__riscv) && __riscv_xlen == 64
#define ASHLAR_ENTERS_KERNEL 1
#endif
#endif

// Sanitizers learn from the C library's functions which memory is new, so these map and unmap under them; a test that
// stands in for the system defines ASHLAR_MAPS_BY_KERNEL as 0.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_HWADDRESS__)
#define ASHLAR_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(hwaddress_sanitizer) || __has_feature(dataflow_sanitizer)
#define ASHLAR_IS_SANITIZED 1
#endif
#endif
#if !defined(ASHLAR_MAPS_BY_KERNEL) && defined(ASHLAR_ENTERS_KERNEL) && !defined(ASHLAR_IS_SANITIZED)
#define ASHLAR_MAPS_BY_KERNEL 1
#elif !defined(ASHLAR_MAPS_BY_KERNEL)
#define ASHLAR_MAPS_BY_KERNEL 0
#endif
#undef ASHLAR_IS_SANITIZED

#if defined(ASHLAR_TELLS_OF_MAPS)  // within libashlar
/// Called before memory is mapped, where it is defined: in the router.
extern "C" __attribute__((weak, visibility("hidden"))) void ashlar_before_map(std::size_t bytes) noexcept;
#endif

namespace ashlar::ASHLAR_ABI::detail {

ASHLAR_INLINE void before_map([[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_TELLS_OF_MAPS)
  if (&ashlar_before_map != nullptr) ashlar_before_map(bytes);
#endif
}

#if defined(ASHLAR_HAS_KERNEL)

#if defined(__x86_64__) && defined(ASHLAR_ENTERS_KERNEL)
ASHLAR_INLINE long enter_kernel(long number, long a, long b, long c) noexcept {
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return number;
}
ASHLAR_INLINE long enter_kernel(long number, long a, long b, long c, long d, long e, long f) noexcept {
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return number;
}
#elif defined(ASHLAR_ENTERS_KERNEL)
#if defined(__aarch64__)
#define ASHLAR_KERNEL_REGISTER(of_arm, of_riscv) __asm__(of_arm)
#define ASHLAR_KERNEL_GATE "svc 0"
#else
#define ASHLAR_KERNEL_REGISTER(of_arm, of_riscv) __asm__(of_riscv)
#define ASHLAR_KERNEL_GATE "ecall"
#endif
ASHLAR_INLINE long enter_kernel(long number, long a, long b, long c, long d = 0, long e = 0, long f = 0) noexcept {
  register long first ASHLAR_KERNEL_REGISTER("x0", "a0") = a;
  register long second ASHLAR_KERNEL_REGISTER("x1", "a1") = b;
  register long third ASHLAR_KERNEL_REGISTER("x2", "a2") = c;
  register long fourth ASHLAR_KERNEL_REGISTER("x3", "a3") = d;
  register long fifth ASHLAR_KERNEL_REGISTER("x4", "a4") = e;
  register long sixth ASHLAR_KERNEL_REGISTER("x5", "a5") = f;
  register long call ASHLAR_KERNEL_REGISTER("x8", "a7") = number;
  __asm__ volatile(ASHLAR_KERNEL_GATE
                   : "+r"(first)
                   : "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth), "r"(call)
                   : "memory");
  return first;
}
#undef ASHLAR_KERNEL_REGISTER
#undef ASHLAR_KERNEL_GATE
#else
inline long enter_kernel(long number, long a, long b, long c, long d = 0, long e = 0, long f = 0) noexcept {
  const int error = errno;
  long result = ::syscall(number, a, b, c, d, e, f);
  if (result == -1) result = -errno;
  errno = error;
  return result;
}
#endif

template <class Word>
[[nodiscard]] ASHLAR_INLINE long kernel_word(Word word) noexcept {
  if constexpr (std::is_pointer_v<Word>) return reinterpret_cast<long>(word);
  else if constexpr (std::is_same_v<Word, std::nullptr_t>) return 0;
  else return static_cast<long>(word);
}

/// Effects: a system call. Returns: its result; an error as its negated number, with `errno` as it was. It is no point
/// of cancellation. Expects: at most six words.
template <class... Words>
ASHLAR_INLINE long call_kernel(long number, Words... words) noexcept {
  constexpr std::size_t most = sizeof...(Words) <= 3 ? 3 : 6;
  static_assert(sizeof...(Words) <= most);
  const long w[most + 1] = {detail::kernel_word(words)...};  // one more, as there may be none
  if constexpr (most == 3) return detail::enter_kernel(number, w[0], w[1], w[2]);
  else return detail::enter_kernel(number, w[0], w[1], w[2], w[3], w[4], w[5]);
}

#if defined(__has_builtin) && ASHLAR_MAPS_BY_KERNEL
#if __has_builtin(__builtin_thread_pointer)
#define ASHLAR_HAS_THREAD_POINTER 1
/// Returns: a number of the calling thread that no other has while it lives.
[[nodiscard]] ASHLAR_INLINE std::uintptr_t thread_pointer() noexcept {
  return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
}
#endif
#endif

/// Returns: whether the result of a call is an error.
[[nodiscard]] ASHLAR_INLINE constexpr bool is_kernel_error(long result) noexcept {
  return static_cast<unsigned long>(result) > static_cast<unsigned long>(-4096);
}

#endif

}  // namespace ashlar::ASHLAR_ABI::detail

#undef ASHLAR_ENTERS_KERNEL
