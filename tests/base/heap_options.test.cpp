// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the options of heaps: the defaults, and what the limit counts.
#include <ashlar/base/options.hpp>

#include <cstddef>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/adaptor/budget.hpp>
#include <ashlar/adaptor/limiting.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

TEST(heap_options, limit_nothing_but_what_is_kept) {
  constexpr ashlar::heap_options chosen{};
  EXPECT_EQ(chosen.max_bytes, ashlar::detail::max_size);
  EXPECT_EQ(chosen.retain_bytes, 16u << 20);
  EXPECT_GT(chosen.max_cached_cells, 0u);
}

constexpr std::size_t most = std::size_t{80} << 20;

TEST(heap_options, max_bytes_counts_tables) {
  ashlar_test::counting_resource<> upstream;
  ashlar::local_heap<ashlar::resource_ref<ashlar_test::counting_resource<>>> heap({.max_bytes = most}, upstream);
  while (heap.try_allocate(200'000) != nullptr) continue;
  EXPECT_GT(heap.table_bytes(), 0u);
  EXPECT_GT(heap.held_bytes(), most - ashlar::detail::segment_bytes);
  while (heap.try_allocate(std::size_t{5} << 20) != nullptr) continue;
  EXPECT_LE(upstream.peak().bytes, most);
  EXPECT_TRUE(heap.invariant());
}

TEST(heap_options, max_bytes_counts_tables_and_records_of_threads) {
  ashlar::shared_budget budget;
  ashlar::limiting<ashlar::page_resource, ashlar::shared_budget> upstream(budget);
  {
    ashlar::heap<ashlar::resource_ref<decltype(upstream)>> all({.max_bytes = most}, upstream);
    while (all.try_allocate(200'000) != nullptr) continue;
    std::thread([&] { EXPECT_EQ(all.try_allocate(std::size_t{5} << 20), nullptr); }).join();
    EXPECT_GT(all.held_bytes(), most - ashlar::detail::segment_bytes);
    EXPECT_LE(budget.peak(), most);
  }
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
