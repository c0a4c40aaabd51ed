// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that exchange blocks, and their ends.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

// ---- Threads that free the blocks of others; fuzz_threads has those that exchange them at random.
struct entry {
  void* block;
  std::size_t bytes;
  std::uint64_t seed;
};

entry make(random_numbers& random, unsigned bits) {
  const std::size_t n = random.size(bits);
  const entry made{std::malloc(n), n, random.next()};
  expect(made.block != nullptr, "malloc failed", n);
  fill(made.block, n, made.seed);
  return made;
}

void drop(entry& each) {
  expect(is_filled(each.block, each.bytes, each.seed), "a block changed on its way between threads", each.bytes);
  std::free(each.block);
  each = {};
}

// One thread only allocates, the other only frees: memory must return to the one that allocates.
RULE(threads, producer_and_consumer) {
  constexpr std::size_t total = 200'000;
  static std::atomic<entry*> mailboxes[1024];
  std::thread consumer{[] {
    for (std::size_t freed = 0; freed < total; ++freed) {
      entry* got = nullptr;
      while ((got = mailboxes[freed % std::size(mailboxes)].exchange(nullptr)) == nullptr) std::this_thread::yield();
      drop(*got);
      std::free(got);
    }
  }};
  random_numbers random{9};
  for (std::size_t made = 0; made < total; ++made) {
    auto* const sent = static_cast<entry*>(std::malloc(sizeof(entry)));
    *sent = make(random, 10);
    std::atomic<entry*>& mailbox = mailboxes[made % std::size(mailboxes)];
    while (mailbox != nullptr) std::this_thread::yield();
    mailbox = sent;
  }
  consumer.join();
}

RULE(threads, that_only_free) {
  for (int round = 0; round < 30; ++round) {
    std::vector<entry> entries;
    random_numbers random{static_cast<std::uint64_t>(round) + 1};
    for (int i = 0; i < 500; ++i) entries.push_back(make(random, 12));
    std::thread{[&] {
      for (entry& each : entries) drop(each);
    }}.join();
  }
}

void* use_all(void*) {
  for (const std::size_t n : {std::size_t{10}, std::size_t{1000}, std::size_t{40'000}, std::size_t{3} << 20}) {
    void* p = std::malloc(n);
    fill(p, 10, 1);
    p = std::realloc(p, n * 3);
    expect(p != nullptr && is_filled(p, 10, 1), "a block of a thread with a small stack changed", n);
    std::free(p);
    std::free(std::aligned_alloc(1024, n));
    std::free(std::calloc(3, n));
  }
  return nullptr;
}

// glibc's malloc is content with 16 KiB, of which the thread's own data are a part.
RULE(threads, with_the_smallest_stack) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  expect(::pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(::sysconf(_SC_THREAD_STACK_MIN))) == 0,
         "the smallest stack was refused");
  for (int i = 0; i < 5; ++i) {
    pthread_t thread;
    expect(::pthread_create(&thread, &attributes, use_all, nullptr) == 0, "no thread");
    ::pthread_join(thread, nullptr);
  }
  ::pthread_attr_destroy(&attributes);
}

// POSIX lists the functions that may be cancellation points; malloc and free are none of them.
RULE(threads, are_not_cancelled_in_malloc) {
  static std::atomic<bool> is_cancelled{false};
  static std::atomic<bool> is_through{false};
  pthread_t thread;
  ::pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        while (!is_cancelled) sched_yield();
        random_numbers random{5};
        entry entries[50] = {};
        for (int round = 0; round < 20'000; ++round) {
          entry& each = entries[random.below(std::size(entries))];
          drop(each);
          each = make(random, round % 100 == 0 ? 22 : 12);
        }
        for (entry& each : entries) drop(each);
        is_through = true;
        return nullptr;
      },
      nullptr);
  ::pthread_cancel(thread);
  is_cancelled = true;
  ::pthread_join(thread, nullptr);
  expect(is_through, "malloc or free is a cancellation point");
}

// ---- Ends of threads: blocks outlive them, and destructors of keys and of thread_local objects still allocate.
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
RULE(thread_ends, blocks_outlive_their_thread) {
  static void* blocks[per_thread];
  allocate_all(blocks, 0);
  for (unsigned t = 0; t < many; ++t)
    std::thread{[t] {
      free_all(blocks, t);
      allocate_all(blocks, t + 1);
    }}.join();
  free_all(blocks, many);
}

RULE(thread_ends, of_many_at_once) {
  static void* blocks[many][per_thread];
  static std::atomic<unsigned> arrived{0};
  in_threads(many, [](unsigned t) {
    allocate_all(blocks[t], t);
    ++arrived;
    while (arrived < many) std::this_thread::yield();
    if (t % 2 == 0) free_all(blocks[(t + 1) % many], (t + 1) % many);
  });
  for (unsigned t = 0; t < many; t += 2) free_all(blocks[t], t);
}

RULE(thread_ends, of_detached_threads) {
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

RULE(thread_ends, keys_rearm) { use_keys_in_threads(free_and_rearm, 3, PTHREAD_DESTRUCTOR_ITERATIONS); }
RULE(thread_ends, of_keys_beyond_32) { use_keys_in_threads(free_block_of_a_key, std::size(keys), 1); }

// The thread does nothing else with memory, so that its first call comes while it ends.
RULE(thread_ends, that_free_only_in_a_key) {
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

RULE(thread_ends, thread_local_objects) {
  for (int i = 0; i < 50; ++i)
    std::thread{[] {
      first.more.emplace_back(100, 'c');
      second.more = first.more;
    }}.join();
  expect(destructions == 100, "thread_local objects were not destroyed", destructions);
}

RULE(thread_ends, of_main) {
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
RULE(thread_ends, of_main_before_the_others) {
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

RULE(thread_ends, while_others_start) {
  in_threads(4, [](unsigned) {
    void* blocks[per_thread];
    for (unsigned t = 0; t < 60; ++t) {
      std::thread{[&] { allocate_all(blocks, t); }}.join();
      free_all(blocks, t);
    }
  });
}

}  // namespace

}  // namespace malloc_rules
