// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thread-safe pools and heaps under a global operator new that is one of them: they never call it themselves.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory_resource>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

namespace {

enum class source : unsigned char { malloc, set, heap };

std::atomic<source> where = source::malloc;
std::atomic<std::size_t> calls = 0;
thread_local int depth = 0;  // nested calls of operator new in this thread
std::atomic<int> deepest = 0;

// In front of each block.
struct alignas(std::max_align_t) head {
  std::size_t bytes;
  source from;
};

// Never destroyed, since blocks of main are freed after it.
template <class Resource>
Resource& all() {
  alignas(Resource) static std::byte place[sizeof(Resource)];
  static auto* const made = ::new (static_cast<void*>(place)) Resource();
  return *made;
}

void* take(source from, std::size_t bytes) {
  if (from == source::set) return all<ashlar::shared_pool_set<>>().try_allocate(bytes, alignof(head));
  return from == source::heap ? all<ashlar::heap<>>().try_allocate(bytes, alignof(head)) : std::malloc(bytes);
}

}  // namespace

void* operator new(std::size_t n) {
  ++calls;
  if (++depth > deepest) deepest = depth;
  const head front = {n + sizeof(head), where};
  void* const p = take(front.from, front.bytes);
  --depth;
  if (p == nullptr) ashlar::throw_bad_alloc(n, alignof(head));
  return ::new (p) head(front) + 1;
}

void operator delete(void* p) noexcept {
  if (p == nullptr) return;
  head* const front = static_cast<head*>(p) - 1;
  if (front->from == source::set) all<ashlar::shared_pool_set<>>().deallocate(front, front->bytes, alignof(head));
  else if (front->from == source::heap) all<ashlar::heap<>>().deallocate(front);
  else std::free(front);
}

void operator delete(void* p, std::size_t) noexcept { ::operator delete(p); }

namespace {

int fill_and_sum(int seed) {
  std::map<int, std::string> names;
  std::vector<std::vector<int>> rows;
  for (int i = 0; i < 500; ++i) {
    names[seed + i] = std::string(static_cast<std::size_t>(i) % 90 + 1, 'x');
    rows.emplace_back(static_cast<std::size_t>(i), seed);
  }
  std::size_t sum = 0;
  for (const auto& [key, name] : names) sum += name.size();
  for (const std::vector<int>& row : rows) sum += row.size();
  return static_cast<int>(sum);
}

// With threads that start and end, each of which uses other pools too.
void use_as_operator_new(source from) {
  where = from;
  deepest = 0;
  const int expected = fill_and_sum(0);
  ashlar::shared_block_pool<> pool({.cell_bytes = 48});
  ashlar::heap<> heap;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        EXPECT_EQ(fill_and_sum(i), expected);
        pool.deallocate(pool.allocate());
        heap.deallocate(heap.allocate(1000));
      });
    for (std::thread& each : threads) each.join();
  }
  where = source::malloc;
  EXPECT_EQ(deepest, 1) << "a pool asked operator new, which it is itself";
}

TEST(pools_as_operator_new, a_shared_pool_set_is_all_there_is) { use_as_operator_new(source::set); }

TEST(pools_as_operator_new, a_heap_is_all_there_is) { use_as_operator_new(source::heap); }

template <class Use>
std::size_t calls_in_threads(const Use& use) {
  std::size_t seen = 0;
  for (int i = 0; i < 3; ++i)
    std::thread([&] {
      const std::size_t before = calls;
      use();
      seen += calls - before;
    }).join();
  const std::size_t before = calls;
  use();
  return seen + (calls - before);
}

// An upstream that does not use operator new.
struct by_malloc : std::pmr::memory_resource {
private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return std::aligned_alloc(alignment, ashlar::align_up(bytes, alignment));
  }
  void do_deallocate(void* p, std::size_t, std::size_t) override { std::free(p); }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

TEST(pools_as_operator_new, a_synchronized_pool_resource_asks_its_upstream_alone) {
  by_malloc upstream;
  ashlar::pmr::synchronized_pool_resource pools(&upstream);
  EXPECT_EQ(calls_in_threads([&] {
              std::array<void*, 100> blocks;
              for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = pools.allocate(i * 7 + 1, 8);
              for (std::size_t i = 0; i < blocks.size(); ++i) pools.deallocate(blocks[i], i * 7 + 1, 8);
            }),
            0u);
}

TEST(pools_as_operator_new, a_shared_pool_and_a_heap_ask_pages_alone) {
  ashlar::shared_block_pool<> pool({.cell_bytes = 48});
  ashlar::heap<> heap;
  EXPECT_EQ(calls_in_threads([&] {
              pool.deallocate(pool.allocate());
              heap.deallocate(heap.allocate(1000));
            }),
            0u);
}

}  // namespace
