// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of TLSF: its bins, the index of free blocks, the poison in them, and blocks rebuilt from their sizes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/tlsf_scale.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/tlsf/tlsf_block.hpp>
#include <ashlar/detail/tlsf/tlsf_index.hpp>
#include <ashlar/detail/tlsf/tlsf_poison.hpp>
#include <ashlar/detail/tlsf/tlsf_rebuildable.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

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

using ashlar::detail::tlsf_block;
using poison = ashlar::detail::tlsf_poison_kept;

class tlsf_poisons : public ::testing::Test {
protected:
  ~tlsf_poisons() override { ashlar::detail::mark_live(memory_.data(), memory_.size()); }

  tlsf_block block() { return tlsf_block(ashlar::detail::align_up(memory_.data() + 64, tlsf_block::granule)); }

  // A free block that was in use as a whole.
  tlsf_block used(std::size_t stride) {
    const tlsf_block made = block();
    const poison freed = poison::of_freed(made.data(), made.data() + stride - tlsf_block::header_bytes);
    freed.keep_in(made, stride);
    return made;
  }

  static void write(std::byte* at) {
    ashlar::detail::mark_readable(at, 1);
    *at ^= std::byte{1};
  }

  // Returns: whether a write to byte `at` is detected; it is undone.
  static bool is_noticed(const tlsf_block& block, std::size_t stride, std::size_t at) {
    write(block.data() + at);
    const bool noticed = !poison::is_intact(block, stride);
    write(block.data() + at);
    return noticed;
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(256 * 1024);
};

constexpr std::size_t tags = tlsf_block::header_bytes + tlsf_block::footer_bytes;

TEST_F(tlsf_poisons, a_write_to_any_byte_of_a_used_block_is_noticed_links_and_footer_apart) {
  for (const std::size_t stride :
       {tlsf_block::least, std::size_t{64}, std::size_t{112}, std::size_t{128}, std::size_t{400}}) {
    const tlsf_block dead = used(stride);
    ASSERT_TRUE(poison::is_intact(dead, stride));
    for (std::size_t at = poison::links_bytes; at < stride - tags; ++at)
      EXPECT_TRUE(is_noticed(dead, stride, at)) << stride << ' ' << at;
    EXPECT_FALSE(is_noticed(dead, stride, 0));
    EXPECT_FALSE(is_noticed(dead, stride, stride - tags));
  }
}

TEST_F(tlsf_poisons, a_region_never_handed_out_holds_none_and_is_not_touched) {
  const tlsf_block dead = block();
  poison::of_region(dead, 4096).keep_in(dead, 4096);
  EXPECT_TRUE(poison::is_intact(dead, 4096));
  EXPECT_TRUE(is_noticed(dead, 4096, poison::links_bytes)) << "the record";
  for (std::size_t at = poison::start_bytes; at < 4096; ++at) EXPECT_FALSE(is_noticed(dead, 4096, at));
}

TEST_F(tlsf_poisons, of_a_large_block_start_and_end_hold_some) {
  constexpr std::size_t stride = 200'000;
  const tlsf_block dead = used(stride);
  EXPECT_TRUE(is_noticed(dead, stride, poison::most_at_start - 1));
  EXPECT_FALSE(is_noticed(dead, stride, poison::most_at_start));
  EXPECT_FALSE(is_noticed(dead, stride, stride / 2));
  EXPECT_TRUE(is_noticed(dead, stride, stride - tlsf_block::header_bytes - poison::most_at_end));
}

TEST_F(tlsf_poisons, a_small_rest_of_a_region_is_poisoned_for_want_of_a_record) {
  const tlsf_block dead = block();
  poison::of_region(dead, 4096).keep_in(dead, 96);
  for (std::size_t at = poison::links_bytes; at < 96 - tags; ++at) EXPECT_TRUE(is_noticed(dead, 96, at));
}

TEST_F(tlsf_poisons, two_blocks_that_are_joined_are_poisoned_across_the_seam) {
  const tlsf_block front = used(160);
  const tlsf_block behind = front.behind(160);
  poison::of_freed(behind.data(), behind.data() + 240 - tlsf_block::header_bytes).keep_in(behind, 240);
  poison joined;
  joined.add_block(front, 160);
  joined.add_block(behind, 240);
  poison::poison_start(behind);
  poison::poison_seam(behind);
  joined.keep_in(front, 400);
  EXPECT_TRUE(poison::is_intact(front, 400));
  for (std::size_t at = poison::links_bytes; at < 400 - tags; ++at) EXPECT_TRUE(is_noticed(front, 400, at)) << at;
}

TEST_F(tlsf_poisons, what_lies_between_bare_bytes_is_bare) {
  const tlsf_block all = block();
  poison joined = poison::of_region(all, 1024);
  joined.add(poison::of_region(all.behind(2048), 1024));
  joined.add({});
  poison::of_freed(all.data(), all.data() + 4096).keep_in(all, 4096);
  joined.keep_in(all, 4096);
  EXPECT_TRUE(poison::is_intact(all, 4096));
  EXPECT_FALSE(is_noticed(all, 4096, 500));
  EXPECT_FALSE(is_noticed(all, 4096, 1500));
  EXPECT_TRUE(is_noticed(all, 4096, 3500));
}

TEST_F(tlsf_poisons, reports_the_byte_that_was_written_to) {
  const tlsf_block dead = used(400);
  poison::verify(dead, 400, this);
  write(dead.data() + 200);
  poison::verify_part(dead, 400, dead.data(), dead.data() + 200, this);
  poison::verify_part(dead, 400, dead.data() + 201, dead.data() + 1000, this);
  constexpr const char* line = "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource 0x*, size 392";
  ASHLAR_EXPECT_DEATH(poison::verify(dead, 400, this), line);
  ASHLAR_EXPECT_DEATH(poison::verify_part(dead, 400, dead.data() + 200, dead.data() + 201, this), line);
}

using space = ashlar::detail::tlsf_rebuildable<ashlar::interprocess::no_steps>;
using link = space::link;

constexpr link units = 1024;

class tlsf_rebuildable_test : public ::testing::Test {
protected:
  alignas(16) std::array<std::byte, units * space::unit> memory_{};
  space::links all_{memory_.data()};
  space blocks_{all_, 1, units};
};

TEST_F(tlsf_rebuildable_test, hands_out_and_joins_all) {
  const link whole = blocks_.largest_free(all_);
  std::mt19937 random(7);
  const auto below = [&](link n) { return std::uniform_int_distribution<link>(0, n - 1)(random); };
  std::vector<link> live;
  for (int step = 0; step < 5000; ++step) {
    if (below(2) == 0 || live.empty()) {
      const link got = blocks_.allocate(all_, 2 + below(20), link{1} << below(4), 9);
      if (got != space::none) live.push_back(got);
    } else {
      std::swap(live[below(static_cast<link>(live.size()))], live.back());
      if (below(3) == 0) static_cast<void>(blocks_.try_expand(all_, live.back(), 2 + below(20)));
      else blocks_.deallocate(all_, live.back()), live.pop_back();
    }
    ASSERT_TRUE(blocks_.invariant(all_)) << step;
    ASSERT_EQ(blocks_.live(), live.size());
  }
  for (const link each : live) blocks_.deallocate(all_, each);
  EXPECT_EQ(blocks_.largest_free(all_), whole);
  EXPECT_EQ(blocks_.used(), 0u);
}

TEST_F(tlsf_rebuildable_test, rebuilds_all_but_the_sizes) {
  std::vector<link> live;
  for (link i = 0; i < 40; ++i) live.push_back(blocks_.allocate(all_, 2 + i % 7, 1, i));
  for (std::size_t i = 0; i < live.size(); i += 2) blocks_.deallocate(all_, live[i]);
  const link used = blocks_.used();
  blocks_.for_each_block(all_, [&](link block) {
    all_.at(block).front = all_.at(block).previous_or_mark = 0xDEAD'BEEF;
    if (all_.is_free(block)) all_.at(block).next_or_owner = 0xDEAD'BEEF;
    return true;
  });
  EXPECT_FALSE(blocks_.invariant(all_));
  EXPECT_TRUE(blocks_.rebuild(all_));
  EXPECT_TRUE(blocks_.invariant(all_));
  EXPECT_EQ(blocks_.used(), used);
  EXPECT_EQ(all_.at(live[1]).next_or_owner, 1u);
}

TEST_F(tlsf_rebuildable_test, refuses_sizes_that_do_not_lead_to_the_end) {
  const link block = blocks_.allocate(all_, 5, 1, 0);
  for (const std::uint32_t bad : {0u, units, space::header::live_bit, ~0u}) {
    all_.at(block).size_and_state = bad;
    EXPECT_FALSE(blocks_.rebuild(all_));
    EXPECT_EQ(blocks_.allocate(all_, 2, 1, 0), space::none);
  }
}

}  // namespace
