// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the calls that heaps for any thread share, under each threads policy.
#include <cstddef>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap_threads/basic_heap.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/process_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

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

TYPED_TEST(basic_heap_of, serves_the_blocks_of_one_thread_and_their_frees_by_another) {
  auto& heap = this->of_.heap();
  std::vector<void*> blocks;
  std::thread([&] {
    for (std::size_t bytes = 1; bytes < 300'000; bytes += bytes / 3 + 1) blocks.push_back(heap.allocate(bytes));
    for (void* const p : blocks) EXPECT_TRUE(heap.is_mine(p));
    std::thread([&] {
      for (void* const p : blocks) {
        EXPECT_TRUE(heap.owns(p));
        EXPECT_FALSE(heap.is_mine(p));
        heap.deallocate(p);
      }
    }).join();
  }).join();
  EXPECT_TRUE(heap.invariant());
}

TYPED_TEST(basic_heap_of, detaches_and_adopts) {
  auto& heap = this->of_.heap();
  void* p = nullptr;
  std::thread([&] {
    p = heap.allocate(100);
    auto moved = heap.detach();
    EXPECT_FALSE(heap.is_mine(p));
    std::thread([&] {
      heap.adopt(std::move(moved));
      EXPECT_TRUE(heap.is_mine(p));
      heap.deallocate(p);
    }).join();
  }).join();
  EXPECT_TRUE(heap.invariant());
}

TYPED_TEST(basic_heap_of, refuses_what_is_too_large) {
  auto& heap = this->of_.heap();
  EXPECT_EQ(heap.try_allocate(ashlar::detail::max_size), nullptr);
  EXPECT_EQ(heap.try_allocate(ashlar::detail::max_size / 2, 4096), nullptr);
}

}  // namespace
