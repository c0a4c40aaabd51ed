// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the statistics of a heap, of their JSON, and of its map, as a page and as a picture.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/heap/heap_json.hpp>
#include <ashlar/heap/heap_map.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_store.hpp>

#include "tests/support/build.hpp"
#include "tests/support/json.hpp"

namespace {

using ashlar::heap_statistics;
using ashlar::detail::size_classes;
using ashlar::detail::slice_bytes;
using ashlar::detail::with_canary;
using heap_share = ashlar::heap_statistics::share;

/// A heap that has been used for a while, and a list of its live blocks.
template <ashlar::resource Upstream = ashlar::page_resource>
struct used_heap {
  ashlar::local_heap<Upstream> heap;
  std::map<std::byte*, std::size_t> live = {};  // as requested, by address
  std::mt19937 random = std::mt19937(7);

  void allocate(std::size_t bytes) { live[static_cast<std::byte*>(heap.allocate(bytes))] = bytes; }

  void free_some(unsigned one_in) {
    for (auto each = live.begin(); each != live.end();) {
      const auto [p, bytes] = *each;
      if (random() % one_in != 0) {
        ++each;
        continue;
      }
      random() % 2 == 0 ? heap.deallocate(p) : heap.deallocate(p, bytes);
      each = live.erase(each);
    }
  }

