// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of canaries, of blocks without bytes, of the window table, and of spans that wait.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/span_guards.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/heap/zero_blocks.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar_test::caught_in;

TEST(block_canary, every_byte_of_the_poison_counts) {
  std::array<std::byte, 5000> dead{};
  for (const std::size_t held : {1u, 7u, 16u, 64u, 72u, 128u, 511u, 512u, 519u, 4096u, 4800u}) {
    ashlar::detail::poison_block(dead.data(), held);
    const auto look = [&] { ashlar::detail::verify_poison(dead.data(), held, held, &dead); };
    EXPECT_FALSE(caught_in(look).has_value());
    for (std::size_t at = 0; at < dead.size(); ++at) {
      const std::byte was = dead[at];
      dead[at] ^= std::byte{1};
      const auto seen = caught_in(look);
      ASSERT_EQ(seen.has_value(), at < held) << at;
      dead[at] = was;
      if (!seen) continue;
      EXPECT_EQ(seen->kind, ashlar::fault::corrupt_link);
      EXPECT_EQ(seen->pointer, dead.data());
      EXPECT_EQ(seen->resource, &dead);
      EXPECT_EQ(seen->size, held);
    }
  }
}

TEST(block_canary, an_overflow_reports_its_extent) {
  if (ashlar_test::has_asan) GTEST_SKIP() << "the slack is marked, and this test writes to it";
  std::array<std::byte, 128> block{};
  ashlar::detail::mark_readable(block.data(), block.size());
  for (std::size_t at = 100; at < block.size(); ++at)  // no level but hardened writes one itself
    block[at] = static_cast<std::byte>(ashlar::detail::canary_secret::byte(&block[at]));
  const auto look = [&] { ashlar::detail::expect_canary(block.data(), 100, 128, &block); };
  EXPECT_FALSE(caught_in(look).has_value());
  block[99] = std::byte{0xFF};
  EXPECT_FALSE(caught_in(look).has_value());
  block[107] ^= std::byte{0x80};
  const auto seen = caught_in(look);
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, ashlar::fault::overflow);
  EXPECT_EQ(seen->expected, 100u);
  EXPECT_EQ(seen->got, 108u);
}

using ashlar::fault;
using small_range = ashlar::detail::zero_block_range<128>;

class zero_blocks : public ::testing::Test {
protected:
  void expect_fault(fault kind, const void* p) {
    const auto seen = caught_in([&] { range.give(p, &range); });
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->kind, kind) << seen->what;
    EXPECT_EQ(seen->pointer, p);
    EXPECT_EQ(seen->resource, &range);
  }

  small_range range;
};

TEST_F(zero_blocks, are_as_many_as_the_range_has_and_no_two_alike) {
  std::set<void*> live;
  EXPECT_FALSE(range.has(&range));
  for (int i = 0; i < 128; ++i) live.insert(range.take());
  EXPECT_EQ(live.size(), 128u);
  EXPECT_EQ(live.count(nullptr), 0u);
  EXPECT_EQ(range.take(), nullptr) << "all are live";
  for (void* const p : live) {
    EXPECT_TRUE(range.has(p));
    EXPECT_TRUE(ashlar::is_aligned(p, 16));
    range.give(p, 0, &range);
  }
  EXPECT_NE(range.take(), nullptr);
}

TEST_F(zero_blocks, come_again_after_all_others) {
  void* const first = range.take();
  range.give(first, &range);
  for (int i = 1; i < 128; ++i) {
    void* const next = range.take();
    EXPECT_NE(next, first);
    range.give(next, &range);
  }
  EXPECT_EQ(range.take(), first);
}

TEST_F(zero_blocks, have_no_memory_in_the_object) {
  EXPECT_EQ(sizeof(small_range), sizeof(ashlar::detail::zero_block_range<std::size_t{1} << 20>));
}

TEST_F(zero_blocks, misuse_is_reported) {
  auto* const p = static_cast<std::byte*>(range.take());
  expect_fault(fault::misaligned_free, p + 1);
  expect_fault(fault::double_free, p + 16);
  const auto seen = caught_in([&] { range.give(p, 8, &range); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::size_mismatch);
  range.give(p, &range);
  expect_fault(fault::double_free, p);
}

using ashlar::detail::span_header;
using quarantine = ashlar::detail::span_quarantine<span_header>;

struct span_quarantine : ::testing::Test {
  void put(std::size_t i, std::size_t length) {
    runs[i].length = static_cast<std::uint8_t>(length);
    waiting.put(runs[i], [&](span_header& run) { left.push_back(static_cast<std::size_t>(&run - runs.data())); });
  }

  std::vector<span_header> runs = std::vector<span_header>(200);
  std::vector<std::size_t> left;
  quarantine waiting;
};

TEST_F(span_quarantine, the_first_leaves_first_when_there_are_too_many) {
  for (std::size_t i = 0; i < 200; ++i) {
    put(i, 1);
    EXPECT_TRUE(runs[i].is_available);
    ASSERT_EQ(left.size(), i < quarantine::most_spans ? 0 : i + 1 - quarantine::most_spans);
  }
  for (std::size_t i = 0; i < left.size(); ++i) EXPECT_TRUE(left[i] == i && !runs[i].is_available);
}

TEST_F(span_quarantine, holds_no_more_slices_than_its_bound_and_one_run_of_any_length) {
  for (std::size_t i = 0; i < 40; ++i) {
    put(i, 60);
    EXPECT_LE(waiting.slices(), quarantine::most_slices);
  }
  EXPECT_EQ(waiting.slices(), 240u);
  std::size_t seen = 0;
  waiting.for_each([&](const span_header& run) { seen += run.length; });
  EXPECT_EQ(seen, 240u);
  waiting.clear([](const span_header& run) { EXPECT_FALSE(run.is_available); });
  EXPECT_EQ(waiting.slices(), 0u);
}

using ashlar::detail::window_bytes;

[[nodiscard]] const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(window_table, has_what_has_entered_and_not_left) {
  const auto table = std::make_unique<ashlar::detail::window_table>();
  constexpr std::uintptr_t start = 65 * window_bytes;
  table->enter(at(start));
  EXPECT_TRUE(table->has(at(start)) && table->has(at(start + window_bytes - 1)));
  EXPECT_FALSE(table->has(at(start - 1)) || table->has(at(start + window_bytes)) || table->has(nullptr));
  EXPECT_FALSE(table->has(at(static_cast<std::uintptr_t>(-1)))) << "beyond the table";
  table->enter(at(start + window_bytes));
  table->leave(at(start));
  EXPECT_FALSE(table->has(at(start)));
  EXPECT_TRUE(table->has(at(start + window_bytes)));
}

}  // namespace
