// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a pool's checked frees, live cells and others, on slabs made by hand.
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/slab/checked_free.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/detail/slab/slab_geometry.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/detail/slab/slab_store.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/death.hpp"

namespace {

// One slab with a batch taken from it: its first three cells are live.
class checked_free : public ::testing::Test {
protected:
  checked_free() {
    if (ashlar::checking_level < ashlar::checking::checked) return;
    store_.add(geometry_, this, store_.request(geometry_));
    first_ = store_.take_batch(geometry_, 3).base;
    for (const std::size_t number : {0u, 1u, 2u}) static_cast<void>(store_.hand_out(geometry_, cell(number)));
  }
  void SetUp() override {
    if (ashlar::checking_level < ashlar::checking::checked) GTEST_SKIP() << "nothing is checked";
  }
  ~checked_free() override { store_.release(geometry_); }

  [[nodiscard]] ashlar::detail::free_site site() const { return {geometry_, store_.slabs(), this}; }
  [[nodiscard]] std::byte* cell(std::size_t number) const { return first_ + number * geometry_.cell_stride(); }
  [[nodiscard]] bool at_once(void* p) { return ashlar::detail::retire_at_once(site(), store_, p); }
  [[nodiscard]] bool closely(void* p) { return ashlar::detail::retire_checked(site(), store_, p); }

  ashlar::detail::slab_geometry geometry_ = ashlar::detail::make_slab_geometry({.cell_bytes = 24, .slab_bytes = 4096});
  ashlar::detail::slab_store<ashlar::new_delete_resource> store_{1, {}};
  std::byte* first_ = nullptr;
};

TEST_F(checked_free, takes_a_cell_back_at_once_where_its_slab_was_freed_to) {
  EXPECT_FALSE(at_once(cell(0)));
  EXPECT_EQ(store_.slabs().taken(), 3u);
  EXPECT_TRUE(closely(cell(0)));
  EXPECT_TRUE(at_once(cell(1)));
  EXPECT_EQ(store_.slabs().taken(), 1u);
  EXPECT_TRUE(store_.slabs().invariant());
}

TEST_F(checked_free, leaves_the_last_cell_of_a_slab_to_the_refiling) {
  EXPECT_TRUE(closely(cell(0)) && closely(cell(1)));
  EXPECT_FALSE(at_once(cell(2)));
  EXPECT_TRUE(closely(cell(2)));
  EXPECT_EQ(store_.slabs().empty_slabs(), 1u);
}

TEST_F(checked_free, leaves_free_cells_to_the_report) {
  EXPECT_TRUE(closely(cell(0)));
  EXPECT_FALSE(at_once(cell(0)));
  ASHLAR_EXPECT_DEATH(static_cast<void>(closely(cell(0))),
                      "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 24");
}

TEST_F(checked_free, leaves_damaged_guards_to_the_report) {
  if (ashlar::checking_level < ashlar::checking::hardened || ashlar::detail::always_marked)
    GTEST_SKIP() << "nobody sees it";
  EXPECT_TRUE(closely(cell(0)));
  cell(1)[24] = std::byte{0};
  EXPECT_FALSE(at_once(cell(1)));
  ASHLAR_EXPECT_DEATH(
      static_cast<void>(closely(cell(1))),
      "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, resource 0x*, size 24, "
      "expected 24, got 25");
  cell(1)[24] = std::byte{ashlar::detail::guard_byte};  // restored before the store's final check
}

TEST_F(checked_free, knows_what_no_slab_has) {
  int local = 0;
  EXPECT_FALSE(at_once(&local));
  EXPECT_FALSE(closely(&local));
  ASHLAR_EXPECT_DEATH(
      ashlar::detail::report_unheld(site(), store_.upstream(), &local),
      "ashlar: invalid_free: freed a pointer that is not of this pool, pointer 0x*, resource 0x*, size 24");
}

}  // namespace
