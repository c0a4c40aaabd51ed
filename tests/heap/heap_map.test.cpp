// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the page about a heap is well-formed and self-contained, and agrees with the statistics.
#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/heap/heap_map.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "tests/support/markup.hpp"
#include "tests/support/used_heap.hpp"

namespace {

using ashlar_test::count_of;

template <class Heap>
std::string page_of(const Heap& heap) {
  std::string text;
  ashlar::write_heap_html(heap, [&](std::string_view piece) { text += piece; });
  return text;
}

TEST(heap_map, is_one_page_with_a_map_and_a_row_for_each_class) {
  ashlar_test::used_heap<> used;
  used.use();
  const std::string text = page_of(used.heap);
  EXPECT_EQ(ashlar_test::fault_of_markup(text), "");
  const ashlar::heap_statistics sums = ashlar::statistics_of(used.heap);
  std::size_t classes = 0;
  for (const ashlar::heap_statistics::share& each : sums.of_class) classes += each.slabs != 0 ? 1 : 0;
  EXPECT_EQ(count_of(text, "<tr><td>"), classes + 2) << "and one for runs, one for huge blocks";
  EXPECT_EQ(count_of(text, "<svg xmlns"), 1u);
  EXPECT_NE(text.find("<td>" + std::to_string(sums.huge.live_blocks) + "</td>"), text.npos);
  EXPECT_NE(text.find("prefers-color-scheme: dark"), text.npos);
  for (const char* const outside : {"<script", "<link", "<img", "url(", "@import", "src="})
    EXPECT_EQ(text.find(outside), text.npos) << outside;
}

TEST(heap_map, an_empty_heap_has_a_page) {
  const ashlar::local_heap<> heap;
  const std::string text = page_of(heap);
  EXPECT_EQ(ashlar_test::fault_of_markup(text), "");
  EXPECT_NE(text.find("0 B live in 0 B"), text.npos);
}

}  // namespace
