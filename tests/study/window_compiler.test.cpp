// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the guarantees for a replay: a window fills and empties a slot at most once, and lanes keep their order.
#include <ashlar/study/window_compiler.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/study/random_events.hpp"

namespace {

using ashlar::detail::replay_counts;
using ashlar::detail::replay_kind;
using ashlar::detail::replay_op;
using ashlar::detail::replay_window;
using ashlar::detail::window_compiler;
using ashlar_test::listed_events;
namespace trace = ashlar::trace;

/// A copy of a compiled window.
struct window_copy {
  std::vector<std::vector<replay_op>> lanes;
};

struct compiled {
  std::vector<window_copy> windows;
  replay_counts counts;
};

template <class Source>
compiled compile(Source source, std::size_t window) {
  compiled out;
  window_compiler compiler(
      [&out](const replay_window& w) {
        window_copy copy;
        std::size_t at = 0;
        for (const std::uint32_t n : w.lane_counts) {
          copy.lanes.emplace_back(w.operations.begin() + static_cast<std::ptrdiff_t>(at),
                                  w.operations.begin() + static_cast<std::ptrdiff_t>(at + n));
          at += n;
        }
        EXPECT_EQ(at, w.operations.size());
        out.windows.push_back(copy);
      },
      window);
  while (const auto e = source.next()) compiler.add(*e);
  out.counts = compiler.finish();
  return out;
}

/// Slots in the view of a replay: the full ones before a window, and the window's effect on each.
class slot_checker {
public:
  void check(const window_copy& window) {
    std::map<std::uint32_t, int> filled, emptied;
    for (const auto& lane : window.lanes)
      for (const replay_op& op : lane) {
        if (op.request.kind() == replay_kind::end_thread) continue;
        const bool frees = op.request.kind() == replay_kind::deallocate;
        if (!frees) ++filled[op.slot];
        if (frees) ++emptied[op.slot];
        if (op.request.kind() == replay_kind::reallocate) ++emptied[op.old_slot];
      }
    for (const auto& [slot, n] : filled) {
      EXPECT_EQ(n, 1);
      EXPECT_FALSE(full_.contains(slot));
      full_.insert(slot);
    }
    for (const auto& [slot, n] : emptied) {
      EXPECT_EQ(n, 1);
      EXPECT_TRUE(full_.erase(slot) == 1) << "emptied, but never filled";
    }
  }
  [[nodiscard]] std::size_t full() const { return full_.size(); }

private:
  std::set<std::uint32_t> full_;
};

/// Runs the lanes in turn, one operation each if it can proceed. Returns: whether all of them reach their end.
bool completes(const window_copy& window, std::set<std::uint32_t>& full) {
  std::vector<std::size_t> at(window.lanes.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t lane = 0; lane < at.size(); ++lane) {
      if (at[lane] == window.lanes[lane].size()) continue;
      const replay_op op = window.lanes[lane][at[lane]];
      const bool ends = op.request.kind() == replay_kind::end_thread;
      const bool moves = op.request.kind() == replay_kind::reallocate;
      const std::uint32_t needs = moves ? op.old_slot : op.slot;
      if ((moves || op.request.kind() == replay_kind::deallocate) && full.erase(needs) == 0) continue;
      if (op.request.kind() != replay_kind::deallocate && !ends) full.insert(op.slot);
      moved = true;
      ++at[lane];
    }
  }
  for (std::size_t lane = 0; lane < at.size(); ++lane)
    if (at[lane] != window.lanes[lane].size()) return false;
  return true;
}

TEST(window_compiler, fills_and_empties_a_slot_at_most_once_a_window) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const compiled c = compile(ashlar_test::random_events(seed, 5000), 1 + seed * 37);
    slot_checker slots;
    std::set<std::uint32_t> full;
    for (const window_copy& w : c.windows) {
      slots.check(w);
      EXPECT_TRUE(completes(w, full)) << "a lane waits forever";
    }
    EXPECT_EQ(slots.full(), c.counts.never_freed);
    EXPECT_EQ(c.windows.size(), c.counts.windows);
  }
}

TEST(window_compiler, loses_nothing_and_counts_what_it_skips) {
  const compiled c = compile(ashlar_test::random_events(5, 20000), 256);
  ashlar_test::random_events again(5, 20000);
  std::uint64_t failed = 0, unknown = 0, operations = 0;
  while (const auto e = again.next()) {
    const bool fails = trace::is_allocation(e->op) && e->object == 0;
    const bool strays = trace::is_release(e->op) && e->object == 0;
    failed += fails;
    unknown += strays;
    operations += !fails && !strays && (trace::is_allocation(e->op) || trace::is_release(e->op));
  }
  EXPECT_EQ(c.counts.failed, failed);
  EXPECT_EQ(c.counts.unknown_objects, unknown);
  EXPECT_EQ(c.counts.operations, operations);
  EXPECT_EQ(c.counts.impossible, 0u);
}

