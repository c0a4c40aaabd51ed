// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the summary against one computed in the slow and obvious way, and of its table of sizes.
#include <ashlar/study/summariser.hpp>
#include <ashlar/study/summary.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/study/random_events.hpp"

namespace {

using ashlar::study::summarise;
using ashlar::study::trace_summary;
namespace trace = ashlar::trace;

/// Keeps every event and searches all of them.
struct obvious_summary {
  struct object {
    trace::event born;
    std::uint64_t allocated_before;
  };
  std::map<std::uint64_t, object> live;
  std::uint64_t allocations = 0, bytes = 0, frees = 0, failed = 0, unknown = 0, cross = 0, peak = 0, live_bytes = 0;
  std::map<std::uint32_t, std::uint64_t> site_bytes;
  std::vector<std::uint64_t> lifetimes, lifetimes_bytes;

  void release(std::uint64_t id, const trace::event& e) {
    const auto it = live.find(id);
    if (it == live.end()) return void(++unknown);
    ++frees;
    cross += it->second.born.thread != e.thread;
    lifetimes.push_back(e.time_ns - it->second.born.time_ns);
    lifetimes_bytes.push_back(bytes - it->second.allocated_before);
    live_bytes -= it->second.born.size;
    live.erase(it);
  }
  void add(const trace::event& e) {
    if (trace::is_release(e.op)) return release(e.object, e);
    if (!trace::is_allocation(e.op)) return;
    if (e.object == 0) return void(++failed);
    if (e.old_object != 0) release(e.old_object, e);
    live[e.object] = {e, bytes};
    ++allocations;
    bytes += e.size;
    live_bytes += e.size;
    site_bytes[e.stack] += e.size;
    peak = live_bytes > peak ? live_bytes : peak;
  }
};

TEST(summariser, agrees_with_the_obvious_one) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    ashlar_test::random_events source(seed, 10000), again(seed, 10000);
    const trace_summary s = summarise(source);
    obvious_summary o;
    while (const auto e = again.next()) o.add(*e);
    EXPECT_EQ(s.allocated.objects, o.allocations);
    EXPECT_EQ(s.allocated.bytes, o.bytes);
    EXPECT_EQ(s.frees, o.frees);
    EXPECT_EQ(s.failed, o.failed);
    EXPECT_EQ(s.unknown, o.unknown);
    EXPECT_EQ(s.cross_thread, o.cross);
    EXPECT_EQ(s.peak.bytes, o.peak);
    EXPECT_EQ(s.live.objects, o.live.size());
    EXPECT_EQ(s.live.bytes, o.live_bytes);
    ashlar::study::fine_histogram lifetimes;
    ashlar::study::coarse_histogram lifetimes_bytes;
    for (const std::uint64_t ns : o.lifetimes) lifetimes.record(ns);
    for (const std::uint64_t n : o.lifetimes_bytes) lifetimes_bytes.record(n);
    for (const double q : {0.1, 0.5, 0.9, 1.0}) {
      EXPECT_EQ(s.lifetimes_ns.quantile(q), lifetimes.quantile(q));
      EXPECT_EQ(s.lifetimes_bytes.quantile(q), lifetimes_bytes.quantile(q));
    }
    for (const auto& [stack, bytes] : o.site_bytes) EXPECT_EQ(s.sites.at(stack).allocated.bytes, bytes);
  }
}

TEST(summariser, parts_add_up) {
  ashlar_test::random_events source(99, 30000);
  const trace_summary s = summarise(source);
  std::uint64_t events = 0, allocations = 0, frees = 0, site_objects = 0, site_live = 0, sizes = 0;
  for (const std::uint64_t n : s.operations) events += n;
  for (const auto& [id, t] : s.threads) allocations += t.allocations, frees += t.frees;
  for (const auto& [id, site] : s.sites) site_objects += site.allocated.objects, site_live += site.live.bytes;
  for (const auto& row : s.sizes.rows()) sizes += row.sum.objects;
  EXPECT_EQ(events, 30000u);
  EXPECT_EQ(allocations, s.allocated.objects);
  EXPECT_EQ(frees, s.frees);
  EXPECT_EQ(site_objects, s.allocated.objects);
  EXPECT_EQ(site_live, s.live.bytes);
  EXPECT_EQ(sizes, s.allocated.objects);
  EXPECT_EQ(s.lifetimes_ns.count(), s.frees);
}

TEST(summariser, nothing_comes_to_nothing) {
  ashlar_test::random_events source(0, 0);
  const trace_summary s = summarise(source);
  EXPECT_EQ(s.allocated.objects, 0u);
  EXPECT_TRUE(s.threads.empty());
  EXPECT_TRUE(s.live_bytes.points().empty());
}

using ashlar::study::amount;
using ashlar::study::size_table;

TEST(summary, small_sizes_are_exact_and_large_ones_nearly) {
  size_table t;
  t.record(24);
  t.record(24);
  t.record(2047);
  t.record(1000000);
  const auto rows = t.rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].least, 24u);
  EXPECT_EQ(rows[0].greatest, 24u);
  EXPECT_EQ(rows[0].sum, (amount{2, 48}));
  EXPECT_EQ(rows[1].least, rows[1].greatest);
  EXPECT_LE(rows[2].least, 1000000u);
  EXPECT_GE(rows[2].greatest, 1000000u);
  EXPECT_LE(rows[2].greatest - rows[2].least, 1000u);
}

TEST(summary, the_largest_size_has_a_place) {
  size_table t;
  t.record(~std::uint64_t{0});
  EXPECT_EQ(t.rows().size(), 1u);
}

}  // namespace
