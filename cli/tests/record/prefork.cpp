// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts workers, which allocate 1,500 blocks each and end in the way that the argument names; waits for them.
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int workers = 4;
void* volatile escape;

void allocate() {
  for (int i = 0; i < 1'500; ++i) {
    escape = std::malloc(95'001);
    std::free(escape);
  }
}

void end(const char* way) {
  if (std::strcmp(way, "exec") == 0) execl("/bin/true", "true", static_cast<char*>(nullptr));
  if (std::strcmp(way, "term") == 0) raise(SIGTERM);
  if (std::strcmp(way, "kill") == 0) raise(SIGKILL);
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  for (int i = 0; i < workers; ++i) {
    if (fork() != 0) continue;
    allocate();
    end(argv[1]);
  }
  while (wait(nullptr) > 0) {
  }
  return 0;
}
