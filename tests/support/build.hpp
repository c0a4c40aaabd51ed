// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The abilities of this test build as constants, so that tests use `if constexpr` and no macros.
#pragma once

#include <type_traits>

#include <ashlar/base/config.hpp>

namespace ashlar_test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool has_asan = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool has_asan = true;
#else
inline constexpr bool has_asan = false;
#endif
#else
inline constexpr bool has_asan = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool has_tsan = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool has_tsan = true;
#else
inline constexpr bool has_tsan = false;
#endif
#else
inline constexpr bool has_tsan = false;
#endif

/// Whether a tool watches each access.
inline constexpr bool is_watched = has_asan || has_tsan;

/// Whether this build is many times slower than an optimised one.
#if defined(__OPTIMIZE__)
inline constexpr bool is_slow = is_watched;
#else
inline constexpr bool is_slow = true;
#endif

/// Whether this build tests samples of what other configurations of `./dev test` test in full: fewer types of a typed
/// suite, fewer cases of a long test. The configurations quick, noexcept and outside test all.
#if defined(ASHLAR_TEST_FEWER_CASES)
inline constexpr bool has_fewer_cases = true;
#else
inline constexpr bool has_fewer_cases = false;
#endif

/// Returns: `all`, or `fewer` in a build that tests samples.
template <class T>
[[nodiscard]] constexpr T cases_of_build(T fewer, T all) {
  return has_fewer_cases ? fewer : all;
}

/// The types of a typed suite: `All`; in a build that tests samples `Fewer`, in which each property of all types
/// occurs.
template <class Fewer, class All>
using types_of_build = std::conditional_t<has_fewer_cases, Fewer, All>;

/// Whether an impossible request ends the process, as under sanitizers, instead of returning null. On 32 bits half of
/// the address space may even be granted.
inline constexpr bool huge_requests_abort = has_asan || has_tsan || sizeof(void*) == 4;

/// Whether `ASHLAR_EXPECTS` is checked.
inline constexpr bool is_checked = ashlar::checking_level >= ashlar::checking::checked;
inline constexpr bool is_hardened = ashlar::checking_level >= ashlar::checking::hardened;

inline constexpr bool has_exceptions = ASHLAR_HAS_EXCEPTIONS != 0;

}  // namespace ashlar_test

// A function without sanitizer checks, as in a library that was compiled without them.
#if defined(__GNUC__)
#define ASHLAR_TEST_UNSEEN __attribute__((no_sanitize_address, noinline))
#else
#define ASHLAR_TEST_UNSEEN
#endif
