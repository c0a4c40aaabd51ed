// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of slots inside an object: size, alignment, registration.
#include <ashlar/detail/slots/slot_run.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/slots/slot_guard.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/bits.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::plain_slot_word;
using ashlar::detail::shared_slot_word;
using ashlar::detail::slot_run;

template <std::size_t Bytes, std::size_t Alignment, std::size_t Count>
using plain_run = slot_run<Bytes, Alignment, Count, plain_slot_word>;

constinit plain_run<24, 8, 10> in_static_memory;
constinit slot_run<24, 8, 10, shared_slot_word<>> shared_in_static_memory;

TEST(slot_run, is_constant_initialised_with_words_of_zero) {
  EXPECT_EQ(in_static_memory.capacity(), 10u);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(in_static_memory.words()[i].load(), 0u);
    EXPECT_EQ(shared_in_static_memory.words()[i].load(), 0u);
  }
}

TEST(slot_run, stays_where_it_is) {
  using run = plain_run<8, 8, 1>;
  EXPECT_FALSE(std::is_copy_constructible_v<run> || std::is_move_constructible_v<run>);
  EXPECT_FALSE(std::is_copy_assignable_v<run> || std::is_move_assignable_v<run>);
}

TEST(slot_run, costs_its_slots_and_four_bytes_for_each) {
  if constexpr (!ashlar_test::is_checked && !ashlar::detail::marks_memory) {
    EXPECT_EQ(sizeof(plain_run<64, 8, 100>), 100u * 64 + 100 * 4);
    EXPECT_EQ(sizeof(plain_run<1, 1, 8>), 8u + 8 * 4);
  }
  EXPECT_LE(sizeof(plain_run<64, 8, 100>), 100u * (ashlar::detail::slot_guard<64, 8>::stride + 4) + 128);
}

template <std::size_t Bytes, std::size_t Alignment>
void expect_aligned() {
  constexpr std::size_t stride = ashlar::detail::slot_guard<Bytes, Alignment>::stride;
  plain_run<Bytes, Alignment, 5> run;
  run.open(&run);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(ashlar::detail::is_aligned(run.first_slot() + i, Alignment));
    EXPECT_EQ(ashlar::detail::address_of(run.first_slot() + i),
              ashlar::detail::address_of(run.first_slot()) + i * stride);
  }
}

TEST(slot_run, slots_are_aligned_and_side_by_side_but_for_guards) {
  expect_aligned<1, 1>();
  expect_aligned<3, 1>();
  expect_aligned<12, 4>();
  expect_aligned<128, 64>();
  expect_aligned<8192, 4096>();
}

TEST(slot_run, has_room_for_a_guard_in_front_of_its_first_slot) {
  const plain_run<12, 4, 2> run;
  const void* const end_of_words = run.words() + run.capacity();
  EXPECT_GE(ashlar::detail::address_of(run.first_slot()),
            ashlar::detail::address_of(end_of_words) + ashlar::detail::front_guard);
}

TEST(slot_run, is_in_the_registry_from_open_to_end_where_that_is_kept) {
  std::optional<plain_run<16, 8, 4>> run(std::in_place);
  const void* const slot = run->first_slot() + 2;
  run->open(&run);
  EXPECT_TRUE(run->is_open());
  EXPECT_EQ(ashlar::detail::process_slabs.find(slot).owner, ashlar_test::is_checked ? &run : nullptr);
  EXPECT_EQ(ashlar::detail::process_slabs.find(run->first_slot() + 4).owner, nullptr);
  run.reset();
  EXPECT_EQ(ashlar::detail::process_slabs.find(slot).owner, nullptr);
}

}  // namespace
