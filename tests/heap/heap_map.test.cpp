// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the map of a heap, as a page and as a picture.
#include <cstddef>
#include <map>
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

using ashlar::heap_region;
using ashlar::region_kind;

template <class Heap>
std::string svg_of(const Heap& heap) {
  std::string text;
  ashlar::write_heap_svg(heap, [&](std::string_view piece) { text += piece; });
  return text;
}

TEST(heap_map_svg, has_a_tile_with_a_title_for_each_piece) {
  ashlar_test::used_heap<> used;
  used.use();
  const std::string text = svg_of(used.heap);
  EXPECT_EQ(ashlar_test::fault_of_markup(text), "");
  std::map<region_kind, std::size_t> pieces;
  used.heap.inspect([&](const heap_region& each) {
    ++pieces[each.kind];
    if (each.kind != region_kind::slab) return;
    const std::string title = std::to_string(each.cell_bytes) + "-byte cells: " + std::to_string(each.live) + " of " +
                              std::to_string(each.capacity) + " live";
    EXPECT_NE(text.find(title), text.npos) << title;
  });
  EXPECT_EQ(count_of(text, "a slab, "), pieces[region_kind::slab]);
  EXPECT_EQ(count_of(text, "one block, "), pieces[region_kind::span]);
  EXPECT_EQ(count_of(text, "a block recently freed, "), pieces[region_kind::spare]);
  EXPECT_EQ(count_of(text, "free, never touched, "), pieces[region_kind::fresh]);
  EXPECT_EQ(count_of(text, "free, and used before, "), pieces[region_kind::free]);
  EXPECT_EQ(count_of(text, "the header of the segment, "), used.heap.segments());
  EXPECT_EQ(count_of(text, "a huge block, ") + count_of(text, "a huge block recently freed, "),
            pieces[region_kind::huge]);
}

TEST(heap_map_svg, draws_an_empty_heap_and_one_of_many_huge_blocks) {
  ashlar::local_heap<> heap;
  EXPECT_EQ(ashlar_test::fault_of_markup(svg_of(heap)), "");
  for (int i = 0; i < 40; ++i) static_cast<void>(heap.allocate(5'000'000));
  const std::string text = svg_of(heap);
  EXPECT_EQ(ashlar_test::fault_of_markup(text), "");
  EXPECT_EQ(count_of(text, "a huge block, "), 32u);
  EXPECT_NE(text.find("and 8 more"), text.npos);
}

TEST(heap_map_svg, the_reader_of_the_tests_refuses_what_is_not_well_formed) {
  EXPECT_EQ(ashlar_test::fault_of_markup("<a b=\"c\"><d/>e</a>"), "");
  for (const char* const text : {"<a>", "<a></b>", "</a>", "<a b=c/>", "<a b=\"c/>", "<a>&amp</a>", "<a>x>y</a>", "<a"})
    EXPECT_NE(ashlar_test::fault_of_markup(text), "") << text;
}

}  // namespace
