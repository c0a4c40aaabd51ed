// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the handle: eight bytes that compare and hash.
#include <ashlar/base/slot_handle.hpp>

#include <type_traits>
#include <unordered_set>

#include <gtest/gtest.h>

namespace {

using ashlar::slot_handle;

struct incomplete;
static_assert(sizeof(slot_handle<incomplete>) == 8 && std::is_trivially_copyable_v<slot_handle<incomplete>>);
static_assert(!slot_handle<int>() && slot_handle<int>(0, 1) && slot_handle<int>() == slot_handle<int>(0, 0));
static_assert(slot_handle<int>(1, 9) < slot_handle<int>(2, 1) && slot_handle<int>(1, 1) < slot_handle<int>(1, 2));
static_assert(!std::is_convertible_v<slot_handle<int>, slot_handle<long>>);  // each type has its own
static_assert(!std::is_convertible_v<slot_handle<int>, bool>);

TEST(slot_handle, is_a_key) {
  std::unordered_set<slot_handle<int>> known;
  for (unsigned index = 0; index < 50; ++index)
    for (unsigned generation = 1; generation < 20; ++generation) known.emplace(index, generation);
  EXPECT_EQ(known.size(), 50u * 19u);
  EXPECT_TRUE(known.contains({7, 3}));
  EXPECT_FALSE(known.contains({7, 20}));
}

}  // namespace
