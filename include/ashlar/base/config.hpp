// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Version, minimum compilers, checking level and ABI name: the only switches that a user of the library sets.
#pragma once

// A compiler below the minimum reports this one error. After `#error` it would continue and report a thousand lines of
// consequences; the include of a missing file ends the compilation.
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
#define ASHLAR_VERSION_MINOR 2
#define ASHLAR_VERSION_PATCH 0

// The checking level: 0 fast, 1 checked, 2 hardened. Set it for a whole program, for example by -DASHLAR_CHECKING=1.
// Translation units of different levels that share an ashlar type do not link.
#if !defined(ASHLAR_CHECKING)
#if defined(NDEBUG)
#define ASHLAR_CHECKING 0
#else
#define ASHLAR_CHECKING 1
#endif
#endif

// Whether the library runs on an operating system or on the bare machine (-ffreestanding). On the bare machine the
// program supplies the memory, there is one thread, and detail/support/platform.hpp defines the handling of errors.
#if __STDC_HOSTED__
#define ASHLAR_HOSTED 1
#define ASHLAR_THREAD_LOCAL thread_local
#else
#define ASHLAR_HOSTED 0
#define ASHLAR_THREAD_LOCAL
#endif

// The operating system: POSIX, or Windows, or another one, which has a heap and threads, but neither pages nor forks.
#if ASHLAR_HOSTED && (defined(__unix__) || defined(__APPLE__))
#define ASHLAR_POSIX 1
#define ASHLAR_WINDOWS 0
#elif ASHLAR_HOSTED && defined(_WIN32)
#define ASHLAR_POSIX 0
#define ASHLAR_WINDOWS 1
#else
#define ASHLAR_POSIX 0
#define ASHLAR_WINDOWS 0
#endif

// Whether thread-local variables are a map in a library: g++ for Windows emulates them, and frees them before any
// callback at the end of the thread. Then threads have no caches.
#if ASHLAR_WINDOWS && defined(__GNUC__) && !defined(__clang__)
#define ASHLAR_EMULATED_THREAD_LOCALS 1
#else
#define ASHLAR_EMULATED_THREAD_LOCALS 0
#endif

// The tool that is informed of live memory (detail/support/poison.hpp): AddressSanitizer if it is on, else Valgrind
// with -DASHLAR_VALGRIND=1. The latter needs Valgrind's headers and slows down the program even without Valgrind.
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

// The inline namespace encodes every switch that changes the code, so that the linker cannot mix different builds. All
// names of the library are in `namespace ashlar::ASHLAR_ABI`: the macro has the word `inline`, which indexers of tags
// do not expect inside a nested name.
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
#define ASHLAR_ABI_JOIN(major, minor, level, marks, throws, host) v##major##_##minor##_##level##marks##throws##host
#define ASHLAR_ABI_EXPAND(major, minor, level, marks, throws, host) \
  ASHLAR_ABI_JOIN(major, minor, level, marks, throws, host)
#define ASHLAR_ABI_NAME                                                                                                \
  ASHLAR_ABI_EXPAND(ASHLAR_VERSION_MAJOR, ASHLAR_VERSION_MINOR, ASHLAR_ABI_LEVEL, ASHLAR_ABI_MARKS, ASHLAR_ABI_THROWS, \
                    ASHLAR_ABI_HOST)
#define ASHLAR_ABI inline ASHLAR_ABI_NAME

// Without exceptions nothing is thrown or caught: exhausted memory leads to the out-of-memory handler.
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

// `std::allocation_result` if the standard library has it, else a substitute: C++20 does not include <memory>.
#if defined(__cpp_lib_allocate_at_least) && __cpp_lib_allocate_at_least >= 202302L
#include <memory>
#define ASHLAR_STD_ALLOCATION_RESULT(...) using std::allocation_result
#else
#define ASHLAR_STD_ALLOCATION_RESULT(...) __VA_ARGS__
#endif

// Without RTTI no type is known at run time, and the cast yields null.
#if defined(__cpp_rtti)
#define ASHLAR_DYNAMIC_CAST(type, pointer) dynamic_cast<type>(pointer)
#else
#define ASHLAR_DYNAMIC_CAST(type, pointer) (static_cast<void>(pointer), static_cast<type>(nullptr))
#endif

namespace ashlar::ASHLAR_ABI {

/// The amount of misuse that is detected. Each level includes the previous ones.
enum class checking {
  fast,     ///< Arguments and overflow only; these checks cannot be removed.
  checked,  ///< Also preconditions, and allocated bits and owners at every free.
  hardened  ///< Also encoded links and poison.
};

/// Whether the library runs on an operating system.
inline constexpr bool is_hosted = ASHLAR_HOSTED != 0;

/// The checking level of this translation unit.
inline constexpr checking checking_level = static_cast<checking>(ASHLAR_CHECKING);

}  // namespace ashlar::ASHLAR_ABI

namespace ashlar::ASHLAR_ABI::detail {

/// Whether the system hands out pages, so that `page_resource` is the default upstream.
inline constexpr bool has_pages = ASHLAR_POSIX != 0 || ASHLAR_WINDOWS != 0;

}  // namespace ashlar::ASHLAR_ABI::detail
