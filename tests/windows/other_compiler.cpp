// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program by clang in the place of MSVC: it has the macros and the keywords of that and not those of g++ and clang,
// so the library takes the spellings that it has for other compilers. The standard headers are in it before.
#define NOMINMAX
#include <winsock2.h>

#include <windows.h>

// clang-format off
#include <bits/stdc++.h>
#include <intrin.h>
#include <io.h>

#undef __GNUC__
#undef __clang__
#undef __MINGW32__
#undef __MINGW64__
#define _MSC_VER 1940
#define _MSVC_LANG __cplusplus
#define _M_X64 100
// clang-format on

#include "all_headers.hpp"
#include "tests/windows/program.hpp"

#if defined(__GNUC__) || defined(__clang__)
#error "a header has defined them again"
#endif

int main() { return ashlar_test::resources_work() ? 0 : 1; }
