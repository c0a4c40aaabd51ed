// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// run_each <commands>: runs the command of each line of the file, in one start of wine for all of them. Its result is
// the number of those that fail, which it names.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <process.h>
#include <sstream>
#include <string>
#include <vector>

namespace {

// Returns: what the program of the line returns, or -1 if it does not start.
std::intptr_t result_of(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> command;
  for (std::string word; words >> word;) command.push_back(word);
  std::vector<const char*> arguments;
  for (const std::string& word : command) arguments.push_back(word.c_str());
  arguments.push_back(nullptr);
  return ::_spawnv(_P_WAIT, arguments[0], arguments.data());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream commands(argv[1]);
  int run = 0, failed = 0;
  for (std::string line; std::getline(commands, line); ++run) {
    const std::intptr_t result = result_of(line);
    if (result == 0) continue;
    ++failed;
    std::printf("failed with %lld: %s\n", static_cast<long long>(result), line.c_str());
  }
  std::printf("%d commands, %d failed\n", run, failed);
  return run == 0 ? 1 : std::min(failed, 100);
}
