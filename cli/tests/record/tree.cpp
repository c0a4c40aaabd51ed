// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Processes that start others: a server with workers that a signal ends, and a daemon.
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int blocks = 750;

/// 1,500 events.
void work() {
  for (int i = 0; i < blocks; ++i) std::free(std::malloc(100));
}

[[noreturn]] void be_worker(int ready) {
  work();
  static_cast<void>(write(ready, "", 1) == 1);
  for (;;) pause();
}

/// Starts four workers, and ends them when all have worked.
int serve(int signal) {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  pid_t workers[4];
  for (pid_t& worker : workers) {
    worker = fork();
    if (worker == 0) be_worker(ends[1]);
  }
  char ready[1];
  for (int i = 0; i < 4; ++i)
    if (read(ends[0], ready, 1) != 1) return 1;
  for (const pid_t worker : workers) kill(worker, signal);
  for (const pid_t worker : workers) waitpid(worker, nullptr, 0);
  return 0;
}

/// The first process ends at once, so does its child; the daemon ends later with status 7.
int become_daemon() {
  if (fork() != 0) return 0;
  setsid();
  if (fork() != 0) _exit(0);
  work();
  usleep(50'000);
  _exit(7);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  if (std::strcmp(mode, "terminated") == 0) return serve(SIGTERM);
  if (std::strcmp(mode, "killed") == 0) return serve(SIGKILL);
  if (std::strcmp(mode, "daemon") == 0) return become_daemon();
  if (std::strcmp(mode, "exec") == 0) execl(argv[0], argv[0], nullptr);
  work();
  return 0;
}
