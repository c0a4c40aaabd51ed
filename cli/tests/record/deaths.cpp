// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that allocates and then dies in the way named by its argument.
#include <csignal>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int blocks = 20'000;
constexpr std::size_t block_bytes = 50'003;
constexpr int end_status = 7;

using way = void (*)();

void allocate_one() {
  void* volatile p = std::malloc(block_bytes);
  std::free(p);
}

void allocate_some() {
  for (int i = 0; i < blocks; ++i) allocate_one();
}

// A thread that allocates until the process ends.
void start_busy_thread() {
  pthread_t busy;
  const auto churn = [](void*) -> void* {
    while (true) {
      void* volatile p = std::malloc(64);
      std::free(p);
    }
  };
  if (::pthread_create(&busy, nullptr, churn, nullptr) != 0) std::abort();
}

void in_thread(void* (*f)(void*)) {
  pthread_t started;
  if (::pthread_create(&started, nullptr, f, nullptr) != 0) std::abort();
  ::pthread_join(started, nullptr);
}

void die_of(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int deeper(volatile int* depth) {
  volatile int frame[1024] = {*depth};
  if (*depth < 0) return 0;  // never
  *depth += deeper(&frame[1023]);
  return frame[0];
}

void overflow_stack() {
  constexpr rlimit small{1 << 20, 1 << 20};
  ::setrlimit(RLIMIT_STACK, &small);
  volatile int depth = 0;
  deeper(&depth);
}

void become_a_daemon() {
  if (::fork() != 0) ::_exit(end_status);
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  allocate_some();
  std::exit(0);
}

void wait_for_child(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
}

struct dies_late {
  ~dies_late() { std::_Exit(end_status); }
};

const std::map<std::string, way> ways{
    {"returns", [] {}},
    {"exit", [] { std::exit(end_status); }},
    {"_exit", [] { ::_exit(end_status); }},
    {"quick_exit", [] { std::quick_exit(end_status); }},
    {"abort", [] { std::abort(); }},
    {"terminate", [] { std::terminate(); }},
    {"exception", [] { throw std::runtime_error("nobody catches it"); }},
    {"SIGKILL", [] { ::kill(::getpid(), SIGKILL); }},
    {"SIGSEGV", [] { die_of(SIGSEGV); }},
    {"SIGBUS", [] { die_of(SIGBUS); }},
    {"SIGFPE", [] { die_of(SIGFPE); }},
    {"SIGILL", [] { die_of(SIGILL); }},
    {"SIGTERM", [] { die_of(SIGTERM); }},
    {"SIGINT", [] { die_of(SIGINT); }},
    {"SIGPIPE", [] { die_of(SIGPIPE); }},
    {"stack_overflow", overflow_stack},
    {"limit_of_time",
     [] {
       constexpr rlimit one{1, 1};
       ::setrlimit(RLIMIT_CPU, &one);
       allocate_some();
       while (true) {
         allocate_one();
         for (volatile int i = 0; i < 10'000;) i = i + 1;  // seldom, so that the trace is short
       }
     }},
    {"exit_in_atexit",
     [] {
       std::atexit([] { std::_Exit(end_status); });
       std::exit(0);
     }},
    {"exit_in_static_destructor",
     [] {
       static dies_late late;
       std::exit(0);
     }},
    {"exit_in_signal_handler",
     [] {
       std::signal(SIGUSR1, [](int) { ::_exit(end_status); });
       std::raise(SIGUSR1);
     }},
    {"exit_in_thread", [] { in_thread([](void*) -> void* { std::exit(end_status); }); }},
    {"exit_beside_thread",
     [] {
       start_busy_thread();
       std::exit(end_status);
     }},
    {"_exit_beside_thread",
     [] {
       start_busy_thread();
       ::_exit(end_status);
     }},
    {"main_thread_ends_first",
     [] {
       pthread_t last;
       const auto outlive = [](void*) -> void* {
         allocate_some();
         std::exit(end_status);
       };
       if (::pthread_create(&last, nullptr, outlive, nullptr) == 0) ::pthread_exit(nullptr);
     }},
    {"fork_and_child_exit",
     [] {
       const pid_t child = ::fork();
       if (child == 0) std::exit(0);
       wait_for_child(child);
       std::exit(end_status);
     }},
    {"fork_and_child_abort",
     [] {
       const pid_t child = ::fork();
       if (child == 0) std::abort();
       wait_for_child(child);
       std::exit(end_status);
     }},
    {"vfork_and_exec",
     [] {
       const pid_t child = ::vfork();
       if (child == 0) {
         ::execl("/bin/true", "true", nullptr);
         ::_exit(1);
       }
       wait_for_child(child);
       std::exit(end_status);
     }},
    {"daemon", become_a_daemon},
    {"closes_all_and_exits",
     [] {
       ::close_range(0, ~0U, 0);
       std::exit(end_status);
     }},
    {"no_more_files",
     [] {
       constexpr rlimit none{0, 0};
       ::setrlimit(RLIMIT_NOFILE, &none);
       std::exit(end_status);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  const auto chosen = ways.find(argc > 1 ? argv[1] : "");
  if (chosen == ways.end()) return 99;
  allocate_some();
  chosen->second();
  return 0;
}
