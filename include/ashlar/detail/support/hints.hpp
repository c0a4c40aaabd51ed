// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiler hints: branch prediction, inlining, cold paths, prefetches, empty members.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>

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

// Places a thread-local variable where one instruction finds it, also in a library. There is little room for such
// variables in libraries that are loaded late: for a few words of the process alone.
#if (defined(__GNUC__) || defined(__clang__)) && defined(__ELF__)
#define ASHLAR_IN_STATIC_TLS __attribute__((tls_model("initial-exec")))
#else
#define ASHLAR_IN_STATIC_TLS
#endif

// Marks functions and variables that each library needs as its own copy, although inline ones are shared between
// libraries: the copy ends with its library. On Windows each library has its own copy of all.
#if (defined(__GNUC__) || defined(__clang__)) && !defined(_WIN32)
#define ASHLAR_OF_THIS_LIBRARY __attribute__((visibility("hidden")))
#else
#define ASHLAR_OF_THIS_LIBRARY
#endif

// Declares an instantiation that a source of `ashlar::heap` defines, for a program that links it.
#if defined(ASHLAR_COMPILED_HEAP) && ASHLAR_COMPILED_HEAP
#define ASHLAR_COMPILED(...) extern template __VA_ARGS__
#else
#define ASHLAR_COMPILED(...) static_assert(true)
#endif
