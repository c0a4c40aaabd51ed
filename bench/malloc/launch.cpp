// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts a program some times and prints the mean of what one run took. Linked statically and without the C++ library:
// the kernel counts the memory of the process that starts a program into the program's peak.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

struct usage {
  double wall_ms = 0;
  double user_ms = 0;
  double system_ms = 0;
  double faults = 0;      // without a disk
  double peak_bytes = 0;  // the largest of all runs
};

[[noreturn]] void fail(const char* what, int error) {
  std::fprintf(stderr, "malloc_programs_launch: %s: %s\n", what, std::strerror(error));
  std::exit(1);
}

double now_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

double to_ms(const timeval& t) { return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3; }

// The program's standard error is this process's.
pid_t start(char** command, const char* output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child = -1;
  const int error = posix_spawn(&child, command[0], &files, nullptr, command, environ);
  if (error != 0) fail(command[0], error);
  posix_spawn_file_actions_destroy(&files);
  return child;
}

void add(usage& sum, char** command, const char* output) {
  const double began = now_ms();
  const pid_t child = start(command, output);
  int status = 0;
  rusage took{};
  while (wait4(child, &status, 0, &took) < 0)
    if (errno != EINTR) fail("wait4", errno);
  sum.wall_ms += now_ms() - began;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "malloc_programs_launch: %s ended with wait status %d\n", command[0], status);
    std::exit(1);
  }
  sum.user_ms += to_ms(took.ru_utime);
  sum.system_ms += to_ms(took.ru_stime);
  sum.faults += static_cast<double>(took.ru_minflt);
  const double peak = 1024.0 * static_cast<double>(took.ru_maxrss);
  if (peak > sum.peak_bytes) sum.peak_bytes = peak;
}

}  // namespace

// malloc_programs_launch TIMES OUTPUT [VARIABLE=VALUE]... -- COMMAND [ARGUMENT]...
int main(int argc, char** argv) {
  const int times = argc > 2 ? std::atoi(argv[1]) : 0;
  char** word = argv + 3;
  for (; word < argv + argc && std::strcmp(*word, "--") != 0; ++word) putenv(*word);
  if (times < 1 || word + 1 >= argv + argc) {
    std::fputs("usage: malloc_programs_launch TIMES OUTPUT [VARIABLE=VALUE]... -- COMMAND [ARGUMENT]...\n", stderr);
    return 2;
  }
  usage sum;
  for (int i = 0; i < times; ++i) add(sum, word + 1, argv[2]);
  std::printf("{\"cpu_ms\": %.3f, \"user_ms\": %.3f, \"system_ms\": %.3f, \"wall_ms\": %.3f, \"peak_bytes\": %.0f, "
              "\"faults\": %.1f, \"times\": %d}\n",
              (sum.user_ms + sum.system_ms) / times, sum.user_ms / times, sum.system_ms / times, sum.wall_ms / times,
              sum.peak_bytes, sum.faults / times, times);
  return 0;
}
