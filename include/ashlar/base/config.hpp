// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Version, minimum compilers, checking level and ABI name: the only switches that a user of the library sets. Then the
// names of the extensions of compilers, and parts that types have at some levels.
#pragma once

#include <cstddef>

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
// program supplies the memory, there is one thread, and base/platform.hpp defines the handling of errors.
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

/// Whether the system hands out pages, so that `page_store` is the default upstream.
inline constexpr bool has_pages = ASHLAR_POSIX != 0 || ASHLAR_WINDOWS != 0;

namespace detail {

/// A text as a template argument, which compilers print with the name of a function.
template <std::size_t Length>
struct repair {
  consteval repair(const char (&of)[Length]) {
    for (std::size_t at = 0; at != Length; ++at) text[at] = of[at];
  }
  char text[Length];
};

}  // namespace detail

}  // namespace ashlar::ASHLAR_ABI

// A function that is deleted, with an error that names the repair. A compiler without the `= delete("…")` of
// C++26 prints the template argument.
#if defined(__clang__) && __clang_major__ >= 19
#define ASHLAR_DELETED(advice, ...)                                                                         \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wc++26-extensions\"") __VA_ARGS__ = \
      delete (advice)_Pragma("clang diagnostic pop")
#else
#define ASHLAR_DELETED(advice, ...)                   \
  template <::ashlar::detail::repair Repair = advice> \
  __VA_ARGS__ = delete
#endif

#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define ASHLAR_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#if defined(__clang__) && defined(ASHLAR_FOR_SIZE)
#define ASHLAR_COLD __attribute__((cold, noinline, minsize))
#else
#define ASHLAR_COLD __attribute__((cold, noinline))  // g++ compiles it for size by itself
#endif
#if defined(__OPTIMIZE__)
#define ASHLAR_INLINE inline __attribute__((always_inline))
#else
#define ASHLAR_INLINE inline  // else each call is compiled again: a third of the compile time
#endif
#define ASHLAR_NOINLINE __attribute__((noinline))
#else
#define ASHLAR_LIKELY(condition) (condition)
#define ASHLAR_UNLIKELY(condition) (condition)
#define ASHLAR_COLD __declspec(noinline)
#define ASHLAR_INLINE __forceinline
#define ASHLAR_NOINLINE __declspec(noinline)
#endif

// Marks a short function behind the fast paths with many callers: inlined for speed. A library that is compiled for
// size has one copy, which takes a few instructions more.
#if defined(ASHLAR_FOR_SIZE)
#define ASHLAR_INLINE_FOR_SPEED ASHLAR_NOINLINE
#else
#define ASHLAR_INLINE_FOR_SPEED ASHLAR_INLINE
#endif

// @{ Marks a function with one caller in a library that is compiled for size: inlined there, it needs no frame of its
// own. The second one is cold code for speed.
#if defined(ASHLAR_FOR_SIZE) && (defined(__GNUC__) || defined(__clang__))
#define ASHLAR_INLINE_FOR_SIZE __attribute__((always_inline))
#define ASHLAR_COLD_FOR_SPEED ASHLAR_INLINE_FOR_SIZE
#else
#define ASHLAR_INLINE_FOR_SIZE
#define ASHLAR_COLD_FOR_SPEED ASHLAR_COLD
#endif
// @}

#if defined(_MSC_VER)
#define ASHLAR_NO_UNIQUE_ADDRESS [[msvc::no_unique_address]]
#else
#define ASHLAR_NO_UNIQUE_ADDRESS [[no_unique_address]]
#endif

// Makes the compiler keep an object's address in a register instead of an absolute address in each instruction. A store
// and a reload of a list head by absolute address take about 1 ns more on current cores.
#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_IN_REGISTER(pointer) __asm__("" : "+r"(pointer))
#else
#define ASHLAR_IN_REGISTER(pointer) static_cast<void>(pointer)
#endif

// Prefetches a cache line for a write; another core may hold it. An invalid address has no effect.
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define ASHLAR_FETCH_TO_WRITE(pointer) __asm__ volatile("prefetchw (%0)" : : "r"(static_cast<const void*>(pointer)))
#elif defined(__GNUC__) || defined(__clang__)
#define ASHLAR_FETCH_TO_WRITE(pointer) __builtin_prefetch(static_cast<const void*>(pointer), 1)
#else
#define ASHLAR_FETCH_TO_WRITE(pointer) static_cast<void>(pointer)
#endif

// A condition that the compiler may assume without a test.
#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_ASSUME(condition) ((condition) ? static_cast<void>(0) : __builtin_unreachable())
#else
#define ASHLAR_ASSUME(condition) __assume(condition)
#endif

// Whether the value is a compile-time constant after inlining, to select the shorter of two equivalent paths.
#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_IS_CONSTANT(value) (__builtin_constant_p(value) != 0)
#else
#define ASHLAR_IS_CONSTANT(value) false
#endif

// The name of the current function with its template arguments.
#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_SIGNATURE __PRETTY_FUNCTION__
#else
#define ASHLAR_SIGNATURE __FUNCSIG__
#endif

// The return address of the current function, which must not be inlined. Null if the compiler has no such builtin.
#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_RETURN_ADDRESS() static_cast<const void*>(__builtin_return_address(0))
#else
#define ASHLAR_RETURN_ADDRESS() static_cast<const void*>(nullptr)
#endif

