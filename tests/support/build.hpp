// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What this build of the tests can do, as constants, so that tests ask by `if constexpr` and not by macro.
#pragma once

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

/// Whether this build takes many times as long as an optimised one.
#if defined(__OPTIMIZE__)
inline constexpr bool is_slow = has_asan || has_tsan;
#else
inline constexpr bool is_slow = true;
#endif

/// Whether a request that no machine can serve ends the process, as sanitizers do instead of answering null.
/// On 32 bits half of the address space may even be granted.
inline constexpr bool huge_requests_abort = has_asan || has_tsan || sizeof(void*) == 4;

/// Whether `ASHLAR_EXPECTS` is checked.
inline constexpr bool is_checked = ashlar::checking_level >= ashlar::checking::checked;

inline constexpr bool has_exceptions = ASHLAR_HAS_EXCEPTIONS != 0;

}  // namespace ashlar_test

// A function whose accesses no sanitizer looks at, as if it came from a library that was not compiled for one.
#if defined(__GNUC__)
#define ASHLAR_TEST_UNSEEN __attribute__((no_sanitize_address, noinline))
#else
#define ASHLAR_TEST_UNSEEN
#endif