  // Cells of many classes, cached ones, live and recently freed spans, huge blocks.
  void use() {
    constexpr std::size_t count = ashlar_test::is_slow ? 1500 : 6000;
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < count; ++i) allocate(random() % (i % 40 == 0 ? 30'000 : 400));
      for (std::size_t i = 0; i < 12; ++i) allocate(40'000 + random() % 300'000);
      free_some(2);
    }
    for (const std::size_t bytes : {4'300'000u, 9'000'000u, 100'000u, 48u}) allocate(bytes);
    heap.deallocate(heap.allocate(6'000'000));
    heap.deallocate(heap.allocate(48));
  }
};

TEST(heap_statistics, sums_live_blocks_by_class) {
  static_cast<void>(ashlar::page_store::trim());  // of a segment of an ended heap some free bytes have been used
  ashlar::local_heap<> heap;
  EXPECT_EQ(ashlar::statistics_of(heap).held_bytes, 0u);
  std::vector<void*> held;
  for (int i = 0; i < 100; ++i) held.push_back(heap.allocate(48)), held.push_back(heap.allocate(1000));
  for (std::size_t i = 0; i < 100; i += 4) heap.deallocate(held[i]);
  static_cast<void>(heap.allocate(100'000));
  static_cast<void>(heap.allocate(5'000'000));
  heap.deallocate(heap.allocate(200'000));
  const heap_statistics sums = ashlar::statistics_of(heap);
  const std::size_t cell = size_classes::bytes_of(size_classes::of(with_canary(48)));
  const heap_share& small = sums.of_class[size_classes::of(cell)];
  EXPECT_EQ(small.live_blocks, 75u);
  EXPECT_EQ(small.live_bytes, 75u * cell);
  EXPECT_EQ(small.slabs, 1u);
  EXPECT_EQ(small.live_bytes + small.spare_bytes + small.waste_bytes, slice_bytes);
  EXPECT_EQ(small.spare_bytes, small.spare_blocks * cell);
  EXPECT_EQ(sums.of_class[size_classes::of(with_canary(1000))].live_blocks, 100u);
  EXPECT_EQ(sums.spans.live_blocks, 1u);
  EXPECT_EQ(sums.spans.live_bytes, 2 * slice_bytes);
  EXPECT_EQ(sums.spans.spare_blocks, 1u);
  EXPECT_EQ(sums.spans.spare_bytes, 4 * slice_bytes);
  EXPECT_EQ(sums.huge.live_blocks, 1u);
  EXPECT_GE(sums.huge.live_bytes, 5'000'000u);
  EXPECT_EQ(sums.all.live_blocks, 177u);
  EXPECT_LE(sums.segments, 2u) << "the first might not become longer";
  EXPECT_EQ(sums.head_bytes, sums.segments * ashlar::detail::first_slice * slice_bytes);
  EXPECT_EQ(sums.free_bytes, 0u) << "nothing has been joined with what is free";
  EXPECT_EQ(sums.held_bytes, heap.held_bytes());
  EXPECT_TRUE(sums.invariant());
}

TEST(heap_statistics, what_only_grows_grows_beyond_32_bits) {
  if constexpr (sizeof(std::size_t) > 4) GTEST_SKIP() << "where the counts of memory have 32";
  constexpr std::size_t whole = std::size_t{512} << 20, bytes = whole - (with_canary(1) - 1);
  ashlar::local_heap<> heap({.retain_bytes = whole});
  for (int i = 0; i < 10; ++i) heap.deallocate(heap.allocate(bytes));  // without a write
  EXPECT_EQ(heap.reused_bytes(), std::uint64_t{9} * whole);
}

template <class Used>
void expect_right_sums(Used& used) {
  std::array<std::size_t, size_classes::count + 1> cells = {};
  std::size_t others = 0;
  for (const auto& [p, bytes] : used.live)
    with_canary(bytes) <= size_classes::largest ? ++cells[size_classes::of(with_canary(bytes))] : ++others;
  const heap_statistics sums = ashlar::statistics_of(used.heap);
  for (std::size_t number = 1; number <= size_classes::count; ++number)
    EXPECT_EQ(sums.of_class[number].live_blocks, cells[number]) << size_classes::bytes_of(number);
  EXPECT_EQ(sums.spans.live_blocks + sums.huge.live_blocks, others);
  EXPECT_EQ(sums.all.live_blocks, used.live.size());
  EXPECT_EQ(sums.held_bytes, used.heap.held_bytes());
  EXPECT_TRUE(sums.invariant());
}

TEST(heap_statistics, is_right_for_free_cells_in_any_place) {
  used_heap<> used;
  for (int round = 0; round < 3; ++round) {
    used.use();
    expect_right_sums(used);
  }
  const heap_statistics before = ashlar::statistics_of(used.heap);
  used.heap.for_each_live([](void*, std::size_t) {});
  expect_right_sums(used);
  static_cast<void>(used.heap.trim());
  expect_right_sums(used);
  const heap_statistics after = ashlar::statistics_of(used.heap);
  EXPECT_EQ(after.all.live_bytes, before.all.live_bytes);
  EXPECT_EQ(after.free_bytes + after.spans.spare_bytes + after.huge.spare_bytes, 0u) << "all has gone back";
  EXPECT_LE(after.all.dropped_bytes, after.all.spare_bytes);
  used.free_some(1);
  expect_right_sums(used);
}

TEST(heap_statistics, counts_pages_that_are_handed_out_again_while_they_may_be_resident) {
  const std::size_t pages = slice_bytes / ashlar::os::pages::page_bytes();
  ashlar::local_heap<> heap;
  const auto spared = [&] { return ashlar::statistics_of(heap).page_faults_avoided; };
  static_cast<void>(heap.allocate(33 * slice_bytes - 1));  // in a whole segment: a short one might not become longer
  heap.deallocate(heap.allocate(300'000));
  EXPECT_EQ(spared(), 0u);
  heap.deallocate(heap.allocate(300'000));
  EXPECT_EQ(spared(), 5 * pages) << "the same block";
  heap.deallocate(heap.allocate(500'000));
  EXPECT_EQ(spared(), 5 * pages) << "one that was fresh";
  heap.for_each_live([](void*, std::size_t) {});
  void* const both = heap.allocate(13 * slice_bytes - 1);
  EXPECT_EQ(spared(), (5 + 13) * pages) << "two that were joined";
  heap.deallocate(both);
  static_cast<void>(heap.allocate(48));
  static_cast<void>(heap.trim());
  const auto before = spared();
  static_cast<void>(heap.allocate(300'000));
  EXPECT_EQ(spared(), before) << "those had gone back";
  for (int i = 0; i < 2; ++i) heap.deallocate(heap.allocate(128 * slice_bytes - 1));
  EXPECT_EQ(spared(), before + 128 * pages) << "a huge block";
}

TEST(heap_statistics, does_not_guess_about_other_upstreams) {
  used_heap<ashlar::new_delete_resource> used;
  used.use();
  used.heap.deallocate(used.heap.allocate(500'000));
  used.heap.for_each_live([](void*, std::size_t) {});  // flushes the caches, so that free slices join
  expect_right_sums(used);
  const heap_statistics sums = ashlar::statistics_of(used.heap);
  EXPECT_EQ(sums.fresh_bytes + sums.page_faults_avoided, 0u);
  EXPECT_GT(sums.free_bytes, 0u);
}

void expect_share(const ashlar_test::json& read, const std::string& path, const ashlar::heap_statistics::share& share) {
  EXPECT_EQ(read.number(path + ".live_blocks"), share.live_blocks) << path;
  EXPECT_EQ(read.number(path + ".live_bytes"), share.live_bytes) << path;
  EXPECT_EQ(read.number(path + ".spare_blocks"), share.spare_blocks) << path;
  EXPECT_EQ(read.number(path + ".spare_bytes"), share.spare_bytes) << path;
  EXPECT_EQ(read.number(path + ".dropped_bytes"), share.dropped_bytes) << path;
  EXPECT_EQ(read.number(path + ".waste_bytes"), share.waste_bytes) << path;
  EXPECT_EQ(read.number(path + ".slabs"), share.slabs) << path;
}

// The text that `write(out)` gives to `out` in pieces.
std::string text_of(const auto& write) {
  std::string text;
  write([&](std::string_view piece) { text += piece; });
  return text;
}
std::string json_of(const ashlar::heap_statistics& sums) {
  return text_of([&](auto out) { ashlar::write_json(sums, out); });
}
std::string page_of(const auto& heap) {
  return text_of([&](auto out) { ashlar::write_heap_html(heap, out); });
}
std::string svg_of(const auto& heap) {
  return text_of([&](auto out) { ashlar::write_heap_svg(heap, out); });
}

TEST(heap_json, holds_every_figure) {
  used_heap<> used;
  used.use();
  const ashlar::heap_statistics sums = ashlar::statistics_of(used.heap);
  const ashlar_test::json read(json_of(sums));
  ASSERT_TRUE(read.is_valid());
  EXPECT_EQ(read.number("held_bytes"), sums.held_bytes);
  EXPECT_EQ(read.number("free_bytes"), sums.free_bytes);
  EXPECT_EQ(read.number("fresh_bytes"), sums.fresh_bytes);
  EXPECT_EQ(read.number("head_bytes"), sums.head_bytes);
  EXPECT_EQ(read.number("table_bytes"), sums.table_bytes);
  EXPECT_EQ(read.number("cached_bytes"), sums.cached_bytes);
  EXPECT_EQ(read.number("segments"), sums.segments);
  EXPECT_EQ(read.number("page_faults_avoided"), sums.page_faults_avoided);
  expect_share(read, "all", sums.all);
  expect_share(read, "spans", sums.spans);
  expect_share(read, "huge", sums.huge);
  std::size_t rows = 0;
  for (std::size_t number = 1; number <= ashlar::detail::size_classes::count; ++number) {
    if (sums.of_class[number].slabs == 0) continue;
    const std::string path = "classes." + std::to_string(rows++);
    EXPECT_EQ(read.number(path + ".size_class"), number);
    EXPECT_EQ(read.number(path + ".cell_bytes"), ashlar::detail::size_classes::bytes_of(number));
    expect_share(read, path, sums.of_class[number]);
  }
  EXPECT_EQ(read.size("classes"), rows);
  EXPECT_GT(rows, 30u);
}

TEST(heap_json, of_an_empty_heap_is_json_too) {
  const ashlar_test::json read(json_of({}));
  EXPECT_TRUE(read.is_valid());
  EXPECT_EQ(read.size("classes"), 0u);
  EXPECT_EQ(read.number("held_bytes"), 0u);
}

// Checks of SVG and HTML: tags in pairs, attributes in quotes, no unescaped characters.

// Returns: whether the text consists of ` name="value"` repeated.
bool are_attributes(std::string_view rest) {
  while (!rest.empty()) {
    const std::size_t equals = rest.find("=\""), end = equals == rest.npos ? equals : rest.find('"', equals + 2);
    if (rest[0] != ' ' || end == rest.npos || rest.substr(1, equals - 1).find_first_of(" <\"'=") != rest.npos)
      return false;
    rest.remove_prefix(end + 1);
  }
  return true;
}

// Style sheets are not checked: they lie between the same two tags in XML and HTML.
bool is_text(std::string_view text) { return text.find_first_of("&>") == text.npos; }

/// Returns: the fault of the markup; empty if it is well-formed. `<meta>` and the doctype need no end.
[[nodiscard]] std::string fault_of_markup(std::string_view rest) {
  std::vector<std::string> open;
  for (std::size_t at = 0; (at = rest.find('<')) != rest.npos;) {
    const std::size_t end = rest.find('>', at);
    if (end == rest.npos) return "a tag without an end";
    if (!is_text(rest.substr(0, at)) && (open.empty() || open.back() != "style")) return "unescaped text";
    std::string_view tag = rest.substr(at + 1, end - at - 1);
    rest.remove_prefix(end + 1);
    if (tag[0] == '!' || tag.substr(0, 4) == "meta") continue;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "an end that belongs to nothing: " + std::string(tag);
      open.pop_back();
      continue;
    }
    const bool is_alone = tag.back() == '/';
    if (is_alone) tag.remove_suffix(1);
    const std::size_t name = std::min(tag.find(' '), tag.size());
    if (!are_attributes(tag.substr(name))) return "attributes: " + std::string(tag);
    if (!is_alone) open.emplace_back(tag.substr(0, name));
  }
  return open.empty() ? "" : "no end of " + open.back();
}

/// Returns: the number of `words` in `text`.
[[nodiscard]] std::size_t count_of(std::string_view text, std::string_view words) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != text.npos; at = text.find(words, at + words.size())) ++count;
  return count;
}

TEST(heap_map, is_one_page_with_a_map_and_a_row_for_each_class) {
  used_heap<> used;
  used.use();
  const std::string text = page_of(used.heap);
  EXPECT_EQ(fault_of_markup(text), "");
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
  EXPECT_EQ(fault_of_markup(text), "");
  EXPECT_NE(text.find("0 B live in 0 B"), text.npos);
}

using ashlar::heap_region;
using ashlar::region_kind;

TEST(heap_map_svg, has_a_tile_with_a_title_for_each_piece) {
  used_heap<> used;
  used.use();
  const std::string text = svg_of(used.heap);
  EXPECT_EQ(fault_of_markup(text), "");
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
  EXPECT_EQ(count_of(text, " %</text>"), used.heap.segments()) << "the live share of each row";
  EXPECT_LT(text.rfind(" %</text>"), text.find("huge blocks</text>"));
  constexpr std::string_view row = "soft mono\" x=\"0\" y=\"";
  std::set<std::string> heights;
  for (std::size_t at = text.find(row); at != text.npos; at = text.find(row, at))
    at += row.size(), heights.insert(text.substr(at, text.find('"', at) - at));
  EXPECT_EQ(heights.size(), count_of(text, row)) << "no row lies on another";
}

TEST(heap_map_svg, draws_an_empty_heap_and_one_of_many_huge_blocks) {
  ashlar::local_heap<> heap;
  EXPECT_EQ(fault_of_markup(svg_of(heap)), "");
  for (int i = 0; i < 40; ++i) static_cast<void>(heap.allocate(5'000'000));
  const std::string text = svg_of(heap);
  EXPECT_EQ(fault_of_markup(text), "");
  EXPECT_EQ(count_of(text, "a huge block, "), 32u);
  EXPECT_NE(text.find("and 8 more"), text.npos);
}

TEST(heap_map_svg, the_reader_of_the_tests_refuses_what_is_not_well_formed) {
  EXPECT_EQ(fault_of_markup("<a b=\"c\"><d/>e</a>"), "");
  for (const char* const text : {"<a>", "<a></b>", "</a>", "<a b=c/>", "<a b=\"c/>", "<a>&amp</a>", "<a>x>y</a>", "<a"})
    EXPECT_NE(fault_of_markup(text), "") << text;
}

}  // namespace
