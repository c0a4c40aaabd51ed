// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the stack of pending destructors: what they push themselves, and writes to it.
#include <array>
#include <cstddef>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/stack/finalizers.hpp>

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

struct pushes_another {
  pushes_another(finalizers& to, finalized<named>& which) : onto(to), other(which) {}
  ~pushes_another() { onto.push(other.entry); }
  finalizers& onto;
  finalized<named>& other;
};

TEST(finalizers, run_what_a_destructor_pushes) {
  ended.clear();
  finalizers stack;
  finalized<named> first('1'), late('2');
  finalized<pushes_another> pusher(stack, late);
  stack.push(first.entry);
  stack.push(pusher.entry);
  stack.run_down_to(nullptr, &stack);
  EXPECT_EQ(ended, "21");
}

struct counted {
  ~counted() { ended += 'c'; }
  int number = 0;
};

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
