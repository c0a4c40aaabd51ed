// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the places of headers, and of the division that finds slots, for every relevant size and offset.
#include <ashlar/detail/slots/slot_slab.hpp>

#include <cstddef>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include <ashlar/base/threads.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace {

using slab = ashlar::detail::slot_slab<ashlar::one_thread>;
using shared_slab = ashlar::detail::slot_slab<ashlar::any_thread<>>;
using ashlar::detail::slot_slab_alignment;

static_assert(sizeof(slab) == sizeof(shared_slab) && alignof(slab) == 64);
static_assert(ashlar::checking_level != ashlar::checking::fast || sizeof(slab) == 128, "two lines");

std::byte* nth_start(std::size_t n) {
  return reinterpret_cast<std::byte*>(std::uintptr_t{slot_slab_alignment} * (n + 100));
}

TEST(slot_slab, headers_of_neighbours_lie_in_different_cache_sets) {
  std::set<std::uintptr_t> offsets;
  for (std::size_t n = 0; n < slab::colours; ++n)
    offsets.insert(ashlar::detail::address_of(slab::in(nth_start(n))) % slot_slab_alignment);
  EXPECT_EQ(offsets.size(), slab::colours);
  EXPECT_LE(*offsets.rbegin(), slab::most_gap);
}

TEST(slot_slab, is_found_from_anywhere_in_its_first_bytes) {
  for (std::size_t n = 0; n < 20; ++n)
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, slot_slab_alignment - 1}) {
      EXPECT_EQ(slab::around(nth_start(n) + offset), slab::in(nth_start(n)));
      EXPECT_EQ(slab::around(slab::in(nth_start(n)))->start(), nth_start(n));
    }
}

TEST(slot_slab, divides_exactly) {
  alignas(slab) std::byte memory[sizeof(slab)];
  auto* const made = ::new (static_cast<void*>(memory)) slab;
  made->first_slot = nth_start(0);
  for (std::uint32_t bytes = 1; bytes <= slot_slab_alignment / 2; bytes += 1 + bytes / 50) {
    made->factor = slab::factor_for(bytes, 2);
    const std::uint32_t slots = static_cast<std::uint32_t>(slot_slab_alignment) / bytes;
    for (std::uint32_t i = 0; i < slots; i += 1 + slots / 200) {
      ASSERT_EQ(made->index_of(made->first_slot + std::size_t{i} * bytes), i) << bytes;
      ASSERT_EQ(made->index_of(made->first_slot + std::size_t{i} * bytes + bytes - 1), i) << bytes;
    }
  }
}

TEST(slot_slab, one_slot_has_all_addresses) {
  alignas(slab) std::byte memory[sizeof(slab)];
  auto* const made = ::new (static_cast<void*>(memory)) slab;
  made->first_slot = nth_start(0);
  made->factor = slab::factor_for(std::size_t{1} << 30, 1);
  EXPECT_EQ(made->index_of(made->first_slot + 200'000), 0u);
}

}  // namespace
