// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the watch over the cells of a slab: the time of each write, and the reports of each check.
#include <ashlar/detail/slab/cell_watch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slack.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_geometry.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/death/caught.hpp"

namespace {

using ashlar::fault;
using ashlar::detail::cell_watch;
using ashlar::detail::slab;
using ashlar_test::caught_in;

constexpr std::size_t slab_bytes = 4096;

class cell_watch_test : public ::testing::Test {
protected:
  cell_watch_test() {
    std::ranges::fill(memory_.bytes, std::byte{0x11});
    std::byte* const header = geometry_.header_of(memory_.bytes);
    home_ = slab::format(header, this, geometry_.cells_of(header), geometry_.capacity(memory_.bytes));
  }

  void SetUp() override {
    if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "cells are watched at hardened";
  }

  [[nodiscard]] std::byte* at(std::uint32_t cell) const { return home_->cells + cell * geometry_.cell_stride(); }

  /// Effects: hands out `cell`, which must be the lowest free one.
  std::byte* hand_out(std::uint32_t cell) {
    static_cast<void>(home_->take_cell(cell));
    watch().hand_out(cell);
    return at(cell);
  }

  void poison(std::uint32_t cell) {
    watch().poison(cell);
    home_->set_free(cell);
  }

  [[nodiscard]] cell_watch watch() const { return {geometry_, home_}; }

  /// Returns: the report of `look` after one changed byte, which is restored afterwards.
  template <class F>
  [[nodiscard]] std::optional<fault> reported_by(std::byte* byte, F look) {
    ashlar::detail::mark_readable(byte, 1);
    *byte ^= std::byte{1};
    const auto seen = caught_in(look);
    ashlar::detail::mark_readable(byte, 1);
    *byte ^= std::byte{1};
    return seen ? std::optional(seen->kind) : std::nullopt;
  }

  struct alignas(slab_bytes) slab_memory {
    std::byte bytes[slab_bytes];
  };

  slab_memory memory_;
  ashlar::detail::slab_geometry geometry_{
      {.cell_bytes = 48, .cell_alignment = 8, .slab_bytes = slab_bytes, .header_bytes = sizeof(slab)}};
  slab* home_ = nullptr;
};

TEST_F(cell_watch_test, a_cell_never_handed_out_is_not_touched) {
  hand_out(0);
  for (std::byte* byte = at(1); byte != at(2); ++byte) EXPECT_EQ(*byte, std::byte{0x11});
  EXPECT_FALSE(caught_in([&] { watch().sweep(); }).has_value());
}

TEST_F(cell_watch_test, both_sides_of_a_live_cell_are_seen) {
  for (const std::uint32_t cell : {0u, 5u, 4u, 6u, home_->capacity - 1}) {
    std::byte* const p = hand_out(cell);
    const auto look = [&] { watch().expect_guards(cell); };
    EXPECT_FALSE(caught_in(look).has_value());
    EXPECT_EQ(reported_by(p - 1, look), fault::underflow) << cell;
    EXPECT_EQ(reported_by(p + 48, look), fault::overflow) << cell;
    EXPECT_EQ(reported_by(p + 55, look), fault::overflow) << cell;
  }
}

// The first of two neighbours handed out writes the guard between them; the second must not rewrite a damaged one.
TEST_F(cell_watch_test, a_neighbour_does_not_cover_up_what_was_written) {
  std::byte* const p = hand_out(5);
  ashlar::detail::mark_readable(p - 1, 1);
  p[-1] = std::byte{0};
  ashlar::detail::mark_readable(p + 48, 1);
  p[48] = std::byte{0};
  hand_out(4);
  hand_out(6);
  const auto seen = caught_in([&] { watch().expect_guards(5); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::underflow);
  EXPECT_EQ(seen->pointer, p);
  EXPECT_EQ(seen->resource, this);
}

TEST_F(cell_watch_test, every_byte_of_a_dead_cell_is_seen_when_it_comes_again_and_when_it_is_swept) {
  std::byte* const p = hand_out(3);
  poison(3);
  for (std::size_t byte = 0; byte < 48; ++byte) {
    EXPECT_EQ(reported_by(p + byte, [&] { watch().hand_out(3); }), fault::corrupt_link);
    EXPECT_EQ(reported_by(p + byte, [&] { watch().sweep(); }), fault::corrupt_link);
  }
  EXPECT_FALSE(caught_in([&] { hand_out(3); }).has_value());
}

TEST_F(cell_watch_test, a_run_is_one_block) {
  for (std::uint32_t cell = 2; cell < 6; ++cell) static_cast<void>(home_->take_cell(cell));
  watch().hand_out_run(2, 4);
  std::fill_n(at(2), 4 * 48, std::byte{0x22});
  const auto look = [&] { watch().expect_guards_of_run(2, 4); };
  EXPECT_FALSE(caught_in(look).has_value());
  EXPECT_EQ(reported_by(at(2) - 1, look), fault::underflow);
  for (std::byte* byte = at(2) + 4 * 48; byte != at(6); ++byte) EXPECT_EQ(reported_by(byte, look), fault::overflow);
  watch().poison_run(2, 4);
  for (std::uint32_t cell = 2; cell < 6; ++cell) home_->set_free(cell);
  EXPECT_FALSE(caught_in([&] { watch().sweep(); }).has_value());
}

TEST_F(cell_watch_test, a_request_smaller_than_its_cell_leaves_a_canary) {
  std::byte* const p = hand_out(0);
  EXPECT_EQ(ashlar::detail::with_slack(geometry_, p, 40), p);
  ashlar::detail::mark_readable(p, 48);
  EXPECT_TRUE(ashlar::detail::look_at_slack(p, 40, 48).is_intact);
  p[40] ^= std::byte{1};
  EXPECT_FALSE(ashlar::detail::look_at_slack(p, 40, 48).is_intact);
  EXPECT_EQ(ashlar::detail::with_slack(geometry_, nullptr, 40), nullptr);
}

}  // namespace
