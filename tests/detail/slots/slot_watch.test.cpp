// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of marks of AddressSanitizer that neighbouring slots share.
#include <ashlar/detail/slots/slot_watch.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/base/threads.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/object_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/forbidden.hpp"
#include "tests/support/pool_traits.hpp"

namespace {

// AddressSanitizer has one mark for 8 bytes.
TEST(slot_watch, shared_slots_leave_marks_alone_that_are_their_neighbours_too) {
  alignas(8) std::array<unsigned char, 24> three = {};
  unsigned char* const middle = three.data() + 4;
  ashlar::detail::mark_free(three.data(), 24);
  ashlar::detail::mark_slot<true>(middle, 14, true);
  EXPECT_EQ(ashlar_test::forbidden_bytes(middle, 14), 0U);
  ashlar::detail::mark_slot_free<true>(middle, 14);
  const std::size_t marked = ashlar_test::has_asan ? 8 : 0;
  EXPECT_EQ(ashlar_test::forbidden_bytes(three.data() + 8, 8), marked);
  EXPECT_EQ(ashlar_test::forbidden_bytes(three.data(), 24), marked) << "none beside it";
  ashlar::detail::mark_live(three.data(), 24);
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

}  // namespace
