// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the buffer resource with its buffer inside the object.
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>

#include "tests/support/conformance.hpp"

namespace {

using ashlar::inline_buffer;

struct buffer_of_64_kib : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 64;
  static constexpr bool bounded = true;
  static constexpr bool any_order = false;
  inline_buffer<64 * 1024> resource;
};

TEST(inline_buffer, is_aligned_for_any_object_from_its_first_byte) {
  inline_buffer<64> buffer;
  void* const first = buffer.allocate(64, alignof(std::max_align_t));
  EXPECT_EQ(first, static_cast<void*>(&buffer));
  EXPECT_EQ(buffer.try_allocate(1, 1), nullptr);
}

TEST(inline_buffer, costs_its_bytes_and_three_pointers) {
  EXPECT_EQ(inline_buffer<64>().capacity(), 64u);
  EXPECT_LE(sizeof(inline_buffer<64>),
            ashlar::detail::align_up(64 + sizeof(ashlar::buffer_resource), alignof(std::max_align_t)));
}

TEST(inline_buffer, works_for_odd_sizes_down_to_one_byte) {
  inline_buffer<1> one;
  EXPECT_NE(one.try_allocate(1, 1), nullptr);
  EXPECT_EQ(one.try_allocate(1, 1), nullptr);
  inline_buffer<37> odd;
  EXPECT_NE(odd.try_allocate(37, 1), nullptr);
  EXPECT_TRUE(odd.invariant());
}

}  // namespace

namespace ashlar_test {
const bool tested = conforms("inline_buffer", ::testing::Types<buffer_of_64_kib>{});
}
