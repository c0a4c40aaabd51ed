// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the lifetimes of pooled objects: a kept object is reset, handed out unchanged, and destroyed once.
#include <ashlar/base/options.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/options.hpp>
#include <ashlar/face/object_pool.hpp>

#include "tests/face/pool_kinds.hpp"
#include "tests/face/witness.hpp"

namespace {

using ashlar::keep_constructed;
using ashlar::no_reset;
using ashlar::reset_with;
using ashlar_test::pool_of;
using ashlar_test::witness;

struct no_lifetime {};

struct cleared {
  std::string text = "fresh";
  int clears = 0;
  void clear() noexcept { text.clear(), ++clears; }
};

TEST(lifetime, policies_say_whether_they_keep) {
  EXPECT_TRUE(keep_constructed<>::keeps);
  EXPECT_FALSE(ashlar::construct_on_acquire::keeps);
  EXPECT_FALSE(ashlar::policy::lifetime<no_lifetime>);
  EXPECT_TRUE(std::is_empty_v<keep_constructed<reset_with<&cleared::clear>>>);
}

TEST(lifetime, a_reset_is_noexcept_as_its_member_is) {
  struct fallible {
    void fine() noexcept {}
    void risky() {}
  };
  EXPECT_TRUE((std::is_nothrow_invocable_v<reset_with<&fallible::fine>&, fallible&>));
  EXPECT_FALSE((std::is_nothrow_invocable_v<reset_with<&fallible::risky>&, fallible&>));
  EXPECT_TRUE((std::is_nothrow_invocable_v<no_reset&, fallible&>));
}

template <class Kind>
class kept_objects : public ::testing::Test {};
TYPED_TEST_SUITE(kept_objects, ashlar_test::pool_kinds);

TYPED_TEST(kept_objects, are_reset_by_a_member) {
  pool_of<TypeParam, cleared, 1, keep_constructed<reset_with<&cleared::clear>>> pool;
  cleared* const first = pool->acquire();
  EXPECT_EQ(first->text, "fresh");
  first->text = "used";
  pool->release(first);
  cleared* const again = pool->acquire();
  EXPECT_EQ(again, first);
  EXPECT_EQ(again->text, "");
  EXPECT_EQ(again->clears, 1);
}

TYPED_TEST(kept_objects, are_reset_by_a_lambda_with_state) {
  int resets = 0;
  auto reset = [&resets](std::string& text) noexcept { text = "reset", ++resets; };
  pool_of<TypeParam, std::string, 2, keep_constructed<decltype(reset)>> pool{keep_constructed(reset)};
  std::string* const text = pool->acquire("made");
  EXPECT_EQ(*text, "made");
  pool->release(text);
  EXPECT_EQ(resets, 1);
  EXPECT_EQ(*pool->acquire("ignored"), "reset");
}

TYPED_TEST(kept_objects, stay_as_they_were_without_reset) {
  pool_of<TypeParam, std::vector<int>, 2, keep_constructed<>> pool;
  std::vector<int>* const numbers = pool->acquire();
  numbers->assign(1000, 7);
  const int* const memory = numbers->data();
  pool->release(numbers);
  EXPECT_EQ(pool->acquire()->data(), memory);
}

TYPED_TEST(kept_objects, are_all_destroyed_once_at_the_end) {
  witness::start();
  {
    pool_of<TypeParam, witness, 9, keep_constructed<>> pool;
    std::vector<witness*> all;
    for (int i = 0; i < 7; ++i) all.push_back(pool->acquire(i));
    for (const std::size_t gone : {1u, 2u, 5u}) pool->release(all[gone]);
    pool->release(pool->acquire(0));
    EXPECT_EQ(witness::made(), witness::live()) << "nothing was destroyed";
    EXPECT_EQ(pool->live(), 4u);
  }
  EXPECT_EQ(witness::live(), 0u);
}

TYPED_TEST(kept_objects, go_with_their_slabs) {
  witness::start();
  pool_of<TypeParam, witness, 9, keep_constructed<>> pool;
  if constexpr (requires { pool->trim(); }) {
    for (int i = 0; i < 9; ++i) pool->acquire(i);
    pool->clear();
    EXPECT_EQ(witness::live(), 9u);
    pool->trim();
    EXPECT_EQ(witness::live(), 0u);
    EXPECT_EQ(pool->acquire(4)->value, 4);
  }
}

#if defined(__cpp_exceptions)
TYPED_TEST(kept_objects, a_constructor_that_throws_leaves_the_slot_raw) {
  witness::start(0);
  pool_of<TypeParam, witness, 1, keep_constructed<>> pool;
  EXPECT_THROW(pool->acquire(1), ashlar_test::refused_to_be);
  EXPECT_TRUE(pool->empty());
  witness::start();
  EXPECT_EQ(pool->acquire(2)->value, 2) << "constructed, since there was nothing to keep";
  EXPECT_EQ(witness::made(), 1u);
}
#endif

}  // namespace
