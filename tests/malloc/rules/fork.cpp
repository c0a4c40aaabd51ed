// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Processes made while threads allocate: by fork, posix_spawn, popen and system.
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

void allocate_and_free(std::uint64_t seed) {
  random_numbers random{seed};
  void* blocks[100] = {};
  for (int round = 0; round < 2000; ++round) {
    void*& p = blocks[random.below(std::size(blocks))];
    std::free(p);
    const std::size_t n = random.size(round % 100 == 0 ? 22 : 13);
    p = std::malloc(n);
    expect(p != nullptr, "no memory in a child", n);
    fill(p, n < 64 ? n : 64, seed);
  }
  for (void* p : blocks) std::free(p);
}

void use_threads() {
  in_threads(3, [](unsigned t) { allocate_and_free(t + 1); });
}

struct {
  void* block;
  std::size_t bytes;
} inherited[100];

void allocate_inherited() {
  random_numbers random{77};
  for (auto& each : inherited) {
    each.bytes = random.size(18);
    fill(each.block = std::malloc(each.bytes), each.bytes, 77);
  }
}

void free_inherited() {
  for (auto& each : inherited) {
    expect(is_filled(each.block, each.bytes, 77), "a block changed by a fork", each.bytes);
    std::free(each.block);
  }
}

void child_of_a_loaded_parent() {
  free_inherited();
  use_threads();
  expect_good_child([] { allocate_and_free(3); }, "a grandchild failed");
  allocate_and_free(4);
}

RULE(fork, under_load) {
  allocate_inherited();
  const load running;
  for (int i = 0; i < 15; ++i) expect_good_child(child_of_a_loaded_parent, "a child failed");
}

RULE(fork, by_several_threads_at_once) {
  allocate_inherited();
  const load running;
  in_threads(3, [](unsigned) {
    for (int i = 0; i < 8; ++i) expect_good_child(child_of_a_loaded_parent, "a child failed");
  });
}

RULE(fork, of_a_thread_that_never_allocated) {
  pthread_t thread;
  ::pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        expect_good_child([] { allocate_and_free(1); }, "a child failed");
        return nullptr;
      },
      nullptr);
  ::pthread_join(thread, nullptr);
}

RULE(fork, of_forks) {
  static unsigned left = 21;
  static void (*const link)() = [] {
    allocate_and_free(left);
    if (--left != 0) expect_good_child(link, "a link of a chain of forks failed");
  };
  link();
}

RULE(fork, blocks_of_the_lost_threads) {
  static std::atomic<void*> theirs{nullptr};
  static std::atomic<bool> is_over{false};
  std::thread owner{[] {
    void* const p = std::malloc(3000);
    fill(p, 3000, 5);
    theirs = p;
    while (!is_over) std::this_thread::yield();
  }};
  while (theirs == nullptr) std::this_thread::yield();
  expect_good_child(
      [] {
        expect(is_filled(theirs, 3000, 5), "a block of a thread that is lost in the child changed");
        std::free(theirs);
        use_threads();
      },
      "a child that frees a lost thread's block failed");
  is_over = true;
  owner.join();
  std::free(theirs);
}

RULE(fork, by_spawn) {
  const load running;
  char name[] = "true";
  char* const arguments[] = {name, nullptr};
  for (int i = 0; i < 30; ++i) {
    pid_t child = 0;
    expect(::posix_spawnp(&child, "true", nullptr, nullptr, arguments, environ) == 0, "posix_spawnp failed");
    int status = 0;
    ::waitpid(child, &status, 0);
    expect(status == 0, "the spawned program failed", static_cast<std::size_t>(status));
  }
}

RULE(fork, by_system_and_popen) {
  const load running;
  for (int i = 0; i < 10; ++i) {
    expect(std::system("exit 0") == 0, "system failed");
    std::FILE* const pipe = ::popen("echo text", "r");
    expect(pipe != nullptr, "popen failed");
    char text[10] = {};
    expect(std::fgets(text, sizeof text, pipe) != nullptr && text[0] == 't', "popen gave no text");
    expect(::pclose(pipe) == 0, "pclose failed");
  }
}

// fflush(NULL) holds the list of streams and waits for one that getline holds, which waits for the heap.
void read_and_flush(const std::atomic<bool>& is_over, bool flushes) {
  std::FILE* const file = ::tmpfile();
  for (int i = 0; i < 50'000; ++i) std::fputc('x', file);
  while (!is_over) {
    if (flushes) std::fflush(nullptr);
    std::rewind(file);
    char* line = nullptr;
    std::size_t bytes = 0;
    expect(::getline(&line, &bytes, file) == 50'000, "getline gave another line");
    std::free(line);
  }
  std::fclose(file);
}

void fork_until(const std::atomic<bool>& is_over) {
  while (!is_over) {
    const pid_t child = ::fork();
    expect(child >= 0, "fork failed");
    if (child == 0) ::_exit(17);
    int status = 0;
    ::waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 17, "a child failed", static_cast<std::size_t>(status));
  }
}

RULE(fork, beside_streams) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) threads.emplace_back([&, i] { read_and_flush(is_over, i == 0); });
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { fork_until(is_over); });
  std::this_thread::sleep_for(std::chrono::seconds(1));
  is_over = true;
  for (std::thread& each : threads) each.join();
  expect_good_child([] { std::fclose(::tmpfile()); }, "a child without its list of streams");
}

volatile std::sig_atomic_t forks_of_handler = 0;
volatile std::sig_atomic_t is_child = 0;

void fork_in_handler(int) {
  const int before = errno;
  const pid_t child = ::fork();
  expect(child >= 0, "fork failed in a handler");
  if (child == 0) is_child = 1;
  else {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    expect(status == 0, "a child of a handler failed", static_cast<std::size_t>(status));
  }
  forks_of_handler = forks_of_handler + 1;
  errno = before;
}

// The child returns into the call that the signal interrupted, and goes on with its heap.
RULE(fork, in_a_signal_handler) {
  std::signal(SIGALRM, fork_in_handler);
  random_numbers random{9};
  void* blocks[100] = {};
  for (int round = 1; round <= 100; ++round) {
    const itimerval soon{{}, {0, static_cast<suseconds_t>(20 + random.below(100))}};
    ::setitimer(ITIMER_REAL, &soon, nullptr);
    while (forks_of_handler < round) {
      void*& p = blocks[random.below(std::size(blocks))];
      std::free(p);
      p = std::malloc(40'000 + random.below(1'000'000));
    }
    if (is_child == 0) continue;
    for (void* p : blocks) std::free(p);
    use_threads();
    std::exit(0);
  }
  for (void* p : blocks) std::free(p);
}

}  // namespace

}  // namespace malloc_rules
