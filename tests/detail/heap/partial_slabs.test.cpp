// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the slabs of a class: added in front, removed anywhere; and of the cells that random numbers choose.
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/partial_slabs.hpp>

namespace {

using ashlar::detail::span_header;

TEST(partial_slabs_test, are_a_list) {
  ashlar::detail::partial_slabs of_class;
  std::array<span_header, 3> slabs{};
  for (span_header& each : slabs) of_class.add(each);
  EXPECT_EQ(of_class.slabs, &slabs[2]);
  of_class.remove(slabs[1]);
  EXPECT_FALSE(slabs[1].is_available);
  EXPECT_EQ(slabs[2].next, &slabs[0]);
  EXPECT_EQ(slabs[0].previous, &slabs[2]);
  of_class.remove(slabs[2]);
  EXPECT_EQ(of_class.slabs, &slabs[0]);
  of_class.remove(slabs[0]);
  EXPECT_EQ(of_class.slabs, nullptr);
}

TEST(partial_slabs_test, hand_out_each_cell_of_the_batch_once) {
  constexpr std::size_t cell_bytes = 48;
  alignas(64) std::array<std::byte, 64 * cell_bytes> memory;
  ashlar::detail::partial_slabs of_class;
  of_class.batch = {memory.data(), std::uint64_t{0b1011'0001} | std::uint64_t{1} << 63};
  of_class.cell_bytes = cell_bytes;
  std::set<std::ptrdiff_t> seen;
  for (std::uint64_t random = 9; of_class.batch.mask != 0; random = random * 5 % 64) {
    const ashlar::detail::sized_cell cell = of_class.take_any(random);
    EXPECT_EQ(cell.bytes, cell_bytes);
    seen.insert((cell.data - memory.data()) / static_cast<std::ptrdiff_t>(cell_bytes));
  }
  EXPECT_EQ(seen, (std::set<std::ptrdiff_t>{0, 4, 5, 7, 63}));
}

}  // namespace
