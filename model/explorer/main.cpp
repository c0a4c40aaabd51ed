// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Explores the one model that this program is linked with and prints the result; a number plants that fault.
#include <cstdio>
#include <cstdlib>

#include "explorer.hpp"

void model();

int main(int count, char** words) {
  if (count > 1) explorer::planted = std::atoi(words[1]);
  const explorer::outcome found = explorer::the_search().run(&model);
  for (const std::string& line : found.story) std::printf("  %s\n", line.c_str());
  std::printf("%s: %zu executions to their end, %zu pasts\n", found.failure.empty() ? "ok" : found.failure.c_str(),
              found.complete, found.states);
  return found.failure.empty() ? 0 : 1;
}
