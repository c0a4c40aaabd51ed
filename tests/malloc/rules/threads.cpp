// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that allocate, exchange blocks and free each other's.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

namespace malloc_rules {
namespace {

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

/// Where threads leave blocks for each other.
struct exchange {
  std::mutex lock;
  entry entries[256] = {};

  entry swap(std::size_t at, entry with) {
    const std::scoped_lock held{lock};
    return std::exchange(entries[at % std::size(entries)], with);
  }
};

void freed_by_other_threads() {
  static exchange shared;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t)
    threads.emplace_back([t] {
      random_numbers random{t + 1};
      for (int round = 0; round < 30'000; ++round) {
        entry other = shared.swap(random.next(), make(random, round % 500 == 0 ? 21 : 11));
        drop(other);
      }
    });
  for (std::thread& each : threads) each.join();
  for (entry& each : shared.entries) drop(each);
}

// One thread only allocates, the other only frees: memory must return to the one that allocates.
void producer_and_consumer() {
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

void that_only_free() {
  for (int round = 0; round < 30; ++round) {
    std::vector<entry> entries;
    random_numbers random{static_cast<std::uint64_t>(round) + 1};
    for (int i = 0; i < 500; ++i) entries.push_back(make(random, 12));
    std::thread{[&] {
      for (entry& each : entries) drop(each);
    }}.join();
  }
}

void of_huge_blocks() {
  static exchange shared;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      random_numbers random{t + 100};
      for (int round = 0; round < 60; ++round) {
        const std::size_t n = (std::size_t{1} << 20) + random.below(std::size_t{9} << 20);
        auto* const p = static_cast<unsigned char*>(std::malloc(n));
        expect(p != nullptr, "malloc failed", n);
        fill(p, 64, n);
        fill(p + n - 64, 64, n);
        const entry other = shared.swap(random.below(8), {p, n, n});
        if (other.block == nullptr) continue;
        auto* const q = static_cast<unsigned char*>(other.block);
        expect(is_filled(q, 64, other.bytes) && is_filled(q + other.bytes - 64, 64, other.bytes),
               "a huge block changed");
        std::free(q);
      }
    });
  for (std::thread& each : threads) each.join();
  for (const entry& each : shared.entries) std::free(each.block);
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
void with_the_smallest_stack() {
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
void are_not_cancelled_in_malloc() {
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

constexpr rule rules[] = {
    {"threads.freed_by_other_threads", freed_by_other_threads},
    {"threads.producer_and_consumer", producer_and_consumer},
    {"threads.that_only_free", that_only_free},
    {"threads.of_huge_blocks", of_huge_blocks},
    {"threads.with_the_smallest_stack", with_the_smallest_stack},
    {"threads.are_not_cancelled_in_malloc", are_not_cancelled_in_malloc},
};

}  // namespace

std::span<const rule> rules_of_threads() { return rules; }

}  // namespace malloc_rules
