// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that each cell of a segment has its own key and bit, from which its slab is found.
#include <ashlar/detail/heap/segment_words.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::detail::freed_word;
using ashlar::detail::segment;

TEST(segment_words, name_each_cell_of_each_class) {
  ashlar::page_resource pages;
  void* const memory = pages.allocate(ashlar::detail::segment_bytes, ashlar::detail::segment_bytes);
  segment* const home = segment::format(memory, 0, ashlar::detail::segment_bytes, &pages);
  EXPECT_EQ(segment::heap_of(home->slice(ashlar::detail::first_slice)), &pages);
  std::set<std::pair<std::uintptr_t, std::uint64_t>> seen;
  std::size_t cells = 0, slice = ashlar::detail::first_slice;
  for (std::size_t number = 1; number <= ashlar::detail::size_classes::count; number += 9) {
    ashlar::detail::span_header& slab = home->record(slice);
    ashlar::detail::slab_view(slab).format(number, number);
    for (std::size_t i = 0; i < slab.capacity; ++i, ++cells) {
      const freed_word place = ashlar::detail::word_of_cell(slab.cell(i));
      seen.insert({place.key, place.cells});
      ASSERT_EQ(&ashlar::detail::segment_of_key(place.key), home);
      ASSERT_EQ(&ashlar::detail::slab_of_key(place.key), &slab);
      ASSERT_EQ(ashlar::detail::word_of_key(place.key), i / 64);
      ASSERT_EQ(place.cells, std::uint64_t{1} << i % 64);
    }
    slice += slab.length;
  }
  EXPECT_EQ(seen.size(), cells);
  pages.deallocate(memory, ashlar::detail::segment_bytes, ashlar::detail::segment_bytes);
}

}  // namespace
