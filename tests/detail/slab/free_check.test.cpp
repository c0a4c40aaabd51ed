// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a pool's checked free, at once and step by step, on slabs made by hand; tests/death has those of whole
// pools.
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_geometry.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/detail/slab/slab_store.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/death.hpp"

namespace {

constexpr std::size_t cell_bytes = 24;

// One slab with a batch taken from it: its first cell is live.
class free_check : public ::testing::Test {
protected:
  free_check() {
    store_.add(geometry_, this, store_.request(geometry_));
    const ashlar::detail::cell_batch word = store_.take_batch(geometry_, 2);
    live_ = word.base;
    for (const std::size_t number : {0u, 1u}) static_cast<void>(store_.hand_out(geometry_, cell(number)));
  }
  ~free_check() override { store_.release(geometry_); }

  [[nodiscard]] ashlar::detail::free_site site(ashlar::detail::cell_batch batch = {}) const {
    return {geometry_, store_.slabs(), this, batch};
  }
  [[nodiscard]] ashlar::detail::cell_batch live_word(std::size_t cell) const {
    return {live_, std::uint64_t{1} << cell};
  }
  [[nodiscard]] std::byte* cell(std::size_t number) const { return live_ + number * geometry_.cell_stride(); }

  ashlar::detail::slab_geometry geometry_ =
      ashlar::detail::make_slab_geometry({.cell_bytes = cell_bytes, .slab_bytes = 4096});
  ashlar::detail::slab_store<ashlar::new_delete_resource> store_{1, {}};
  std::byte* live_ = nullptr;
};

void check(const ashlar::detail::free_site& site, void* p) { static_cast<void>(ashlar::detail::check_free(site, p)); }

TEST_F(free_check, finds_a_live_cell) {
  for (const std::uint32_t number : {0u, 1u}) EXPECT_EQ(ashlar::detail::check_free(site(), cell(number)).index, number);
}

TEST_F(free_check, finds_at_once_what_is_live_in_a_slab_that_is_remembered) {
  if (ashlar::checking_level < ashlar::checking::checked) GTEST_SKIP() << "nothing is looked up";
  EXPECT_EQ(ashlar::detail::find_live(site(), cell(1)).home, nullptr);
  ashlar::detail::slab* const home = store_.slabs().find(geometry_, cell(1));
  store_.remember(geometry_, home);
  EXPECT_EQ(ashlar::detail::find_live(site(), cell(1)).home, home);
  EXPECT_EQ(ashlar::detail::find_live(site(), cell(1)).index, 1u);
}

TEST_F(free_check, finds_at_once_nothing_else) {
  store_.remember(geometry_, store_.slabs().find(geometry_, cell(0)));
  const std::byte* const end = cell(0) - (ashlar::detail::address_of(cell(0)) % 4096) + 4096;
  for (std::byte* p = cell(0) + 1; p < end; ++p)
    if (p != cell(1)) EXPECT_EQ(ashlar::detail::find_live(site(), p).home, nullptr) << p - cell(0);
  for (std::size_t before = 1; before <= 4096; ++before)
    EXPECT_EQ(ashlar::detail::find_live(site(), cell(0) - before).home, nullptr) << before;
  EXPECT_EQ(ashlar::detail::find_live(site(live_word(1)), cell(1)).home, nullptr);
  EXPECT_EQ(ashlar::detail::find_live(site(), nullptr).home, nullptr);
}

TEST_F(free_check, knows_what_is_free_by_its_bit_or_by_word_of_the_pool) {
  ASHLAR_EXPECT_DEATH(check(site(), cell(2)),
                      "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 24");
  ASHLAR_EXPECT_DEATH(check(site(live_word(1)), cell(1)),
                      "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 24");
}

TEST_F(free_check, knows_the_start_of_a_cell) {
  for (const std::size_t offset : {std::size_t{1}, std::size_t{8}, cell_bytes / 2, cell_bytes - 1})
    ASHLAR_EXPECT_DEATH(
        check(site(), cell(0) + offset),
        "ashlar: misaligned_free: freed a pointer into the middle of a cell, pointer 0x*, resource 0x*, size 24");
}

TEST_F(free_check, recognises_foreign_pointers_without_reading_them) {
  int local = 0;
  EXPECT_EQ(ashlar::detail::check_free(site(), &local).home, nullptr);
  EXPECT_EQ(ashlar::detail::check_free(site(), reinterpret_cast<void*>(std::uintptr_t{64})).home, nullptr);
  ASHLAR_EXPECT_DEATH(
      ashlar::detail::report_foreign(&local, site()),
      "ashlar: invalid_free: freed a pointer that is not of this pool, pointer 0x*, resource 0x*, size 24");
}

TEST_F(free_check, knows_a_cell_that_is_freed_as_something_larger) {
  ashlar::detail::check_larger_free(site(), &store_, {.bytes = 100, .alignment = 8});  // may belong to the upstream
  ASHLAR_EXPECT_DEATH(ashlar::detail::check_larger_free(site(), cell(0), {.bytes = 100, .alignment = 8}),
                      "ashlar: size_mismatch: freed a cell with the size of a larger block, pointer 0x*, resource 0x*, "
                      "block of 24 bytes, got 100");
}

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
  ASHLAR_EXPECT_DEATH(static_cast<void>(closely(cell(1))),
                      "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, resource 0x*, "
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
