// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the compiler is told about hot paths, cold paths and empty members.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>

#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_LIKELY(condition) __builtin_expect(static_cast<bool>(condition), 1)
#define ASHLAR_UNLIKELY(condition) __builtin_expect(static_cast<bool>(condition), 0)
#define ASHLAR_COLD __attribute__((cold, noinline))
#define ASHLAR_INLINE inline __attribute__((always_inline))
#define ASHLAR_NOINLINE __attribute__((noinline))
#else
#define ASHLAR_LIKELY(condition) (condition)
#define ASHLAR_UNLIKELY(condition) (condition)
#define ASHLAR_COLD __declspec(noinline)
#define ASHLAR_INLINE __forceinline
#define ASHLAR_NOINLINE __declspec(noinline)
#endif

#if defined(_MSC_VER)
#define ASHLAR_NO_UNIQUE_ADDRESS [[msvc::no_unique_address]]
#else
#define ASHLAR_NO_UNIQUE_ADDRESS [[no_unique_address]]
#endif

// Makes the compiler keep an object's address in a register instead of naming the object in each instruction. A list
// head that is stored and reloaded by absolute address costs about 1 ns more a pair on current cores.
#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_IN_REGISTER(pointer) __asm__("" : "+r"(pointer))
#else
#define ASHLAR_IN_REGISTER(pointer) static_cast<void>(pointer)
#endif

// Asks for a line that will be written to, which another core may have. Nothing happens where it cannot be had.
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define ASHLAR_FETCH_TO_WRITE(pointer) __asm__ volatile("prefetchw (%0)" : : "r"(static_cast<const void*>(pointer)))
#elif defined(__GNUC__) || defined(__clang__)
#define ASHLAR_FETCH_TO_WRITE(pointer) __builtin_prefetch(static_cast<const void*>(pointer), 1)
#else
#define ASHLAR_FETCH_TO_WRITE(pointer) static_cast<void>(pointer)
#endif

// What the compiler may rely on, without a test.
#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_ASSUME(condition) (static_cast<bool>(condition) ? static_cast<void>(0) : __builtin_unreachable())
#else
#define ASHLAR_ASSUME(condition) __assume(condition)
#endif

// Whether the compiler knows the value, after inlining: of two right ways, the one that is shorter for known values may
// be taken.
#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_IS_CONSTANT(value) (__builtin_constant_p(value) != 0)
#else
#define ASHLAR_IS_CONSTANT(value) false
#endif

// Where the function that asks returns to; the function must not be inlined. Null where the compiler cannot say.
#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_RETURN_ADDRESS() static_cast<const void*>(__builtin_return_address(0))
#else
#define ASHLAR_RETURN_ADDRESS() static_cast<const void*>(nullptr)
#endif

// Whether this may become a library, which finds its thread-local variables by a call, since it may be loaded late: so
// variables that are used together stand together there. In a program each is found best by itself.
#if defined(__PIC__) && !defined(__PIE__)
#define ASHLAR_IS_LIBRARY_CODE true
#else
#define ASHLAR_IS_LIBRARY_CODE false
#endif

// For what each library must have for itself, even where all libraries share what is inline: it dies with the library.
#if defined(__GNUC__) || defined(__clang__)
#define ASHLAR_OF_THIS_LIBRARY __attribute__((visibility("hidden")))
#else
#define ASHLAR_OF_THIS_LIBRARY
#endif
