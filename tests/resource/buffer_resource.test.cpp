// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the resource inside a buffer: of the caller, or inside the object.
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>

#include "tests/support/conformance.hpp"

namespace {

using ashlar::buffer_resource;

struct heap_buffer : ashlar_test::conformance_defaults {
  static constexpr bool bounded = true;
  static constexpr bool any_order = false;
  std::vector<std::byte> memory = std::vector<std::byte>(256 * 1024);
  buffer_resource resource{memory};
};

TEST(buffer_resource, hands_out_every_byte_and_no_more) {
  alignas(16) std::array<std::byte, 100> memory;
  buffer_resource buffer(memory);
  EXPECT_EQ(buffer.capacity(), 100u);
  EXPECT_EQ(buffer.allocate(60, 1), memory.data());
  EXPECT_EQ(buffer.try_allocate(41, 1), nullptr);
  EXPECT_EQ(buffer.used(), 60u);
  EXPECT_EQ(buffer.allocate(40, 1), memory.data() + 60);
  EXPECT_EQ(buffer.used(), 100u);
  EXPECT_EQ(buffer.try_allocate(0, 1), nullptr);  // even an empty block takes a byte
  EXPECT_TRUE(buffer.invariant());
}

TEST(buffer_resource, takes_the_top_block_back_and_leaves_others_until_release) {
  alignas(16) std::array<std::byte, 64> memory;
  buffer_resource buffer(memory);
  void* const lower = buffer.allocate(16, 16);
  void* const upper = buffer.allocate(16, 16);
  buffer.deallocate(lower, 16, 16);
  EXPECT_EQ(buffer.used(), 32u);
  buffer.deallocate(upper, 16, 16);
  EXPECT_EQ(buffer.used(), 16u);
  EXPECT_EQ(buffer.allocate(16, 16), upper);
  buffer.release();
  EXPECT_EQ(buffer.used(), 0u);
  EXPECT_EQ(buffer.allocate(16, 16), lower);
}

TEST(buffer_resource, pads_to_the_alignment_for_any_start_of_the_buffer) {
  alignas(64) std::array<std::byte, 256> memory;
  for (std::size_t skip = 0; skip < 64; ++skip) {
    buffer_resource buffer(std::span<std::byte>(memory).subspan(skip));
    void* const p = buffer.allocate(8, 64);
    EXPECT_TRUE(ashlar::is_aligned(p, 64));
    EXPECT_EQ(buffer.used(), (64 - skip) % 64 + 8);
  }
}

TEST(buffer_resource, an_empty_buffer_has_nothing) {
  buffer_resource none{std::span<std::byte>()};
  EXPECT_EQ(none.capacity(), 0u);
  EXPECT_EQ(none.try_allocate(0, 1), nullptr);
  EXPECT_EQ(none.try_allocate(1, 4096), nullptr);
  EXPECT_FALSE(none.owns(nullptr));
  none.release();
  EXPECT_TRUE(none.invariant());
}

TEST(buffer_resource, a_padding_beyond_the_end_is_refused) {
  alignas(64) std::array<std::byte, 70> memory;
  buffer_resource buffer(memory);
  static_cast<void>(buffer.allocate(1, 1));
  EXPECT_EQ(buffer.try_allocate(7, 64), nullptr);
  EXPECT_EQ(buffer.try_allocate(1, std::size_t{1} << (sizeof(std::size_t) * 8 - 1)), nullptr);
  EXPECT_EQ(buffer.used(), 1u);
  EXPECT_NE(buffer.try_allocate(6, 64), nullptr);
}

TEST(buffer_resource, owns_its_buffer_and_not_the_byte_behind_it) {
  std::array<std::byte, 32> memory;
  const buffer_resource buffer(std::span<std::byte>(memory).subspan(8, 16));
  EXPECT_TRUE(buffer.owns(memory.data() + 8) && buffer.owns(memory.data() + 23));
  EXPECT_FALSE(buffer.owns(memory.data() + 7) || buffer.owns(memory.data() + 24));
}

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
            ashlar::align_up(64 + sizeof(ashlar::buffer_resource), alignof(std::max_align_t)));
}

TEST(inline_buffer, works_for_odd_sizes_down_to_one_byte) {
  inline_buffer<1> one;
  EXPECT_NE(one.try_allocate(1, 1), nullptr);
  EXPECT_EQ(one.try_allocate(1, 1), nullptr);
  inline_buffer<37> odd;
  EXPECT_NE(odd.try_allocate(37, 1), nullptr);
  EXPECT_TRUE(odd.invariant());
}

const bool tested = ashlar_test::conforms<heap_buffer>("buffer_resource");
const bool inline_buffer_tested = ashlar_test::conforms<buffer_of_64_kib>("inline_buffer");

}  // namespace
