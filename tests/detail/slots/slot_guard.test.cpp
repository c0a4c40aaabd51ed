// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that guards between slots take room at hardened only, and that each changed byte is reported.
#include <ashlar/detail/slots/slot_guard.hpp>

#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/death/caught.hpp"

namespace {

using ashlar::fault;
using ashlar::detail::has_guards;
using ashlar::detail::slot_guard;
using ashlar_test::caught_in;

static_assert(slot_guard<24, 8>::stride == (has_guards ? 32u : 24u));
static_assert(slot_guard<1, 1>::stride == (has_guards ? 2u : 1u));
static_assert(slot_guard<64, 64>::bytes == (has_guards ? 64u : 0u));

// Slots in memory of a test; the first `used` of them are handed out.
struct three_slots {
  using guard = slot_guard<24, 8>;

  explicit three_slots(std::size_t used) {
    if (!ashlar::detail::keeps_canaries) return;
    for (std::size_t i = 0; i < used; ++i) guard::begin(at(i), i == 0);
  }
  ~three_slots() { ashlar::detail::mark_live(memory.data(), memory.size()); }

  [[nodiscard]] std::byte* at(std::size_t slot) {
    return memory.data() + ashlar::detail::align_up(ashlar::detail::front_guard, 8) + slot * guard::stride;
  }
  void write(std::byte* p) const {
    ashlar::detail::mark_readable(p, 1);
    *p ^= std::byte{1};
  }

  alignas(8) std::array<std::byte, 16 + 3 * guard::stride> memory = {};
};

TEST(slot_guard, what_is_in_order_is_passed) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "slots have guards at hardened";
  three_slots all(2);
  const auto seen = caught_in([&] {
    three_slots::guard::expect(all.at(0), &all);
    three_slots::guard::expect_all(all.at(0), 2, &all);
  });
  EXPECT_FALSE(seen.has_value());
}

TEST(slot_guard, each_byte_behind_an_object_tells) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "slots have guards at hardened";
  for (std::size_t byte = 0; byte < three_slots::guard::bytes; ++byte) {
    three_slots all(2);
    all.write(all.at(0) + 24 + byte);
    const auto seen = caught_in([&] { three_slots::guard::expect(all.at(0), &all); });
    ASSERT_TRUE(seen.has_value()) << byte;
    EXPECT_EQ(seen->kind, fault::overflow);
    EXPECT_EQ(seen->expected, 24u);
    EXPECT_EQ(seen->got, 25u + byte);
    EXPECT_EQ(seen->resource, &all);
  }
}

TEST(slot_guard, the_byte_before_an_object_tells) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "slots have guards at hardened";
  for (const std::size_t slot : {0u, 1u}) {
    three_slots all(2);
    all.write(all.at(slot) - 1);
    const auto seen = caught_in([&] { three_slots::guard::expect(all.at(slot), &all); });
    ASSERT_TRUE(seen.has_value()) << slot;
    EXPECT_EQ(seen->kind, fault::underflow);
    EXPECT_EQ(seen->pointer, all.at(slot));
  }
}

TEST(slot_guard, all_guards_that_were_written_are_looked_at_and_no_others) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "slots have guards at hardened";
  three_slots all(2);
  all.write(all.at(2) + 24);
  EXPECT_FALSE(caught_in([&] { three_slots::guard::expect_all(all.at(0), 2, &all); }).has_value());
  all.write(all.at(1) + 24);
  const auto seen = caught_in([&] { three_slots::guard::expect_all(all.at(0), 2, &all); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->pointer, all.at(1));
}

}  // namespace
