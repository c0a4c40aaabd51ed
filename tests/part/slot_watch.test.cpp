// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dead slots are poisoned at hardened, kept objects never.
#include <ashlar/part/slot_watch.hpp>

#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/poison.hpp>
#include <ashlar/part/poison.hpp>
#include <ashlar/part/slot_word.hpp>

#include "tests/death/caught.hpp"

namespace {

using ashlar::fault;
using ashlar_test::caught_in;

struct slot {
  alignas(8) std::array<unsigned char, 24> bytes = {1, 2, 3};
  ~slot() { ashlar::mark_live(bytes.data(), bytes.size()); }

  [[nodiscard]] bool is_poisoned() const {
    ashlar::mark_readable(bytes.data(), bytes.size());
    return ashlar::is_poisoned(bytes.data(), bytes.size());
  }
};

TEST(slot_watch, a_dead_slot_is_poison_at_hardened) {
  slot dead;
  ashlar::poison_slot(dead.bytes.data(), dead.bytes.size());
  EXPECT_EQ(dead.is_poisoned(), ashlar::keeps_canaries);
}

TEST(slot_watch, a_slot_is_poisoned_by_its_marks) {
  slot raw;
  slot kept;
  ashlar::retire_slot(raw.bytes.data(), raw.bytes.size(), ashlar::slot_word::raw_mark);
  ashlar::retire_slot(kept.bytes.data(), kept.bytes.size(), 0);
  EXPECT_EQ(raw.is_poisoned(), ashlar::keeps_canaries);
  EXPECT_FALSE(kept.is_poisoned());
  EXPECT_EQ(kept.bytes[1], 2);
}

TEST(slot_watch, a_write_to_a_dead_slot_is_reported) {
  if (!ashlar::keeps_canaries) GTEST_SKIP() << "dead slots are poisoned at hardened";
  slot dead;
  ashlar::poison_slot(dead.bytes.data(), dead.bytes.size());
  EXPECT_FALSE(caught_in([&] { ashlar::verify_slot(dead.bytes.data(), dead.bytes.size(), &dead); }).has_value());
  dead.bytes[23] = 0;
  const auto seen = caught_in([&] { ashlar::verify_slot(dead.bytes.data(), dead.bytes.size(), &dead); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::corrupt_link);
  EXPECT_EQ(seen->resource, &dead);
}

}  // namespace
