// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the stack of pending destructors.
#include <array>
#include <cstddef>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/stack/finalizers.hpp>
#include <ashlar/detail/support/bits.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::detail::finalized;
using ashlar::detail::finalized_array;
using ashlar::detail::finalizers;

std::string ended;

struct named {
  explicit named(char as = '?') : name(as) {}
  named(const named&) = delete;
  named& operator=(const named&) = delete;
  ~named() { ended += name; }
  char name;
};

TEST(finalizers, run_the_latest_first_down_to_a_given_entry) {
  ended.clear();
  finalized<named> a('a'), b('b'), c('c');
  finalizers stack;
  stack.push(a.entry);
  stack.push(b.entry);
  stack.push(c.entry);
  stack.run_down_to(&a.entry, &stack);
  EXPECT_EQ(ended, "cb");
  EXPECT_EQ(stack.first(), &a.entry);
  stack.run_down_to(nullptr, &stack);
  EXPECT_EQ(ended, "cba");
  stack.run_down_to(nullptr, &stack);
  EXPECT_EQ(ended, "cba");
}

struct pushes_another {
  finalizers& onto;
  finalized<named>& other;
  ~pushes_another() { onto.push(other.entry); }
};

TEST(finalizers, run_what_a_destructor_pushes) {
  ended.clear();
  finalizers stack;
  finalized<named> first('1'), late('2');
  struct pushing : pushes_another {
    pushing(finalizers& to, finalized<named>& which) : pushes_another{to, which} {}
  };
  finalized<pushing> pusher(stack, late);
  stack.push(first.entry);
  stack.push(pusher.entry);
  stack.run_down_to(nullptr, &stack);
  EXPECT_EQ(ended, "21");
}

struct counted {
  static inline int made = 0, fails_at = -1;
  counted() : number(made++) {
    if (number == fails_at) ASHLAR_THROW(number);
  }
  ~counted() { ended += static_cast<char>('0' + number); }
  int number;
};

TEST(finalizers, end_the_elements_of_an_array_the_last_first) {
  ended.clear();
  counted::made = 0;
  using array = finalized_array<counted>;
  alignas(array) std::array<std::byte, array::offset() + 3 * sizeof(counted)> memory;
  auto* const three = ::new (memory.data()) array;
  three->build(3);
  EXPECT_EQ(three->elements()[2].number, 2);
  EXPECT_EQ(static_cast<void*>(three->elements()), memory.data() + array::offset());
  finalizers stack;
  stack.push(three->entry);
  stack.run_down_to(nullptr, &stack);
  EXPECT_EQ(ended, "210");
}

#if defined(__cpp_exceptions)
TEST(finalizers, end_what_was_built_of_an_array_when_an_element_throws) {
  for (int at = 0; at < 4; ++at) {
    ended.clear();
    counted::made = 0;
    counted::fails_at = at;
    using array = finalized_array<counted>;
    alignas(array) std::array<std::byte, array::offset() + 4 * sizeof(counted)> memory;
    EXPECT_THROW((::new (memory.data()) array)->build(4), int);
    EXPECT_EQ(ended, std::string("3210").substr(4 - static_cast<std::size_t>(at)));
  }
  counted::fails_at = -1;
}
#endif

struct alignas(64) wide {
  ~wide() { ended += ashlar::detail::is_aligned(this, 64) ? 'w' : '!'; }
};

TEST(finalizers, keep_elements_aligned) {
  ended.clear();
  EXPECT_EQ(finalized_array<wide>::offset() % 64, 0u);
  finalized<wide> one;
  EXPECT_TRUE(ashlar::detail::is_aligned(&one.object, 64));
  one.entry.end(&one.entry);
  EXPECT_EQ(ended, "w");
}

// A function pointer beside the data of blocks is verified before it is called.
TEST(finalizers, are_not_run_where_they_were_written_to) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "verified from level checked on";
  finalized<named> object('x');
  for (std::size_t at = 0; at < 2 * sizeof(void*); ++at) {
    finalizers stack;
    stack.push(object.entry);
    auto* const bytes = static_cast<unsigned char*>(static_cast<void*>(&object.entry));
    bytes[at] ^= 1;
    const auto seen = ashlar_test::caught_in([&] { stack.run_down_to(nullptr, &stack); });
    bytes[at] ^= 1;
    ASSERT_TRUE(seen.has_value()) << at;
    EXPECT_EQ(seen->kind, ashlar::fault::overflow);
    EXPECT_EQ(seen->resource, &stack);
  }
}

TEST(finalizers, end_no_array_whose_count_was_written_to) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "verified from level checked on";
  using array = finalized_array<counted>;
  alignas(array) std::array<std::byte, array::offset() + 2 * sizeof(counted)> memory;
  auto* const two = ::new (memory.data()) array;
  two->build(2);
  two->count = 200;
  finalizers stack;
  stack.push(two->entry);
  const auto seen = ashlar_test::caught_in([&] { stack.run_down_to(nullptr, &stack); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, ashlar::fault::underflow);
}

}  // namespace