TEST(window_compiler, lanes_keep_the_order_of_the_trace) {
  listed_events source;
  for (std::uint64_t i = 1; i <= 100; ++i)
    source.events.push_back({.thread = static_cast<std::uint32_t>(i % 3), .size = i, .object = i});
  const compiled c = compile(source, 7);
  std::vector<std::vector<std::uint64_t>> sizes(3);
  for (const window_copy& w : c.windows)
    for (std::size_t lane = 0; lane < w.lanes.size(); ++lane)
      for (const replay_op& op : w.lanes[lane]) sizes[lane].push_back(op.request.size());
  for (const auto& lane : sizes)
    for (std::size_t i = 1; i < lane.size(); ++i) EXPECT_EQ(lane[i], lane[i - 1] + 3);
  EXPECT_EQ(c.counts.lanes, 3u);
}

TEST(window_compiler, slots_stay_in_proportion_to_what_is_live) {
  const compiled c = compile(ashlar_test::random_events(1, 200000, 4, 100), 64);
  EXPECT_LE(c.counts.slot_count, 100u + 64u + 1u);
}

/// Threads 1 to 999, one after the other beside the first one, each with operations after its end.
TEST(window_compiler, an_ended_thread_passes_its_lane_on_but_for_the_first) {
  listed_events source{{{.size = 1, .object = 1}, {.op = trace::operation::thread_end}, {.size = 1, .object = 2}}};
  for (std::uint32_t thread = 1; thread < 1000; ++thread)
    source.events.insert(source.events.end(), {{.thread = thread, .size = 1, .object = 2 * thread + 1},
                                               {.thread = thread, .op = trace::operation::thread_end},
                                               {.thread = thread, .size = 1, .object = 2 * thread + 2},
                                               {.thread = thread, .op = trace::operation::thread_end}});
  source.events.push_back({.thread = ~std::uint32_t{0}, .size = 1, .object = 3000});
  const compiled c = compile(source, 1 << 20);
  EXPECT_EQ(c.counts.lanes, 2u);
  EXPECT_EQ(c.counts.ended, 999u);
  EXPECT_EQ(c.windows.at(0).lanes[0].size(), 2u);
}

TEST(window_compiler, impossible_events_are_counted_and_their_frees_are_strays) {
  using trace::operation;
  listed_events source{{{.size = std::uint64_t{1} << 63, .object = 1},
                        {.op = operation::free_, .object = 1},
                        {.op = operation::aligned_alloc_, .size = 8, .alignment = 24, .object = 2},
                        {.size = 8, .object = 3},
                        {.size = 8, .object = 3},
                        {.op = operation::free_, .object = 3},
                        {.op = operation::free_, .object = 3}}};
  const replay_counts counts = compile(source, 64).counts;
  EXPECT_EQ(counts.impossible, 3u);
  EXPECT_EQ(counts.unknown_objects, 2u);
  EXPECT_EQ(counts.operations, 2u);
}

TEST(window_compiler, frees_are_sized_where_the_size_is_right) {
  using trace::operation;
  listed_events source{{{.op = operation::new_, .size = 40, .object = 1},
                        {.op = operation::new_, .size = 24, .object = 2},
                        {.op = operation::new_, .size = 16, .object = 3},
                        {.op = operation::delete_, .size = 40, .object = 1},
                        {.op = operation::delete_, .size = 16, .object = 2},
                        {.op = operation::delete_, .object = 3}}};
  const compiled c = compile(source, 64);
  EXPECT_EQ(c.counts.sized_frees, 1u);
  std::vector<replay_kind> kinds;
  for (const replay_op& op : c.windows.at(0).lanes.at(0)) kinds.push_back(op.request.kind());
  EXPECT_EQ(std::vector<replay_kind>(kinds.begin() + 3, kinds.end()),
            (std::vector{replay_kind::deallocate_sized, replay_kind::deallocate, replay_kind::deallocate}));
}

TEST(window_compiler, a_reallocation_of_an_unknown_object_is_an_allocation) {
  listed_events source{{{.op = trace::operation::realloc_, .size = 8, .object = 1, .old_object = 99}}};
  const compiled c = compile(source, 64);
  ASSERT_EQ(c.counts.operations, 1u);
  EXPECT_EQ(c.windows[0].lanes[0][0].request.kind(), replay_kind::allocate);
  EXPECT_EQ(c.counts.unknown_objects, 1u);
}

}  // namespace
