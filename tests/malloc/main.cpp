// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs rules, each in a process with a time limit, and names the broken ones.
//
//     rules                  all rules
//     rules NAME…            the rules, or concepts, whose names begin so
//     rules --limit N …      with a time limit of N seconds for each
//     rules --preload FILE … with that library, which this process does not load: it outlives any fault
//     rules --list           their names
//     rules --here NAME      one rule in this process, for a debugger
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>

#include "tests/malloc/rule.hpp"

namespace {

using malloc_rules::rule;

/// Seconds. A longer run counts as broken: a deadlock. The longest takes seconds, but the machine may be slow.
unsigned limit = 120;
const char* preload = nullptr;

template <class F>
void for_each_rule(F f) {
  for (const rule* each = malloc_rules::first_rule(); each != nullptr; each = each->next) f(*each);
}

bool is_wanted(const rule& each, std::span<char*> names) {
  for (const char* name : names)
    if (std::strncmp(each.name, name, std::strlen(name)) == 0) return true;
  return names.empty();
}

sigset_t ends_of_children() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

/// Effects: starts this program again, for one rule, as the leader of a group of processes.
pid_t start(const rule& of) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setpgid(0, 0);
  const sigset_t set = ends_of_children();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  if (preload != nullptr) ::setenv("LD_PRELOAD", preload, 1);
  ::execl("/proc/self/exe", "rules", "--here", of.name, static_cast<char*>(nullptr));
  ::_exit(127);
}

/// Returns: the status of the child; -1 if it was not over in time.
int wait_for(pid_t child, unsigned seconds) {
  const sigset_t set = ends_of_children();
  const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(seconds);
  int status = -1;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    const timespec left{.tv_sec = end - std::time(nullptr), .tv_nsec = 0};
    if (left.tv_sec <= 0) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &status, 0);
      return -1;
    }
    sigtimedwait(&set, nullptr, &left);
  }
  ::kill(-child, SIGKILL);  // of the group, processes that the rule left behind
  return status;
}

bool is_kept(const rule& of) {
  const pid_t child = start(of);
  if (child < 0) return false;
  const int status = wait_for(child, limit);
  if (status == 0) return true;
  if (status == -1) std::printf("broken: %s: not over after %u s\n", of.name, limit);
  else if (WIFSIGNALED(status)) std::printf("broken: %s: signal %d\n", of.name, WTERMSIG(status));
  else std::printf("broken: %s\n", of.name);
  std::fflush(stdout);  // each child would have a copy
  return false;
}

int run_here(const char* name) {
  int result = 2;
  malloc_rules::expect_preloaded();
  for_each_rule([&](const rule& each) {
    if (std::strcmp(each.name, name) != 0) return;
    each.check();
    result = 0;
  });
  return result;
}

int run_all(std::span<char*> names) {
  const sigset_t set = ends_of_children();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  unsigned kept = 0;
  unsigned broken = 0;
  for_each_rule([&](const rule& each) {
    if (is_wanted(each, names)) ++(is_kept(each) ? kept : broken);
  });
  std::printf("%u rules kept, %u broken\n", kept, broken);
  return kept > 0 && broken == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::span<char*> arguments{argv + 1, static_cast<std::size_t>(argc - 1)};
  if (argc == 3 && std::strcmp(argv[1], "--here") == 0) return run_here(argv[2]);
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for_each_rule([](const rule& each) { std::puts(each.name); });
    return 0;
  }
  for (; arguments.size() >= 2 && std::strncmp(arguments[0], "--", 2) == 0; arguments = arguments.subspan(2)) {
    if (std::strcmp(arguments[0], "--limit") == 0) limit = static_cast<unsigned>(std::atoi(arguments[1]));
    if (std::strcmp(arguments[0], "--preload") == 0) preload = arguments[1];
  }
  return run_all(arguments);
}
