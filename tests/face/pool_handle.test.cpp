// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the handle to an object of a pool, over a pool that only counts.
#include <ashlar/face/pool_handle.hpp>

#include <memory>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace {

struct counting_pool {
  using value_type = int;
  void release(int* object) noexcept {
    ++released;
    last = object;
  }
  int released = 0;
  int* last = nullptr;
};

using handle = ashlar::pool_handle<counting_pool>;
counting_pool in_static_memory;

TEST(pool_handle, releases_once_to_its_pool) {
  counting_pool pool;
  int object = 5;
  {
    handle one(&object, ashlar::detail::returns_to(pool));
    handle other = std::move(one);
    EXPECT_EQ(other.get_deleter().pool(), &pool);
    EXPECT_EQ(*other, 5);
    EXPECT_EQ(pool.released, 0);
  }
  EXPECT_EQ(pool.released, 1);
  EXPECT_EQ(pool.last, &object);
}

TEST(pool_handle, is_two_words_and_an_empty_one_knows_no_pool) {
  EXPECT_EQ(sizeof(handle), 2 * sizeof(void*));
  EXPECT_FALSE(std::is_copy_constructible_v<handle>);
  const handle empty;
  EXPECT_EQ(empty.get_deleter().pool(), nullptr);
  EXPECT_FALSE(empty);
}

TEST(pool_handle, assigned_from_another_pools_goes_home_to_its_own) {
  counting_pool first, second;
  int a = 1, b = 2;
  handle of_first(&a, ashlar::detail::returns_to(first));
  of_first = handle(&b, ashlar::detail::returns_to(second));
  EXPECT_EQ(first.last, &a);
  of_first.reset();
  EXPECT_EQ(second.last, &b);
}

TEST(pool_handle, to_a_static_pool_is_one_word) {
  using one_word = ashlar::static_pool_handle<in_static_memory>;
  EXPECT_EQ(sizeof(one_word), sizeof(void*));
  int object = 5;
  {
    const one_word only(&object);
  }
  EXPECT_EQ(in_static_memory.last, &object);
}

}  // namespace
