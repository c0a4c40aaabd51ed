// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the JSON of statistics contains the statistics.
#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/heap/heap_json.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "tests/support/json.hpp"
#include "tests/support/used_heap.hpp"

namespace {

void expect_share(const ashlar_test::json& read, const std::string& path, const ashlar::heap_statistics::share& share) {
  EXPECT_EQ(read.number(path + ".live_blocks"), share.live_blocks) << path;
  EXPECT_EQ(read.number(path + ".live_bytes"), share.live_bytes) << path;
  EXPECT_EQ(read.number(path + ".spare_blocks"), share.spare_blocks) << path;
  EXPECT_EQ(read.number(path + ".spare_bytes"), share.spare_bytes) << path;
  EXPECT_EQ(read.number(path + ".dropped_bytes"), share.dropped_bytes) << path;
  EXPECT_EQ(read.number(path + ".waste_bytes"), share.waste_bytes) << path;
  EXPECT_EQ(read.number(path + ".slabs"), share.slabs) << path;
}

std::string json_of(const ashlar::heap_statistics& sums) {
  std::string text;
  ashlar::write_json(sums, [&](std::string_view piece) { text += piece; });
  return text;
}

TEST(heap_json, holds_every_figure) {
  ashlar_test::used_heap<> used;
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

}  // namespace
