// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the seal depends on each bit of its words, on their order and on the address.
#include <ashlar/detail/checks/seal.hpp>

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::seal_of;

TEST(seal, changes_with_each_bit_of_each_word) {
  const int place = 0;
  const std::uintptr_t whole = seal_of(&place, std::size_t{40'000}, &place, std::size_t{0});
  for (std::size_t bit = 0; bit < 8 * sizeof(std::size_t); ++bit) {
    const std::size_t flip = std::size_t{1} << bit;
    EXPECT_NE(whole, seal_of(&place, std::size_t{40'000} ^ flip, &place, std::size_t{0}));
    EXPECT_NE(whole, seal_of(&place, std::size_t{40'000}, &place, flip));
  }
  EXPECT_EQ(whole, seal_of(&place, std::size_t{40'000}, &place, std::size_t{0}));
}

TEST(seal, changes_with_the_order_and_the_address) {
  const int places[2] = {};
  EXPECT_NE(seal_of(places, std::size_t{1}, std::size_t{2}), seal_of(places, std::size_t{2}, std::size_t{1}));
  EXPECT_NE(seal_of(places, std::size_t{1}), seal_of(places + 1, std::size_t{1}));
}

TEST(seal, of_zeroes_is_not_zero) {
  const int place = 0;
  EXPECT_NE(seal_of(&place, std::size_t{0}, static_cast<const void*>(nullptr)), 0u);
}

}  // namespace
