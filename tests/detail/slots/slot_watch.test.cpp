// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that dead slots are poisoned at hardened, and kept objects never.
#include <ashlar/detail/slots/slot_watch.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/object_pool.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/forbidden.hpp"
#include "tests/support/pool_traits.hpp"

namespace {

using ashlar::fault;
using ashlar_test::caught_in;

struct slot {
  alignas(8) std::array<unsigned char, 24> bytes = {1, 2, 3};
  ~slot() { ashlar::detail::mark_live(bytes.data(), bytes.size()); }

  [[nodiscard]] bool is_poisoned() const {
    ashlar::detail::mark_readable(bytes.data(), bytes.size());
    return ashlar::detail::is_poisoned(bytes.data(), bytes.size());
  }
};

TEST(slot_watch, a_dead_slot_is_poison_at_hardened) {
  slot dead;
  ashlar::detail::poison_slot<false>(dead.bytes.data(), dead.bytes.size());
  EXPECT_EQ(dead.is_poisoned(), ashlar::detail::keeps_canaries);
}

TEST(slot_watch, a_slot_is_poisoned_by_its_marks) {
  slot raw;
  slot kept;
  ashlar::detail::retire_slot<false>(raw.bytes.data(), raw.bytes.size(), ashlar::detail::slot_word::raw_mark);
  ashlar::detail::retire_slot<false>(kept.bytes.data(), kept.bytes.size(), 0);
  EXPECT_EQ(raw.is_poisoned(), ashlar::detail::keeps_canaries);
  EXPECT_FALSE(kept.is_poisoned());
  EXPECT_EQ(kept.bytes[1], 2);
}

// AddressSanitizer has one mark for 8 bytes.
TEST(slot_watch, shared_slots_leave_marks_alone_that_are_their_neighbours_too) {
  slot three;
  unsigned char* const middle = three.bytes.data() + 4;
  ashlar::detail::mark_free(three.bytes.data(), 24);
  ashlar::detail::mark_slot<true>(middle, 14, true);
  EXPECT_EQ(ashlar_test::forbidden_bytes(middle, 14), 0U);
  ashlar::detail::mark_slot_free<true>(middle, 14);
  EXPECT_EQ(ashlar_test::forbidden_bytes(three.bytes.data() + 8, 8), ashlar_test::has_asan ? 8U : 0U);
  if constexpr (!ashlar_test::has_asan) return;
  EXPECT_EQ(ashlar_test::forbidden_bytes(three.bytes.data(), 8), 0U);
  EXPECT_EQ(ashlar_test::forbidden_bytes(three.bytes.data() + 16, 8), 0U);
}

TEST(slot_watch, threads_use_neighbouring_objects_that_share_marks) {
  struct object {
    unsigned char bytes[12];
  };
  ashlar::object_pool<object, ashlar_test::object_traits<256, ashlar::construct_on_acquire,
                                                         ashlar::throw_when_exhausted, ashlar::any_thread<>>>
      pool;
  const auto use_some = [&pool] {
    for (int round = 0; round < 100'000; ++round) {
      std::array<object*, 4> mine{};
      for (object*& each : mine) each = pool.acquire();
      for (object* const each : mine) std::memset(each->bytes, round % 256, sizeof(each->bytes));
      for (object* const each : mine) pool.release(each);
    }
  };
  std::array<std::thread, 4> team;
  for (std::thread& each : team) each = std::thread(use_some);
  for (std::thread& each : team) each.join();
  EXPECT_EQ(pool.live(), 0U);
}

TEST(slot_watch, a_write_to_a_dead_slot_is_reported) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "dead slots are poisoned at hardened";
  slot dead;
  ashlar::detail::poison_slot<false>(dead.bytes.data(), dead.bytes.size());
  EXPECT_FALSE(
      caught_in([&] { ashlar::detail::verify_slot(dead.bytes.data(), dead.bytes.size(), &dead); }).has_value());
  dead.bytes[23] = 0;
  const auto seen = caught_in([&] { ashlar::detail::verify_slot(dead.bytes.data(), dead.bytes.size(), &dead); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::corrupt_link);
  EXPECT_EQ(seen->resource, &dead);
}

}  // namespace
