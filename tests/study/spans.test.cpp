// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of what is counted within spans.
#include <ashlar/study/spans.hpp>
#include <ashlar/study/summariser.hpp>

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace ashlar;
using study::span_summary;
using study::span_table;
using trace::event;
using trace::operation;

span_table spans_of(const std::vector<event>& events) {
  study::summariser all;
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
  study::summariser all;
  for (const event& e :
       {event{.thread = 3, .op = operation::thread_name, .size = 7}, makes(1, 40, 3), frees(1, 0), makes(2, 30, 3)})
    all.add(e);
  const study::trace_summary sum = all.finish();
  EXPECT_EQ(sum.threads.at(3).name, 7U);
  EXPECT_EQ(sum.threads.at(3).peak_bytes, 40U);
  EXPECT_EQ(sum.threads.at(3).live_bytes, 30U);
  EXPECT_EQ(sum.threads.at(0).live_bytes, 0U);
}

}  // namespace
