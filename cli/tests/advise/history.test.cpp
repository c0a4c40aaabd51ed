// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Live bytes and lanes over time, compared with plain recounts.
#include <random>

#include <gtest/gtest.h>

#include "cli/advise/history.hpp"

namespace {

using namespace ashlar;
using namespace ashlar::cli;

using by_stack = std::map<std::uint32_t, std::int64_t>;

/// Returns: the live bytes of each stack in each bin, stacks of 0 left out.
std::vector<by_stack> states(const live_history& history) {
  std::vector<by_stack> all;
  by_stack now;
  for (const live_history::bin& bin : history.bins()) {
    for (const live_history::change& c : bin.changes) now[c.stack] += c.bytes;
    std::erase_if(now, [](const auto& row) { return row.second == 0; });
    all.push_back(now);
  }
  return all;
}

std::int64_t sum(const by_stack& state) {
  std::int64_t bytes = 0;
  for (const auto& [stack, live] : state) bytes += live;
  return bytes;
}

/// Plays random births and deaths, and remembers the state after each event.
struct recount {
  struct moment {
    std::uint64_t time_ns;
    by_stack live;
  };

  recount(live_history& history, unsigned seed, int events, std::uint64_t step_ns) {
    std::mt19937 random(seed);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> alive;
    by_stack live;
    std::uint64_t now = 0;
    for (int i = 0; i < events; ++i) {
      now += random() % step_ns;
      if (random() % 50 == 0) now += 40 * step_ns;  // a pause
      const bool grows = random() % 1000 < 500 + (i * 7 / events % 2 == 0 ? 30U : 0U);
      if (alive.empty() || grows) {
        alive.emplace_back(1 + random() % 20, random() % 4096);
        history.born(alive.back().first, alive.back().second, now);
        history.settle();
        live[alive.back().first] += static_cast<std::int64_t>(alive.back().second);
      } else {
        std::swap(alive[random() % alive.size()], alive.back());
        history.died(alive.back().first, alive.back().second, random() % 2 == 0, now);
        live[alive.back().first] -= static_cast<std::int64_t>(alive.back().second);
        alive.pop_back();
      }
      moments.push_back({now, live});
    }
    end_ns = now;
  }

  /// Returns: the first state with the most bytes in [from, to); the one before it counts too, as it lasts into it.
  [[nodiscard]] by_stack most(std::uint64_t from, std::uint64_t to) const {
    by_stack best;
    std::int64_t bytes = 0;
    for (const moment& m : moments) {
      if (m.time_ns >= to) break;
      if (m.time_ns < from || sum(m.live) > bytes) bytes = sum(best = m.live);
    }
    std::erase_if(best, [](const auto& row) { return row.second == 0; });
    return best;
  }

  std::vector<moment> moments;
  std::uint64_t end_ns = 0;
};

class history_recount : public testing::TestWithParam<std::uint64_t> {};

TEST_P(history_recount, each_bin_is_its_moment_of_the_most_bytes) {
  live_history history(20);
  const recount plain(history, 7, 3000, GetParam());
  history.end_trace(plain.end_ns);
  history.finish();
  const auto seen = states(history);
  ASSERT_LE(seen.size(), live_history::most_bins);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const by_stack expected = plain.most(i * history.bin_ns(), (i + 1) * history.bin_ns());
    ASSERT_EQ(seen[i], expected) << "bin " << i << " of " << seen.size();
    ASSERT_EQ(static_cast<std::int64_t>(history.bins()[i].bytes), sum(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(steps, history_recount, testing::Values(2U, 60U, 1000U, 50'000U, 10'000'000U));

TEST(history, many_changes_leave_fewer_bins) {
  constexpr std::uint32_t stacks = 12'000;
  live_history history(stacks);
  for (std::uint64_t bin = 0; bin < 120; ++bin)
    for (std::uint32_t stack = 1; stack <= stacks; ++stack) {
      history.born(stack, 8, bin * 1024);
      history.settle();
    }
  history.end_trace(120 * 1024);
  history.finish();
  std::size_t changes = 0;
  for (const live_history::bin& bin : history.bins()) changes += bin.changes.size();
  EXPECT_LE(changes, live_history::most_changes + live_history::least_bins * 2 * std::size_t{stacks});
  EXPECT_EQ(sum(states(history).back()), std::int64_t{stacks} * 8 * 120);
}

trace::event at(std::uint64_t ns, std::uint32_t thread, trace::operation op, std::uint64_t size = 0) {
  trace::event e;
  e.time_ns = ns;
  e.thread = thread;
  e.op = op;
  e.size = size;
  return e;
}

TEST(lanes, spans_cover_their_bins_and_threads_have_names) {
  trace::name_table names;
  const auto frame = names.add("frame"), audio = names.add("audio");
  lane_history lanes;
  lanes.begin_trace(names);
  lanes.add(at(0, 1, trace::operation::thread_name, audio));
  lanes.add(at(512, 1, trace::operation::span_begin, frame));
  lanes.add(at(600, 1, trace::operation::malloc_, 8));
  lanes.add(at(2048, 1, trace::operation::malloc_, 8));
  lanes.add(at(2560, 1, trace::operation::span_end));
  lanes.add(at(2570, 1, trace::operation::span_end));  // of no span
  lanes.add(at(3072, 0, trace::operation::span_begin, 99));
  lanes.add(at(4096, 0, trace::operation::malloc_, 8));
  lanes.end_trace();
  ASSERT_EQ(lanes.threads().size(), 2U);
  EXPECT_EQ(lanes.threads().at(1).name, "audio");
  EXPECT_EQ(lanes.threads().at(1).counts, (std::vector<std::uint64_t>{1, 0, 1}));
  const lane_history::span_lane& frames = lanes.spans().at({1, "frame"});
  EXPECT_EQ(frames.spans, 1U);
  EXPECT_EQ(frames.total_ns, 2048U);
  EXPECT_EQ(frames.covered_ns, (std::vector<std::uint64_t>{512, 1024, 512}));
  EXPECT_EQ(lanes.spans().at({0, ""}).covered_ns, (std::vector<std::uint64_t>{0, 0, 0, 1024})) << "open to the end";
}

TEST(lanes, are_bounded) {
  trace::name_table names;
  lane_history lanes;
  for (int i = 0; i < 300; ++i) names.add("span " + std::to_string(i));
  lanes.begin_trace(names);
  std::uint64_t now = 0;
  for (std::uint32_t i = 0; i < 300; ++i) {
    lanes.add(at(now += 1'000'000'000, i, trace::operation::malloc_, 8));
    lanes.add(at(now, 0, trace::operation::span_begin, i + 1));
    lanes.add(at(now + 1'000'000, 0, trace::operation::span_end));
  }
  lanes.end_trace();
  EXPECT_EQ(lanes.threads().size(), lane_history::most_threads);
  EXPECT_EQ(lanes.spans().size(), lane_history::most_spans);
  EXPECT_EQ(lanes.spans_left_out(), 300 - lane_history::most_spans);
  for (const auto& [id, lane] : lanes.threads()) EXPECT_LE(lane.counts.size(), lane_history::most_bins);
}

}  // namespace
