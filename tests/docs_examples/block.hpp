// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A C++ block of the documentation, as a function.
#pragma once

#include <cstddef>

struct documented_block {
  const char* where;
  int (*run)();
  bool is_of_one_thread;
};

extern "C" const documented_block documented_blocks[];
extern "C" const std::size_t documented_count;
