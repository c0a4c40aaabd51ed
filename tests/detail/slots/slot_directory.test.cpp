// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the directory against a vector, across the borders of its segments.
#include <ashlar/detail/slots/slot_directory.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace {

struct thing {};
using directory = ashlar::detail::slot_directory<thing>;

class slot_directory : public ::testing::Test {
protected:
  std::uint32_t add(thing* slab) {
    const std::uint32_t number = table_.vacancy();
    if (table_.needs_segment(number)) {
      segments_.push_back(std::make_unique<thing*[]>(directory::segment_bytes(number) / sizeof(thing*)));
      table_.add_segment(number, segments_.back().get());
    }
    table_.add(number, slab);
    return number;
  }

  directory table_;
  std::vector<std::unique_ptr<thing*[]>> segments_;
};

TEST_F(slot_directory, finds_each_by_its_number) {
  std::vector<thing> things(5000);
  for (std::uint32_t i = 0; i < things.size(); ++i) ASSERT_EQ(add(&things[i]), i);
  for (std::uint32_t i = 0; i < things.size(); ++i) ASSERT_EQ(table_.at(i), &things[i]);
  EXPECT_EQ(table_.size(), 5000u);
  EXPECT_EQ(segments_.size(), 3u);  // from 64, from 512, from 4096
  std::size_t seen = 0;
  table_.for_each([&](thing& each) { seen += &each == &things[seen] ? 1u : 0u; });
  EXPECT_EQ(seen, things.size());
}

TEST_F(slot_directory, the_lowest_vacant_number_comes_first) {
  std::vector<thing> things(700);
  for (thing& each : things) add(&each);
  for (const std::uint32_t number : {600u, 3u, 64u}) table_.remove(number);
  for (const std::uint32_t number : {3u, 64u, 600u, 700u}) EXPECT_EQ(add(things.data()), number);
}

TEST_F(slot_directory, a_slab_may_be_removed_while_all_are_visited) {
  std::vector<thing> things(100);
  for (thing& each : things) add(&each);
  table_.for_each([&](thing& each) { table_.remove(static_cast<std::uint32_t>(&each - things.data())); });
  table_.for_each([](thing&) { FAIL(); });
  EXPECT_EQ(table_.vacancy(), 0u);
}

TEST_F(slot_directory, names_its_segments) {
  std::vector<thing> things(513);
  for (thing& each : things) add(&each);
  std::size_t bytes = 0;
  table_.for_each_segment([&](void*, std::size_t each) { bytes += each; });
  EXPECT_EQ(bytes, (512 - 64 + 4096 - 512) * sizeof(thing*));
}

}  // namespace
