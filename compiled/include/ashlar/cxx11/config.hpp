// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the headers for C++11 have in common. They contain no template of the library: they call `ashlar::core`, one
// unit that is compiled as C++20, so the users of a header that includes them need no newer standard.
#pragma once

#if !defined(_MSC_VER) && __cplusplus < 201103L
#error "ashlar/cxx11 needs C++11 or later: compile with -std=c++11"
#endif

// A program that links the shared library on Windows defines ASHLAR_CORE_SHARED; the CMake target does it.
#if defined(_WIN32) && defined(ASHLAR_CORE_BUILD) && defined(ASHLAR_CORE_SHARED)
#define ASHLAR_CORE_API __declspec(dllexport)
#elif defined(_WIN32) && defined(ASHLAR_CORE_SHARED)
#define ASHLAR_CORE_API __declspec(dllimport)
#elif defined(__GNUC__)
#define ASHLAR_CORE_API __attribute__((visibility("default")))
#else
#define ASHLAR_CORE_API
#endif

/// The version of the ABI: a namespace of each symbol, and the version of the shared library. A program that is
/// compiled with the headers of one version links with no other.
#define ASHLAR_CORE_ABI v1

namespace ashlar {
namespace cxx11 {
inline namespace ASHLAR_CORE_ABI {

/// Throws: `std::bad_array_new_length`. Ends the process where the unit has no exceptions.
[[noreturn]] ASHLAR_CORE_API void throw_bad_array_new_length();

}  // namespace ASHLAR_CORE_ABI
}  // namespace cxx11
}  // namespace ashlar
