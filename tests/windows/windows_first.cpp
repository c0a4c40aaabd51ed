// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that includes the headers of Windows, with all of their macros but min and max, before the library.
#define NOMINMAX
#include <winsock2.h>

#include <windows.h>

// Macros of the headers of other compilers' kits.
#define small char

#include "all_headers.hpp"
#include "tests/windows/program.hpp"

int main() { return ashlar_test::resources_work() ? 0 : 1; }
