// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the table that finds slabs by their slab numbers, and of the entries that a slab_set makes in it.
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_geometry.hpp>
#include <ashlar/detail/slab/slab_map.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/detail/slab/slab_store.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace {

constexpr bool is_checked = ashlar::checking_level >= ashlar::checking::checked;

class slab_map : public ::testing::Test {
protected:
  ashlar::detail::slab slabs_[3];
  ashlar::detail::slab_map map_;
};

TEST_F(slab_map, knows_nothing_at_first) {
  for (std::size_t number = 0; number < 2 * ashlar::detail::slab_map::places; ++number)
    EXPECT_EQ(map_.at(number), nullptr);
}

TEST_F(slab_map, finds_a_slab_by_its_number) {
  map_.remember(&slabs_[0], 5);
  map_.remember(&slabs_[1], 6);
  EXPECT_EQ(map_.at(5), &slabs_[0]);
  EXPECT_EQ(map_.at(6), &slabs_[1]);
}

TEST_F(slab_map, gives_a_place_to_the_slab_that_came_last) {
  map_.remember(&slabs_[0], 5);
  map_.remember(&slabs_[1], 5 + ashlar::detail::slab_map::places);
  EXPECT_EQ(map_.at(5), &slabs_[1]);
}

TEST_F(slab_map, forgets_a_slab_and_no_other) {
  map_.remember(&slabs_[0], 5);
  map_.remember(&slabs_[1], 6);
  map_.forget(&slabs_[0]);
  map_.forget(&slabs_[2]);
  EXPECT_EQ(map_.at(5), nullptr);
  EXPECT_EQ(map_.at(6), &slabs_[1]);
}

// Slabs of 4 KiB with cells of 64 bytes.
class slabs_remembered : public ::testing::Test {
protected:
  slabs_remembered() { store_.add(geometry_, this, store_.request(geometry_)); }
  ~slabs_remembered() override { store_.release(geometry_); }

  [[nodiscard]] ashlar::detail::slab* remembered(const void* p) const {
    return store_.slabs().find_remembered(geometry_, p);
  }

  ashlar::detail::slab_geometry geometry_ = ashlar::detail::make_slab_geometry({.cell_bytes = 64, .slab_bytes = 4096});
  ashlar::detail::slab_store<ashlar::new_delete_resource> store_{0, {}};
};

TEST_F(slabs_remembered, are_those_that_were_freed_to) {
  if (!is_checked) GTEST_SKIP() << "nothing is looked up";
  const ashlar::detail::cell_batch word = store_.take_batch(geometry_, 1);
  ashlar::detail::slab* const home = store_.slabs().find(geometry_, word.base);
  EXPECT_EQ(remembered(word.base), nullptr);
  store_.remember(geometry_, home);
  EXPECT_EQ(remembered(word.base), home);
  store_.give(geometry_, word.base);  // empty now: it goes, and leaves the table
  store_.shrink(geometry_);
  EXPECT_EQ(remembered(word.base), nullptr);
}

TEST_F(slabs_remembered, are_none_that_have_had_a_run) {
  if (!is_checked) GTEST_SKIP() << "nothing is looked up";
  ashlar::detail::slab* const home = store_.slabs().empty_slab();
  store_.remember(geometry_, home);
  EXPECT_EQ(remembered(home->cells), home);
  ASSERT_EQ(store_.slabs().find(geometry_, store_.take_run(geometry_, 4)), home);
  EXPECT_EQ(remembered(home->cells), nullptr);
  store_.remember(geometry_, home);
  EXPECT_EQ(remembered(home->cells), nullptr);
}

// More slabs than entries, freed in an order that displaces each before its next free.
TEST(slabs_displaced, are_found_nevertheless) {
  constexpr std::size_t slabs = 2 * ashlar::detail::slab_map::places + 1;
  ashlar::block_pool<> pool({.cell_bytes = 1024, .slab_bytes = 4096});
  std::vector<void*> cells;
  while (pool.slabs() < slabs) cells.push_back(pool.allocate());
  for (std::size_t stride = 4; stride-- != 0;)
    for (std::size_t at = stride; at < cells.size(); at += 4) pool.deallocate(cells[at]);
  EXPECT_EQ(pool.live(), 0u);
  EXPECT_TRUE(pool.invariant());
}

}  // namespace
