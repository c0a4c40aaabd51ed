// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program of threads and forks that makes a malloc call the system: huge blocks, purges, statistics, profiles,
// refusals.
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t slots = 300;

struct held {
  unsigned char* at;
  std::size_t bytes;

  void mark(std::size_t number) const { at[0] = at[bytes - 1] = static_cast<unsigned char>(number); }
  [[nodiscard]] bool is_marked(std::size_t number) const {
    return at[0] == static_cast<unsigned char>(number) && at[bytes - 1] == at[0];
  }
};

[[nodiscard]] unsigned next(unsigned& state) { return (state = state * 1103515245u + 12345u) >> 8; }

[[nodiscard]] std::size_t random_bytes(unsigned& state) {
  const unsigned kind = next(state) % 64;
  return 1 + next(state) % (kind == 0 ? 6'000'000 : kind < 8 ? 90'000 : 700);
}

void resize(held& block, std::size_t bytes, std::size_t number) {
  auto* const moved = static_cast<unsigned char*>(std::realloc(block.at, bytes));
  if (moved == nullptr) std::abort();
  block = {moved, bytes};
  block.mark(number);
}

void step(held (&blocks)[slots], unsigned& state) {
  const std::size_t number = next(state) % slots;
  held& block = blocks[number];
  if (block.at == nullptr || next(state) % 8 == 0) return resize(block, random_bytes(state), number);
  if (!block.is_marked(number)) std::abort();
  std::free(block.at);
  block = {};
}

void churn(unsigned seed, int steps) {
  held blocks[slots] = {};
  unsigned state = seed;
  for (int i = 0; i < steps; ++i) {
    step(blocks, state);
    if (i % 500 == 499) malloc_trim(0);
  }
  for (const held& each : blocks) std::free(each.at);
}

void* work(void* seed) {
  churn(static_cast<unsigned>(reinterpret_cast<std::size_t>(seed)), 2000);
  return nullptr;
}

void fork_once(unsigned seed) {
  const pid_t child = fork();
  if (child == 0) {
    churn(seed, 300);
    std::exit(0);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) std::abort();
}

void meet_refusals() {
  for (int i = 0; i < 3; ++i) try {
      ::operator delete(::operator new(std::size_t{1} << 40));
    } catch (const std::bad_alloc&) {
      continue;
    }
}

}  // namespace

int main() {
  struct sigaction present = {};
  if (sigaction(SIGUSR2, nullptr, &present) != 0) return 1;
  if (present.sa_handler == SIG_DFL) std::signal(SIGUSR2, SIG_IGN);  // else the signal writes a profile
  for (unsigned round = 0; round < 2; ++round) {
    pthread_t threads[3];
    for (std::size_t i = 0; i < 3; ++i)
      if (pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(7919 * (round * 3 + i) + 1)) != 0)
        std::abort();
    for (unsigned i = 0; i < 4; ++i) fork_once(i);
    std::raise(SIGUSR2);
    for (const pthread_t each : threads) pthread_join(each, nullptr);
    meet_refusals();
    static_cast<void>(mallinfo2());
  }
  std::puts("ended well");
}
