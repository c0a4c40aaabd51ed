// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the calls that heaps for any thread share, under each threads policy.
#include <array>
#include <atomic>
#include <cstddef>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap_threads/basic_heap.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/process_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

#if !defined(_WIN32)
#include "tests/support/child.hpp"
#endif
#include "tests/support/interleaved_calls.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::detail::basic_heap;
using any_calls = basic_heap<ashlar::page_resource, ashlar::detail::threads_of_any_heap>;
using process_calls = basic_heap<ashlar::detail::process_pages, ashlar::detail::threads_of_process_heap>;

static_assert(std::is_base_of_v<any_calls, ashlar::heap<>> && sizeof(any_calls) == sizeof(ashlar::heap<>));
static_assert(std::is_base_of_v<process_calls, ashlar::process_heap_type>);
static_assert(!std::is_constructible_v<any_calls, ashlar::heap_options, ashlar::page_resource>);
static_assert(!std::is_default_constructible_v<ashlar::process_heap_type>);
static_assert(!std::is_destructible_v<ashlar::process_heap_type>);

struct of_any {
  ashlar::heap<> its = {};
  [[nodiscard]] auto& heap() noexcept { return its; }
};
struct of_process {
  [[nodiscard]] static auto& heap() noexcept { return ashlar::process_heap(); }
};

template <class Of>
class basic_heap_of : public testing::Test {
protected:
  Of of_;
};
using policies = testing::Types<of_any, of_process>;
TYPED_TEST_SUITE(basic_heap_of, policies);

/// Huge blocks of one thread, each with a number at both ends.
template <class Heap>
class huge_blocks {
public:
  explicit huge_blocks(Heap& heap, unsigned seed) : heap_(heap), random_(seed) {}
  ~huge_blocks() {
    for (block& each : blocks_) give(each);
  }

  void change_one() {
    block& each = blocks_[random_() % blocks_.size()];
    const std::size_t bytes = (std::size_t{5} << 20) + random_() % (std::size_t{30} << 20);
    switch (random_() % 4) {
      case 0: return give(each);
      case 1: heap_.trim(); [[fallthrough]];
      default: return take(each, bytes);
    }
  }

private:
  struct block {
    unsigned char* data = nullptr;
    std::size_t bytes = 0;
    unsigned char number = 0;
  };

  void take(block& each, std::size_t bytes) {
    expect_intact(each);
    each.data = static_cast<unsigned char*>(heap_.reallocate(each.data, bytes));
    ASSERT_TRUE(each.data != nullptr && (each.bytes == 0 || each.data[0] == each.number)) << "moved with its contents";
    each.bytes = bytes;
    each.data[0] = each.data[bytes - 1] = each.number = static_cast<unsigned char>(random_());
  }
  void give(block& each) {
    expect_intact(each);
    heap_.deallocate(each.data);
    each = {};
  }
  static void expect_intact(const block& each) {
    if (each.bytes != 0) EXPECT_TRUE(each.data[0] == each.number && each.data[each.bytes - 1] == each.number);
  }

  Heap& heap_;
  std::minstd_rand random_;
  std::array<block, 6> blocks_ = {};
};

TYPED_TEST(basic_heap_of, serves_huge_blocks_of_threads_that_take_move_and_free_them_at_once) {
  if (sizeof(void*) == 4) GTEST_SKIP() << "no address space for that";
  auto& heap = this->of_.heap();
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed)
    threads.emplace_back([&heap, seed] {
      huge_blocks mine(heap, seed);
      for (std::size_t left = ashlar_test::stress_rounds(400); left != 0; --left) mine.change_one();
    });
  for (std::thread& each : threads) each.join();
  EXPECT_TRUE(heap.invariant());
}

// A thread that the system keeps busy makes no other wait: another takes and frees huge blocks and segments meanwhile.
TEST(basic_heap, calls_the_system_for_huge_blocks_without_a_lock_that_others_need) {
  struct during;
  constexpr std::size_t huge = std::size_t{5} << 20, most = std::size_t{1} << 20;
  auto& others = ashlar_test::interleaved_calls<during>::others;
  ashlar::heap<ashlar_test::interleaved_pages<during, ashlar::fresh::by_wish>> heap({.retain_bytes = most});
  others.begin([&] {
    void* const p = heap.allocate(huge);
    heap.deallocate(heap.reallocate(p, 2 * huge));
    heap.deallocate(heap.allocate(most));
  });
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(heap.allocate(huge));  // the tables grow
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = heap.reallocate(blocks[i], (i % 4 + 1) * 3 * most);
  for (void* const each : blocks) heap.deallocate(each);
  void* const p = heap.allocate(3 * huge);  // of spare blocks
  heap.deallocate(p);
  others.end();
  EXPECT_GT(others.meetings, 40u);
  EXPECT_EQ(others.waits, 0u);
  EXPECT_TRUE(heap.invariant());
  heap.trim();
  EXPECT_EQ(heap.held_bytes(), 0u);
}

#if !defined(_WIN32)
TEST(basic_heap, goes_on_in_parent_and_child_of_a_fork_after_its_release) {
  constexpr std::size_t huge = std::size_t{5} << 20;
  ashlar::heap<> heap;
  static_cast<void>(heap.allocate(huge));
  heap.release();
  const auto works = [&] {
    void* const p = heap.try_allocate(huge);
    heap.deallocate(p);
    return p != nullptr && heap.invariant();
  };
  EXPECT_TRUE(ashlar_test::child_does(works) && works());
}

// A request that is refused waits for calls of other threads, of which the child of a fork has none.
TEST(basic_heap, refuses_at_once_in_the_child_of_a_fork_during_refusals) {
  constexpr std::size_t most = std::size_t{64} << 20;
  ashlar::heap<> heap({.max_bytes = most});
  std::atomic<bool> is_over = false;
  const auto take_and_free = [&] {
    while (!is_over) heap.deallocate(heap.try_allocate(most / 3));
  };
  std::array<std::thread, 4> threads;
  for (std::thread& each : threads) each = std::thread(take_and_free);
  const auto is_refused = [&] {
    heap.deallocate(heap.try_allocate(most / 3));
    return heap.try_allocate(2 * most) == nullptr && heap.invariant();
  };
  for (int forks = 0; forks < 10; ++forks) EXPECT_TRUE(ashlar_test::child_does(is_refused));
  is_over = true;
  for (std::thread& each : threads) each.join();
  EXPECT_TRUE(heap.invariant());
}
#endif

}  // namespace
