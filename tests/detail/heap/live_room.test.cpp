// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the room around an address: in live blocks to their requested end, beside them none, outside any.
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/live_room.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::process_heap;
using ashlar::detail::live_room;
using ashlar::detail::max_size;

class live_room_test : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar::process_heap_type::cells_are_zero) GTEST_SKIP() << "known at level hardened, with guards";
  }
};

TEST_F(live_room_test, ends_with_the_request) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{8}, std::size_t{40}, std::size_t{4096},
                                  std::size_t{32'000}, std::size_t{70'000}, std::size_t{262'144}}) {
    auto* const p = static_cast<std::byte*>(process_heap().try_allocate(bytes));
    EXPECT_EQ(live_room(p), bytes);
    EXPECT_EQ(live_room(p + bytes / 2), bytes - bytes / 2);
    EXPECT_EQ(live_room(p + bytes), 0u) << bytes;
    process_heap().deallocate(p);
    const std::size_t left = live_room(p);
    EXPECT_TRUE(left == 0 || left == max_size) << "a slab with a live block, or inaccessible";
  }
}

TEST_F(live_room_test, is_none_in_free_cells_and_heads_and_any_outside) {
  auto* const p = static_cast<std::byte*>(process_heap().try_allocate(40));
  auto* const home = reinterpret_cast<std::byte*>(ashlar::detail::segment::of(p));
  EXPECT_EQ(live_room(home), 0u);
  EXPECT_EQ(live_room(home + 100'000), 0u);
  EXPECT_EQ(live_room(p - 1), 0u);
  EXPECT_EQ(live_room(&home), max_size);
  EXPECT_EQ(live_room(nullptr), max_size);
  process_heap().deallocate(p);
}

}  // namespace
