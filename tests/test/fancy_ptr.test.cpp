// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the pointer class for tests of containers; those of its arithmetic are in tests/face/offset_ptr.test.cpp.
#include <ashlar/test/fancy_ptr.hpp>

#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>

#include <gtest/gtest.h>

namespace {

using ashlar::test::fancy_ptr;

static_assert(!std::is_convertible_v<int*, fancy_ptr<int>> && !std::is_convertible_v<fancy_ptr<int>, int*>);
static_assert(std::is_same_v<std::pointer_traits<fancy_ptr<int>>::rebind<long>, fancy_ptr<long>>);
static_assert(std::random_access_iterator<fancy_ptr<int>>);

TEST(fancy_ptr, shows_a_copy_byte_by_byte) {
  int target = 7;
  const fancy_ptr<int> p(&target);
  fancy_ptr<int> copy;
  std::memcpy(static_cast<void*>(&copy), static_cast<const void*>(&p), sizeof p);
  EXPECT_NE(copy.get(), &target);
  EXPECT_EQ(fancy_ptr<int>(p).get(), &target);
}

}  // namespace
