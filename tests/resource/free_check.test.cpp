// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of what a pool checks before it takes a cell back, on slabs made by hand; the pools' own are in tests/death.
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/part/slab.hpp>
#include <ashlar/part/slab_geometry.hpp>
#include <ashlar/part/slab_set.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/free_check.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/slab_store.hpp>

#include "tests/support/death.hpp"

namespace {

constexpr std::size_t cell_bytes = 24;

// One slab of which a word is taken: its first cell is live.
class free_check : public ::testing::Test {
protected:
  free_check() {
    store_.add(geometry_, this, store_.request(geometry_));
    const ashlar::cell_word word = store_.take_word(geometry_, 2);
    live_ = word.base;
    for (const std::size_t number : {0u, 1u}) static_cast<void>(store_.hand_out(geometry_, cell(number)));
  }
  ~free_check() override { store_.release(geometry_); }

  [[nodiscard]] ashlar::free_site site(ashlar::cell_word at_hand = {}) const {
    return {geometry_, store_.slabs(), this, at_hand};
  }
  [[nodiscard]] ashlar::cell_word live_word(std::size_t cell) const { return {live_, std::uint64_t{1} << cell}; }
  [[nodiscard]] std::byte* cell(std::size_t number) const { return live_ + number * geometry_.cell_stride(); }

  ashlar::slab_geometry geometry_ = ashlar::make_slab_geometry({.cell_bytes = cell_bytes, .slab_bytes = 4096});
  ashlar::slab_store<ashlar::new_delete_resource> store_{1, {}};
  std::byte* live_ = nullptr;
};

TEST_F(free_check, lets_a_live_cell_pass) {
  ashlar::check_free(site(), cell(0));
  ashlar::check_free(site(), cell(1));
}

TEST_F(free_check, knows_what_is_free_by_its_bit_or_by_word_of_the_pool) {
  ASHLAR_EXPECT_DEATH(ashlar::check_free(site(), cell(2)),
                      "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 24");
  ASHLAR_EXPECT_DEATH(ashlar::check_free(site(live_word(1)), cell(1)),
                      "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 24");
}

TEST_F(free_check, knows_the_start_of_a_cell) {
  for (const std::size_t offset : {std::size_t{1}, std::size_t{8}, cell_bytes / 2, cell_bytes - 1})
    ASHLAR_EXPECT_DEATH(
        ashlar::check_free(site(), cell(0) + offset),
        "ashlar: misaligned_free: freed a pointer into the middle of a cell, pointer 0x*, resource 0x*, size 24");
}

TEST_F(free_check, knows_what_is_nobodys_without_reading_it) {
  int local = 0;
  ASHLAR_EXPECT_DEATH(
      ashlar::check_free(site(), &local),
      "ashlar: invalid_free: freed a pointer that is not of this pool, pointer 0x*, resource 0x*, size 24");
  ASHLAR_EXPECT_DEATH(
      ashlar::check_free(site(), reinterpret_cast<void*>(std::uintptr_t{64})),
      "ashlar: invalid_free: freed a pointer that is not of this pool, pointer 0x*, resource 0x*, size 24");
}

TEST_F(free_check, knows_a_cell_that_is_freed_as_something_larger) {
  ashlar::check_larger_free(site(), &store_, {.bytes = 100, .alignment = 8});  // may be the upstream's
  ASHLAR_EXPECT_DEATH(ashlar::check_larger_free(site(), cell(0), {.bytes = 100, .alignment = 8}),
                      "ashlar: size_mismatch: freed a cell with the size of a larger block, pointer 0x*, resource 0x*, "
                      "size 24, expected 24, got 100");
}

}  // namespace
