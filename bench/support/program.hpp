// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The three functions of a bench, called by the common `main`.
#pragma once

#include <string>

#include "cells.hpp"
#include "command_line.hpp"

namespace bench {

struct program {
  std::string (*usage_text)();       // the text after a wrong command line
  cell_list (*cells)();              // all cells that `run` measures
  void (*run)(const command_line&);  // measures one cell and prints its JSON line
};

// Each bench defines it.
extern const program this_program;

}  // namespace bench
