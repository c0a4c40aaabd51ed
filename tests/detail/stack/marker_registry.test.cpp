// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the registry that tells stale markers from valid ones.
#include <algorithm>
#include <cstddef>
#include <random>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/stack/marker_registry.hpp>

namespace {

using ashlar::detail::mark_ticket;
using ashlar::detail::marker_registry;

TEST(marker_registry, a_marker_is_good_until_an_older_one_is_gone_back_to) {
  marker_registry book;
  const mark_ticket outer = book.open();
  const mark_ticket inner = book.open();
  EXPECT_TRUE(book.is_good(outer) && book.is_good(inner));
  book.close_after(inner);
  EXPECT_TRUE(book.is_good(outer) && book.is_good(inner));  // checking a marker does not change it
  book.close_after(outer);
  EXPECT_TRUE(book.is_good(outer));
  EXPECT_FALSE(book.is_good(inner));
  const mark_ticket instead = book.open();
  EXPECT_TRUE(book.is_good(instead));
  EXPECT_FALSE(book.is_good(inner));
  book.close_all();
  EXPECT_FALSE(book.is_good(outer) || book.is_good(instead) || book.is_good({}));
}

// Against a plain stack of all valid markers: no valid one is reported, and none above the top is accepted.
TEST(marker_registry, agrees_with_a_stack_of_all_markers) {
  std::mt19937 random(1);
  marker_registry book;
  std::vector<mark_ticket> good, all;
  for (int step = 0; step < 20'000; ++step) {
    if (good.empty() || random() % 8 != 0) {
      all.push_back(book.open());
      good.push_back(all.back());
    } else {
      good.resize(good.size() - random() % std::min<std::size_t>(good.size(), 20));
      book.close_after(good.back());
    }
    const mark_ticket& any = all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 50)];
    const bool is_good = std::ranges::any_of(good, [&](const mark_ticket& g) { return g.number == any.number; });
    if (is_good || any.depth > good.size()) {
      EXPECT_EQ(book.is_good(any), is_good);
    }
  }
}

TEST(marker_registry, costs_nothing_without_checks) {
  EXPECT_TRUE(std::is_empty_v<ashlar::detail::no_marker_registry> &&
              std::is_empty_v<ashlar::detail::no_marker_registry::ticket>);
  ashlar::detail::no_marker_registry book;
  EXPECT_TRUE(book.is_good(book.open()));
}

}  // namespace
