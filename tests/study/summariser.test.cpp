// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the summary against one computed in the slow and obvious way, of its table of sizes, of what is counted
// within spans, and of timelines, which keep peaks, bound their points and carry values through silence.
#include <ashlar/study/summariser.hpp>
#include <ashlar/study/summary.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
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

using ashlar::study::span_summary;
using ashlar::study::span_table;
using trace::event;
using trace::operation;

span_table spans_of(const std::vector<event>& events) {
  ashlar::study::summariser all;
  for (const event& e : events) all.add(e);
  return all.finish().spans;
}

event begins(std::uint64_t ns, std::uint64_t name, std::uint32_t thread = 0) {
  return {.time_ns = ns, .thread = thread, .op = operation::span_begin, .size = name};
}
event ends(std::uint64_t ns, std::uint32_t thread = 0) {
  return {.time_ns = ns, .thread = thread, .op = operation::span_end};
}
event makes(std::uint32_t object, std::uint64_t bytes, std::uint32_t thread = 0) {
  return {.thread = thread, .op = operation::malloc_, .size = bytes, .object = object, .slot = object};
}
event frees(std::uint32_t object, std::uint32_t thread = 0) {
  return {.thread = thread, .op = operation::free_, .object = object, .slot = object};
}

TEST(spans, count_what_their_thread_allocates_within_them) {
  const span_table all = spans_of({makes(1, 1000), begins(10, 1), makes(2, 100), frees(2), makes(3, 30), makes(4, 7, 1),
                                   ends(15), makes(5, 9), begins(20, 1), makes(6, 50), ends(40)});
  ASSERT_EQ(all.by_name.size(), 1U);
  const span_summary& sum = all.by_name.at(1);
  EXPECT_EQ(sum.count(), 2U);
  EXPECT_EQ(sum.allocations, 3U);
  EXPECT_EQ(sum.most_allocations, 2U);
  EXPECT_EQ(sum.bytes, 180U);
  EXPECT_EQ(sum.most_bytes, 130U);
  EXPECT_EQ(sum.most_peak_bytes, 100U);
  EXPECT_EQ(sum.durations_ns.max(), 20U);
  EXPECT_EQ(all.unmatched_ends, 0U);
}

TEST(spans, include_those_within_them) {
  const span_table all = spans_of(
      {begins(0, 1), makes(1, 10), begins(5, 2), makes(2, 100), frees(2), ends(6), frees(1), makes(3, 20), ends(9)});
  EXPECT_EQ(all.by_name.at(2).most_peak_bytes, 100U);
  EXPECT_EQ(all.by_name.at(2).durations_ns.max(), 1U);
  EXPECT_EQ(all.by_name.at(1).allocations, 3U);
  EXPECT_EQ(all.by_name.at(1).most_peak_bytes, 110U);
  EXPECT_EQ(all.by_name.at(1).durations_ns.max(), 9U);
}

TEST(spans, of_threads_are_apart) {
  const span_table all = spans_of(
      {begins(0, 1, 0), begins(1, 1, 1), makes(1, 10, 1), makes(2, 20, 0), ends(3, 1), frees(1, 0), ends(4, 0)});
  EXPECT_EQ(all.by_name.at(1).count(), 2U);
  EXPECT_EQ(all.by_name.at(1).allocations, 2U);
  EXPECT_EQ(all.by_name.at(1).most_allocations, 1U);
}

TEST(spans, peak_counts_from_the_level_at_the_start) {
  const span_table all =
      spans_of({begins(0, 9), ends(0), makes(1, 500), begins(1, 1), frees(1), makes(2, 400), ends(2)});
  EXPECT_EQ(all.by_name.at(1).most_peak_bytes, 0U);
  EXPECT_EQ(all.by_name.at(1).most_bytes, 400U);
}

TEST(spans, without_an_end_or_a_beginning_are_counted_apart) {
  const span_table all = spans_of({ends(0), begins(1, 1), begins(2, 2), ends(3), makes(1, 5)});
  EXPECT_EQ(all.unmatched_ends, 1U);
  EXPECT_EQ(all.by_name.at(1).unended, 1U);
  EXPECT_EQ(all.by_name.at(1).count(), 0U);
  EXPECT_EQ(all.by_name.at(2).count(), 1U);
}

TEST(spans, realloc_counts_as_an_allocation_and_a_free) {
  event grows = makes(2, 80);
  grows.op = operation::realloc_;
  grows.old_object = grows.old_slot = 1;
  const span_table all = spans_of({begins(0, 1), makes(1, 50), grows, ends(1)});
  EXPECT_EQ(all.by_name.at(1).allocations, 2U);
  EXPECT_EQ(all.by_name.at(1).most_peak_bytes, 80U);
}

TEST(summariser, knows_names_and_peaks_of_threads) {
  ashlar::study::summariser all;
  for (const event& e :
       {event{.thread = 3, .op = operation::thread_name, .size = 7}, makes(1, 40, 3), frees(1, 0), makes(2, 30, 3)})
    all.add(e);
  const trace_summary sum = all.finish();
  EXPECT_EQ(sum.threads.at(3).name, 7U);
  EXPECT_EQ(sum.threads.at(3).peak_bytes, 40U);
  EXPECT_EQ(sum.threads.at(3).live_bytes, 30U);
  EXPECT_EQ(sum.threads.at(0).live_bytes, 0U);
}

using ashlar::study::timeline;

TEST(timeline, never_has_more_points_than_allowed_and_never_loses_a_peak) {
  std::mt19937_64 random(3);
  timeline t(64);
  std::uint64_t now = 0, peak = 0;
  for (int i = 0; i < 20000; ++i) {
    now += random() % 100000;
    const std::uint64_t value = random() % 1000000;
    peak = std::max(peak, value);
    t.record(now, value);
    EXPECT_LE(t.points().size(), 64u);
  }
  std::uint64_t seen = 0;
  for (const timeline::point& p : t.points()) {
    EXPECT_LE(p.least, p.greatest);
    seen = std::max(seen, p.greatest);
  }
  EXPECT_EQ(seen, peak);
  EXPECT_GE(t.points().size(), 32u);
}

TEST(timeline, silence_keeps_the_last_value) {
  timeline t(8);
  t.record(0, 5);
  t.record(4 * t.span_ns(), 9);
  const auto points = t.points();
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points[3].least, 5u);
  EXPECT_EQ(points[3].greatest, 5u);
  EXPECT_EQ(points[4].greatest, 9u);
}

TEST(timeline, the_end_of_time_is_reached) {
  timeline t(8);
  t.record(1, 1);
  t.record(~std::uint64_t{0}, 2);
  EXPECT_LE(t.points().size(), 8u);
  EXPECT_EQ(t.points().back().greatest, 2u);
}

}  // namespace
