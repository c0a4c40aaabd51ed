// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `main` of every bench: prints the list of cells, or measures the cell of the command line.
#include <cstdio>

#include "program.hpp"

int main(int argc, char** argv) {
  const bench::command_line line(argc, argv, bench::this_program.usage_text());
  if (line.asks_for_cells()) std::puts(bench::this_program.cells().str().c_str());
  else bench::this_program.run(line);
}
