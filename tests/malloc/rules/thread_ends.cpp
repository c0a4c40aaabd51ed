// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ends of threads: blocks outlive them, and destructors of keys and of thread_local objects still allocate.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

namespace malloc_rules {
namespace {

constexpr unsigned many = 160;
constexpr std::size_t sizes[] = {1, 16, 100, 1000, 9000, 70'000, 1'500'000};
constexpr std::size_t per_thread = std::size(sizes);

void allocate_all(void** blocks, std::uint64_t seed) {
  for (std::size_t i = 0; i < per_thread; ++i) {
    blocks[i] = std::malloc(sizes[i]);
    expect(blocks[i] != nullptr, "malloc failed", sizes[i]);
    fill(blocks[i], sizes[i], seed + i);
  }
}

void free_all(void** blocks, std::uint64_t seed) {
  for (std::size_t i = 0; i < per_thread; ++i) {
    expect(is_filled(blocks[i], sizes[i], seed + i), "a block of a thread that ended changed", sizes[i]);
    std::free(blocks[i]);
    blocks[i] = nullptr;
  }
}

// Each thread frees what the one before it left, and leaves blocks itself.
void blocks_outlive_their_thread() {
  static void* blocks[per_thread];
  allocate_all(blocks, 0);
  for (unsigned t = 0; t < many; ++t)
    std::thread{[t] {
      free_all(blocks, t);
      allocate_all(blocks, t + 1);
    }}.join();
  free_all(blocks, many);
}

void of_many_at_once() {
  static void* blocks[many][per_thread];
  static std::atomic<unsigned> arrived{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < many; ++t)
    threads.emplace_back([t] {
      allocate_all(blocks[t], t);
      ++arrived;
      while (arrived < many) std::this_thread::yield();
      if (t % 2 == 0) free_all(blocks[(t + 1) % many], (t + 1) % many);
    });
  for (std::thread& each : threads) each.join();
  for (unsigned t = 0; t < many; t += 2) free_all(blocks[t], t);
}

void of_detached_threads() {
  static std::atomic<unsigned> ended{0};
  for (unsigned t = 0; t < many; ++t)
    std::thread{[t] {
      void* blocks[per_thread];
      allocate_all(blocks, t);
      free_all(blocks, t);
      ++ended;
    }}.detach();
  while (ended < many) std::this_thread::yield();
}

pthread_key_t keys[40];  // from the 33rd on glibc keeps a thread's values in memory of calloc
std::atomic<unsigned> destructions{0};

/// What a key has: a block that knows its key, and how often that was armed in this thread.
struct keyed_block {
  std::size_t key;
  int round;
  char pattern[500];
};

keyed_block* block_of_a_key(std::size_t key, int round) {
  auto* const made = static_cast<keyed_block*>(std::malloc(sizeof(keyed_block)));
  expect(made != nullptr, "no memory for the block of a key");
  made->key = key;
  made->round = round;
  fill(made->pattern, sizeof made->pattern, key);
  return made;
}

void free_block_of_a_key(void* p) {
  const auto* const block = static_cast<keyed_block*>(p);
  expect(is_filled(block->pattern, sizeof block->pattern, block->key), "the block of a key changed", block->key);
  std::free(p);
  ++destructions;
}

/// As libraries do that want to be the last: until glibc gives up.
void free_and_rearm(void* p) {
  const keyed_block block = *static_cast<keyed_block*>(p);
  free_block_of_a_key(p);
  void* const big = std::calloc(1, 200'000);
  expect(big != nullptr && is_zero(big, 200'000), "calloc in the destructor of a key");
  std::free(big);
  if (block.round + 1 < PTHREAD_DESTRUCTOR_ITERATIONS)
    ::pthread_setspecific(keys[block.key], block_of_a_key(block.key, block.round + 1));
}

void use_keys_in_threads(void (*destructor)(void*), std::size_t count, std::size_t rounds) {
  for (std::size_t k = 0; k < count; ++k) expect(::pthread_key_create(&keys[k], destructor) == 0, "no key");
  constexpr unsigned threads = 40;
  for (unsigned t = 0; t < threads; ++t)
    std::thread{[count] {
      for (std::size_t k = 0; k < count; ++k) ::pthread_setspecific(keys[k], block_of_a_key(k, 0));
    }}.join();
  expect(destructions == threads * count * rounds, "destructors of keys did not run", destructions);
}

void keys_rearm() { use_keys_in_threads(free_and_rearm, 3, PTHREAD_DESTRUCTOR_ITERATIONS); }
void of_keys_beyond_32() { use_keys_in_threads(free_block_of_a_key, std::size(keys), 1); }

// The thread does nothing else with memory, so that its first call comes while it ends.
void that_free_only_in_a_key() {
  static pthread_key_t key;
  expect(::pthread_key_create(&key, std::free) == 0, "no key");
  for (int i = 0; i < 100; ++i) {
    void* const p = block_of_a_key(0, 0);
    std::thread{[=] { ::pthread_setspecific(key, p); }}.join();
  }
}

struct in_thread {
  std::string text = std::string(500, 'a');
  std::vector<std::string> more;
  ~in_thread() {
    expect(text == std::string(500, 'a'), "a thread_local object changed");
    for (int i = 0; i < 50; ++i) more.emplace_back(static_cast<std::size_t>(i * 20), 'b');
    ++destructions;
  }
};
thread_local in_thread first;
thread_local in_thread second;

void thread_local_objects() {
  for (int i = 0; i < 50; ++i)
    std::thread{[] {
      first.more.emplace_back(100, 'c');
      second.more = first.more;
    }}.join();
  expect(destructions == 100, "thread_local objects were not destroyed", destructions);
}

void of_main() {
  std::thread{[main = ::pthread_self()] {
    ::pthread_join(main, nullptr);
    for (int i = 0; i < 20; ++i) {
      void* blocks[per_thread];
      allocate_all(blocks, 1);
      std::thread{[&] { free_all(blocks, 1); }}.join();
    }
    std::exit(0);
  }}.detach();
  first.more.emplace_back(100, 'd');
  ::pthread_exit(nullptr);
}

// The last thread that ends takes the process with it, as if by exit(0).
void of_main_before_the_others() {
  expect_good_child(
      [] {
        for (int t = 0; t < 4; ++t)
          std::thread{[] {
            const timespec pause{0, 20'000'000};
            ::nanosleep(&pause, nullptr);
            void* blocks[per_thread];
            allocate_all(blocks, 1);
            free_all(blocks, 1);
          }}.detach();
        ::pthread_exit(nullptr);
      },
      "pthread_exit of main");
}

void while_others_start() {
  std::vector<std::thread> starters;
  for (int s = 0; s < 4; ++s)
    starters.emplace_back([] {
      void* blocks[per_thread];
      for (unsigned t = 0; t < 60; ++t) {
        std::thread{[&] { allocate_all(blocks, t); }}.join();
        free_all(blocks, t);
      }
    });
  for (std::thread& each : starters) each.join();
}

constexpr rule rules[] = {
    {"thread_ends.blocks_outlive_their_thread", blocks_outlive_their_thread},
    {"thread_ends.of_many_at_once", of_many_at_once},
    {"thread_ends.of_detached_threads", of_detached_threads},
    {"thread_ends.keys_rearm", keys_rearm},
    {"thread_ends.of_keys_beyond_32", of_keys_beyond_32},
    {"thread_ends.that_free_only_in_a_key", that_free_only_in_a_key},
    {"thread_ends.thread_local_objects", thread_local_objects},
    {"thread_ends.of_main", of_main},
    {"thread_ends.of_main_before_the_others", of_main_before_the_others},
    {"thread_ends.while_others_start", while_others_start},
};

}  // namespace

std::span<const rule> rules_of_thread_ends() { return rules; }

}  // namespace malloc_rules
