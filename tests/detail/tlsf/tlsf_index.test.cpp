// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the bins of TLSF, and of the index of free blocks against a sorted list.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/tlsf_scale.hpp>
#include <ashlar/detail/tlsf/tlsf_index.hpp>

#include "tests/support/build.hpp"

namespace {

using drawn = ashlar::tlsf_scale<0, 8, 2>;  // the scale of the drawing

template <class Scale>
class tlsf_scales : public ::testing::Test {};
using scales =
    ::testing::Types<drawn, ashlar::tlsf_scale<0, 32, 5>, ashlar::tlsf_scale<0, 63, 5>, ashlar::tlsf_scale<4, 40, 5>,
                     ashlar::tlsf_scale<3, 31, 5>, ashlar::tlsf_scale<4, 20, 4>, ashlar::tlsf_scale<0, 6, 0>>;
TYPED_TEST_SUITE(tlsf_scales, scales);

TYPED_TEST(tlsf_scales, bins_partition_the_sizes_in_order) {
  using scale = TypeParam;
  EXPECT_EQ(scale::least_of(0), 0u);
  for (unsigned bin = 1; bin < scale::bins; ++bin) {
    const std::uint64_t least = scale::least_of(bin);
    ASSERT_GT(least, scale::least_of(bin - 1));
    ASSERT_EQ(scale::bin_of(least), bin);
    ASSERT_EQ(scale::bin_of(least - 1), bin - 1);
  }
  EXPECT_EQ(scale::bin_of(scale::most), scale::bins - 1);
}

TYPED_TEST(tlsf_scales, each_block_of_the_bin_for_a_size_is_large_enough_and_none_below_is_sure_to_be) {
  using scale = TypeParam;
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::uint64_t size = random() >> (random() % 64);
    if (i < 300) size = static_cast<std::uint64_t>(i);
    else if (i < 1000) size = scale::least_of(static_cast<unsigned>(random() % scale::bins)) + random() % 3;
    size = std::min(size, scale::most);
    const unsigned bin = scale::bin_for(size);
    if (bin < scale::bins) EXPECT_GE(scale::least_of(bin), size);
    if (bin != 0) EXPECT_LT(scale::least_of(bin - 1), size) << size;
    EXPECT_LE(scale::bin_of(size), bin);
    EXPECT_LE(bin, scale::bin_of(size) + 1);
  }
}

TEST(tlsf_scale, is_as_drawn) {
  const std::array<std::uint64_t, 17> least = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32};
  for (unsigned bin = 0; bin < least.size(); ++bin) EXPECT_EQ(drawn::least_of(bin), least[bin]);
  EXPECT_EQ(drawn::bin_for(9u), drawn::bin_of(10u));
  EXPECT_GE(drawn::bin_for(255u), drawn::bins);  // no bin guarantees the largest size
}

using few = ashlar::tlsf_scale<0, 8, 2>;

// Numbered blocks in an array.
class numbered {
public:
  using link = std::uint32_t;
  static constexpr link none = ~link{0};

  struct block {
    std::uint64_t size = 0;
    link next = 7, previous = 7;
    bool is_in = false;
  };
  std::vector<block> blocks = std::vector<block>(64);

  [[nodiscard]] link next(link at) const noexcept { return blocks[at].next; }
  [[nodiscard]] link previous(link at) const noexcept { return blocks[at].previous; }
  [[nodiscard]] std::uint64_t size(link at) const noexcept { return blocks[at].size; }
  void set_next(link at, link to) noexcept { blocks[at].next = to; }
  void set_previous(link at, link to) noexcept { blocks[at].previous = to; }
};

template <class Scale>
void walk_at_random(unsigned seed) {
  numbered nodes;
  const auto made = std::make_unique<ashlar::detail::tlsf_index<Scale, numbered>>();
  auto& index = *made;
  std::multiset<std::uint64_t> sizes;
  std::mt19937_64 random(seed);
  for (int step = 0; step < (ashlar_test::is_slow ? 300 : 3000); ++step) {
    const auto at = static_cast<std::uint32_t>(random() % nodes.blocks.size());
    numbered::block& block = nodes.blocks[at];
    if (block.is_in) {
      index.remove(nodes, at, block.size);
      sizes.erase(sizes.find(block.size));
    } else {
      block.size = std::min<std::uint64_t>(random() >> (random() % 64), Scale::most);
      index.insert(nodes, at, block.size);
      sizes.insert(block.size);
    }
    block.is_in = !block.is_in;
    ASSERT_TRUE(index.invariant(nodes)) << step;
    ASSERT_EQ(index.count(nodes), sizes.size());
    ASSERT_EQ(index.empty(), sizes.empty());
    const std::uint64_t wanted = std::min<std::uint64_t>(random() >> (random() % 64), Scale::most);
    const auto found = index.find(wanted, wanted, [&](std::uint32_t each) { return nodes.size(each) >= wanted; });
    const unsigned sure = Scale::bin_for(wanted);
    const bool must = sure < Scale::bins && sizes.lower_bound(Scale::least_of(sure)) != sizes.end();
    ASSERT_TRUE(found != numbered::none || !must);
    if (found == numbered::none) continue;
    ASSERT_TRUE(nodes.blocks[found].is_in && nodes.size(found) >= wanted);
    // Good fit: from the bin of the best fit, unless some of its blocks are too small.
    const unsigned best = Scale::bin_of(*sizes.lower_bound(wanted));
    ASSERT_GE(Scale::bin_of(nodes.size(found)), best);
    if (best >= sure) ASSERT_EQ(Scale::bin_of(nodes.size(found)), best);
    ASSERT_EQ(Scale::bin_of(nodes.size(index.largest())), Scale::bin_of(*sizes.rbegin()));
  }
}

TEST(tlsf_index, agrees_with_a_sorted_list) {
  for (unsigned seed = 1; seed < 6; ++seed) {
    walk_at_random<ashlar::tlsf_scale<0, 63, 5>>(seed);
    walk_at_random<ashlar::tlsf_scale<0, 32, 5>>(seed);
    walk_at_random<few>(seed);
  }
}

TEST(tlsf_index, finds_what_came_last_where_room_is_short) {
  numbered nodes;
  ashlar::detail::tlsf_index<few, numbered> index;
  EXPECT_EQ(index.largest(), numbered::none);
  nodes.blocks[1].size = 17;
  index.insert(nodes, 1u, std::uint64_t{17});
  const auto all_fit = [](std::uint32_t) { return true; };
  const auto none_fits = [](std::uint32_t) { return false; };
  EXPECT_EQ(index.find(std::uint64_t{9}, std::uint64_t{17}, all_fit),
            1u);  // the bin for 17 is above, but this block fits
  EXPECT_EQ(index.find(std::uint64_t{9}, std::uint64_t{17}, none_fits), numbered::none);
  index.clear();
  EXPECT_TRUE(index.empty() && index.invariant(nodes));
}

TEST(tlsf_index, a_list_that_was_tampered_with_breaks_the_invariant) {
  numbered nodes;
  ashlar::detail::tlsf_index<few, numbered> index;
  for (std::uint32_t at = 0; at < 3; ++at) {
    nodes.blocks[at].size = 5;
    index.insert(nodes, at, std::uint64_t{5});
  }
  EXPECT_TRUE(index.invariant(nodes));
  nodes.blocks[1].size = 6;
  EXPECT_FALSE(index.invariant(nodes));
  nodes.blocks[1].size = 5;
  std::swap(nodes.blocks[1].next, nodes.blocks[1].previous);
  EXPECT_FALSE(index.invariant(nodes));
}

}  // namespace
