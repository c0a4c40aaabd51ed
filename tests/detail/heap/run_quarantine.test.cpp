// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the quarantine of runs: first in, first out, and bounded by number and by slices.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/run_quarantine.hpp>
#include <ashlar/detail/heap/span_header.hpp>

namespace {

using ashlar::detail::span_header;
using quarantine = ashlar::detail::run_quarantine<span_header>;

struct run_quarantine : ::testing::Test {
  void put(std::size_t i, std::size_t length) {
    runs[i].length = static_cast<std::uint8_t>(length);
    waiting.put(runs[i], [&](span_header& run) { left.push_back(static_cast<std::size_t>(&run - runs.data())); });
  }

  std::vector<span_header> runs = std::vector<span_header>(200);
  std::vector<std::size_t> left;
  quarantine waiting;
};

TEST_F(run_quarantine, the_first_leaves_first_when_there_are_too_many) {
  for (std::size_t i = 0; i < 200; ++i) {
    put(i, 1);
    EXPECT_TRUE(runs[i].is_available);
    ASSERT_EQ(left.size(), i < quarantine::most_runs ? 0 : i + 1 - quarantine::most_runs);
  }
  for (std::size_t i = 0; i < left.size(); ++i) EXPECT_TRUE(left[i] == i && !runs[i].is_available);
}

TEST_F(run_quarantine, holds_no_more_slices_than_its_bound_and_one_run_of_any_length) {
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

}  // namespace
