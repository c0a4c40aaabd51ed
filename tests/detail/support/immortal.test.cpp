// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the object that is made before the program starts and never destroyed.
#include <cstdlib>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/detail/support/immortal.hpp>

namespace {

struct touchy {
  constexpr touchy() noexcept = default;
  ~touchy() { std::abort(); }
  int value = 42;
};

TEST(immortal, its_value_is_made_and_never_destroyed) {
  {
    const ashlar::detail::immortal<touchy> local;
    EXPECT_EQ(local.value.value, 42);
  }
  EXPECT_EQ(ashlar::detail::immortal_instance<touchy>.value.value, 42);  // its destructor would abort after main
}

TEST(immortal, there_is_one_instance_for_each_type) {
  ashlar::detail::immortal_instance<int>.value = 1;
  ashlar::detail::immortal_instance<long>.value = 2;
  EXPECT_EQ(ashlar::detail::immortal_instance<int>.value, 1);
  EXPECT_EQ(&ashlar::detail::immortal_instance<int>, &ashlar::detail::immortal_instance<int>);
}

TEST(immortal, neither_copies_nor_moves_and_costs_nothing) {
  EXPECT_FALSE(std::is_copy_constructible_v<ashlar::detail::immortal<int>>);
  EXPECT_FALSE(std::is_copy_assignable_v<ashlar::detail::immortal<int>>);
  EXPECT_EQ(sizeof(ashlar::detail::immortal<int>), sizeof(int));
}

}  // namespace
