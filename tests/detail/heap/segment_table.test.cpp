// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the table of a heap's segments.
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/segment_slices.hpp>
#include <ashlar/detail/heap/segment_table.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::detail::segment;
using ashlar::detail::segment_bytes;
using ashlar::detail::segment_slices;

// Grows tables by an upstream that counts.
struct counted_space {
  ashlar_test::counting_resource<> upstream;
  template <class Table>
  bool grow(Table& table) {
    return table.grow(upstream);
  }
};

class table : public ashlar::detail::segment_table<segment_slices> {
public:
  bool add(counted_space& space, void* memory) {
    if (!make_room(space)) return false;
    segment* const home = segment::format(memory, count_, segment_bytes);
    const auto all = segment_slices::all_of(segment_bytes);
    longest_[count_] = static_cast<unsigned char>(count_ + 1);
    spaces_[count_++] = {home, all, all};
    return true;
  }
  using segment_table::give_tables;
  using segment_table::remove;
};

TEST(segment_table, gives_the_last_segment_the_place_of_one_that_leaves) {
  counted_space space;
  ashlar::page_resource pages;
  table segments;
  std::vector<void*> memory;
  for (std::size_t i = 0; i < 6; ++i) {
    memory.push_back(pages.allocate(segment_bytes, segment_bytes));
    ASSERT_TRUE(segments.add(space, memory.back()));
  }
  EXPECT_EQ(segments.segments(), 6u);
  EXPECT_GT(segments.table_bytes(), 0u) << "four have room inside";
  segments.remove(1);
  segments.remove(4);
  std::vector<void*> seen;
  segments.for_each_segment([&](segment& each, auto free, auto fresh) {
    EXPECT_EQ(each.head.index, seen.size());
    EXPECT_EQ(free, fresh);
    seen.push_back(&each);
  });
  EXPECT_EQ(seen, (std::vector<void*>{memory[0], memory[5], memory[2], memory[3]}));
  segments.for_each_run([](segment&, std::size_t, std::size_t) { ADD_FAILURE() << "all slices are free"; });
  segments.give_tables(space.upstream);
  EXPECT_EQ(segments.segments(), 0u);
  EXPECT_EQ(segments.table_bytes(), 0u);
  for (void* each : memory) pages.deallocate(each, segment_bytes, segment_bytes);
}

}  // namespace
