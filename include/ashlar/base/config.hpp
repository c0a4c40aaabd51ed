// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Version, floor of compilers, checking level and ABI name: the only switches a user of the library sets.
#pragma once

// A compiler below the floor gets this one error. `#error` would let it go on, through a thousand lines of what follows
// from that; an include of a file that does not exist ends the compilation.
#if __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#define ASHLAR_BELOW_FLOOR "ashlar needs C++20 or later: compile with -std=c++20"
#elif defined(__clang__) && !defined(__apple_build_version__)
#if __clang_major__ < 16
#define ASHLAR_BELOW_FLOOR "ashlar needs clang 16 or later, or g++ 12 or later"
#endif
#elif defined(__GNUC__) && !defined(__clang__)
#if __GNUC__ < 12
#define ASHLAR_BELOW_FLOOR "ashlar needs g++ 12 or later, or clang 16 or later"
#endif
#endif
#if defined(ASHLAR_BELOW_FLOOR)
#include ASHLAR_BELOW_FLOOR
#endif

#include <version>

#define ASHLAR_VERSION_MAJOR 0
#define ASHLAR_VERSION_MINOR 1
#define ASHLAR_VERSION_PATCH 0

// How much misuse is looked for: 0 fast, 1 checked, 2 hardened. Set it for a whole program, for example by
// -DASHLAR_CHECKING=1. Translation units of different levels do not link where they share an ashlar type.
#if !defined(ASHLAR_CHECKING)
#if defined(NDEBUG)
#define ASHLAR_CHECKING 0
#else
#define ASHLAR_CHECKING 1
#endif
#endif

// Whether there is an operating system below, or the bare machine (-ffreestanding): then memory is what the program
// brings, there is one thread, and base/platform.hpp says what becomes of errors.
#if __STDC_HOSTED__
#define ASHLAR_HOSTED 1
#define ASHLAR_THREAD_LOCAL thread_local
#else
#define ASHLAR_HOSTED 0
#define ASHLAR_THREAD_LOCAL
#endif

// Which tool is told what memory is live (detail/support/poison.hpp): AddressSanitizer where it is on, and Valgrind
// where the program is compiled with -DASHLAR_VALGRIND=1, which needs its headers and slows every build of it.
#if defined(__SANITIZE_ADDRESS__)
#define ASHLAR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASHLAR_ASAN 1
#endif
#endif
#if defined(ASHLAR_VALGRIND)
#if defined(ASHLAR_ASAN) || !ASHLAR_VALGRIND
#undef ASHLAR_VALGRIND
#endif
#endif

// The inline namespace names all that changes the code, so that what differs cannot be mixed up by the linker.
#if ASHLAR_CHECKING == 0
#define ASHLAR_ABI_LEVEL fast
#elif ASHLAR_CHECKING == 1
#define ASHLAR_ABI_LEVEL checked
#elif ASHLAR_CHECKING == 2
#define ASHLAR_ABI_LEVEL hardened
#else
#error "ASHLAR_CHECKING is 0 (fast), 1 (checked) or 2 (hardened)"
#endif
#if defined(ASHLAR_ASAN)
#define ASHLAR_ABI_MARKS _asan
#elif defined(ASHLAR_VALGRIND)
#define ASHLAR_ABI_MARKS _valgrind
#else
#define ASHLAR_ABI_MARKS
#endif
#if defined(__cpp_exceptions)
#define ASHLAR_ABI_THROWS
#else
#define ASHLAR_ABI_THROWS _noexcept
#endif
#if ASHLAR_HOSTED
#define ASHLAR_ABI_HOST
#else
#define ASHLAR_ABI_HOST _bare
#endif
#define ASHLAR_ABI_JOIN(level, marks, throws, host) v0_1_##level##marks##throws##host
#define ASHLAR_ABI_NAME(level, marks, throws, host) ASHLAR_ABI_JOIN(level, marks, throws, host)
#define ASHLAR_ABI ASHLAR_ABI_NAME(ASHLAR_ABI_LEVEL, ASHLAR_ABI_MARKS, ASHLAR_ABI_THROWS, ASHLAR_ABI_HOST)

// Where exceptions are off, nothing is thrown and so nothing is caught: memory that has run out ends in the
// out-of-memory handler.
#if defined(__cpp_exceptions)
#define ASHLAR_HAS_EXCEPTIONS 1
#define ASHLAR_THROW(exception) throw exception
#define ASHLAR_TRY try
#define ASHLAR_CATCH_ALL catch (...)
#else
#define ASHLAR_HAS_EXCEPTIONS 0
#define ASHLAR_THROW(exception) static_cast<void>(0)
#define ASHLAR_TRY if constexpr (true)
#define ASHLAR_CATCH_ALL else
#endif

// `std::allocation_result`, where the library has it; else what stands in for it. C++20 does not pay for <memory>.
#if defined(__cpp_lib_allocate_at_least) && __cpp_lib_allocate_at_least >= 202302L
#include <memory>
#define ASHLAR_STD_ALLOCATION_RESULT(...) using std::allocation_result
#else
#define ASHLAR_STD_ALLOCATION_RESULT(...) __VA_ARGS__
#endif

// Without RTTI no object's type is known at run time: the cast says null.
#if defined(__cpp_rtti)
#define ASHLAR_DYNAMIC_CAST(type, pointer) dynamic_cast<type>(pointer)
#else
#define ASHLAR_DYNAMIC_CAST(type, pointer) (static_cast<void>(pointer), static_cast<type>(nullptr))
#endif

namespace ashlar {
inline namespace ASHLAR_ABI {

/// How much misuse is looked for. Each level includes the ones before it.
enum class checking {
  fast,     ///< Arguments and overflow only; these checks cannot be removed.
  checked,  ///< Also preconditions, allocated bits and owners on every free.
  hardened  ///< Also encoded links and poison.
};

/// Whether there is an operating system below.
inline constexpr bool is_hosted = ASHLAR_HOSTED != 0;

/// The level that this translation unit was compiled at.
inline constexpr checking checking_level = static_cast<checking>(ASHLAR_CHECKING);

}  // namespace ASHLAR_ABI
}  // namespace ashlar
