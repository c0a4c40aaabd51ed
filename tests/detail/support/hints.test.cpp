// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that hints change speed and layout only, never a value.
#include <ashlar/detail/support/hints.hpp>

#include <type_traits>

#include <gtest/gtest.h>

namespace {

struct empty {};

struct with_hint {
  void* word;
  ASHLAR_NO_UNIQUE_ADDRESS empty nothing;
};
static_assert(sizeof(with_hint) == sizeof(void*));

ASHLAR_INLINE int inlined() { return 1; }
ASHLAR_NOINLINE int not_inlined() { return 2; }
ASHLAR_COLD int cold() { return 3; }

TEST(hints, conditions_keep_their_truth) {
  int object = 0;
  int* const null = nullptr;
  for (const int value : {0, 1, 2, -1}) {
    EXPECT_EQ(ASHLAR_LIKELY(value) != 0, value != 0) << value;
    EXPECT_EQ(ASHLAR_UNLIKELY(value) != 0, value != 0) << value;
  }
  EXPECT_TRUE(ASHLAR_LIKELY(&object));
  EXPECT_FALSE(ASHLAR_UNLIKELY(null));
}

TEST(hints, a_condition_is_evaluated_once) {
  int evaluated = 0;
  if (ASHLAR_LIKELY(++evaluated)) EXPECT_EQ(evaluated, 1);
  if (ASHLAR_UNLIKELY(++evaluated)) EXPECT_EQ(evaluated, 2);
}

TEST(hints, functions_do_what_they_say) { EXPECT_EQ(inlined() + not_inlined() + cold(), 6); }

TEST(hints, registers_keep_their_values) {
  int object = 7;
  int* pointer = &object;
  ASHLAR_IN_REGISTER(pointer);
  EXPECT_EQ(*pointer, 7);
}

}  // namespace
