// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the picture of a heap is well-formed and has a tile for each region.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/heap/heap_map.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "tests/support/markup.hpp"
#include "tests/support/used_heap.hpp"

namespace {

using ashlar::heap_region;
using ashlar::region_kind;
using ashlar_test::count_of;

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