// Whether this code may become part of a shared library. A library that may be loaded late finds its thread-local
// variables by a call, so variables used together share one object there; in a program separate variables are faster.
// On Windows both find them in the same way.
#if defined(__PIC__) && !defined(__PIE__) && !defined(_WIN32)
#define ASHLAR_IS_LIBRARY_CODE true
#else
#define ASHLAR_IS_LIBRARY_CODE false
#endif

// Whether this code may leave the process before its end, with a library that is closed. One that is linked with
// `-z nodelete` defines ASHLAR_STAYS_LOADED.
#if defined(ASHLAR_STAYS_LOADED)
#define ASHLAR_MAY_BE_CLOSED false
#else
#define ASHLAR_MAY_BE_CLOSED ASHLAR_IS_LIBRARY_CODE
#endif

// Makes a variable of a class before all others of its program or library, so that it is destroyed after them.
#if (defined(__GNUC__) || defined(__clang__)) && !defined(_WIN32)
#define ASHLAR_MADE_FIRST __attribute__((init_priority(101)))
#else
#define ASHLAR_MADE_FIRST
#endif

// Places a thread-local variable where one instruction finds it, also in a library. There is little room for such
// variables in libraries that are loaded late: for a few words of the process alone.
#if (defined(__GNUC__) || defined(__clang__)) && defined(__ELF__)
#define ASHLAR_IN_STATIC_TLS __attribute__((tls_model("initial-exec")))
#else
#define ASHLAR_IN_STATIC_TLS
#endif

// Marks functions and variables that each library needs as its own copy, although inline ones are shared between
// libraries: the copy ends with its library. Or variables that are shared even by libraries with hidden symbols. On
// Windows each library has its own copy of all.
#if (defined(__GNUC__) || defined(__clang__)) && !defined(_WIN32)
#define ASHLAR_OF_THIS_LIBRARY __attribute__((visibility("hidden")))
#define ASHLAR_OF_ALL_LIBRARIES __attribute__((visibility("default")))
#else
#define ASHLAR_OF_THIS_LIBRARY
#define ASHLAR_OF_ALL_LIBRARIES
#endif

// Declares an instantiation for a program that links `ashlar::heap`, or defines it in the source of `ashlar::heap`.
#if defined(ASHLAR_COMPILED_HEAP) && ASHLAR_COMPILED_HEAP == 2
#define ASHLAR_COMPILED(...) template __VA_ARGS__
#elif defined(ASHLAR_COMPILED_HEAP) && ASHLAR_COMPILED_HEAP
#define ASHLAR_COMPILED(...) extern template __VA_ARGS__
#else
#define ASHLAR_COMPILED(...) static_assert(true)
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// A part that a type has only at some levels, used as a `std::optional`. Otherwise it takes no bytes and no code.
template <bool IsThere, class T>
class part_if {
public:
  static constexpr bool is_there = true;

  constexpr part_if() noexcept(noexcept(T())) : part_() {}
  template <class First, class... More>
    requires requires(First&& first, More&&... more) { T(static_cast<First&&>(first), static_cast<More&&>(more)...); }
  ASHLAR_INLINE explicit(sizeof...(More) == 0) constexpr part_if(First&& first, More&&... more) noexcept(
      noexcept(T(static_cast<First&&>(first), static_cast<More&&>(more)...)))
      : part_(static_cast<First&&>(first), static_cast<More&&>(more)...) {}

  ASHLAR_INLINE explicit constexpr operator bool() const noexcept { return true; }
  [[nodiscard]] ASHLAR_INLINE constexpr T* operator->() noexcept { return &part_; }
  [[nodiscard]] ASHLAR_INLINE constexpr const T* operator->() const noexcept { return &part_; }
  [[nodiscard]] ASHLAR_INLINE constexpr T& operator*() noexcept { return part_; }
  [[nodiscard]] ASHLAR_INLINE constexpr const T& operator*() const noexcept { return part_; }

private:
  T part_;
};

template <class T>
class part_if<false, T> {
public:
  static constexpr bool is_there = false;

  // Not defaulted: g++ 12 leaves a static member with a defaulted part zero, which it has to initialise.
  constexpr part_if() noexcept {}
  template <class First, class... More>
    requires requires(First&& first, More&&... more) { T(static_cast<First&&>(first), static_cast<More&&>(more)...); }
  ASHLAR_INLINE explicit(sizeof...(More) == 0) constexpr part_if(First&&, More&&...) noexcept {}

  ASHLAR_INLINE explicit constexpr operator bool() const noexcept { return false; }
  /// @{ Expects: they are not called, as behind a test of the part.
  [[nodiscard]] ASHLAR_INLINE T* operator->() const noexcept {
    ASHLAR_ASSUME(false);
    return nullptr;
  }
  [[nodiscard]] ASHLAR_INLINE T& operator*() const noexcept { return *operator->(); }
  /// @}
};

template <class T>
using if_checked = part_if<checking_level >= checking::checked, T>;
template <class T>
using if_hardened = part_if<checking_level >= checking::hardened, T>;

}  // namespace ashlar::ASHLAR_ABI::detail
