// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the ledger of default-constructed allocators.
#include <ashlar/test/default_ledger.hpp>

#include <gtest/gtest.h>

#include <ashlar/test/checking_allocator.hpp>
#include <ashlar/test/ledger.hpp>

#include "tests/support/death.hpp"

namespace {

using ashlar::test::default_ledger;
using ashlar::test::ledger;

TEST(default_ledger, scopes_nest) {
  ledger outer;
  ledger inner;
  const default_ledger in_outer(outer);
  {
    const default_ledger in_inner(inner);
    EXPECT_EQ(&default_ledger::get(), &inner);
  }
  EXPECT_EQ(&default_ledger::get(), &outer);
}

TEST(default_ledger, an_allocator_made_from_nothing_is_unequal_to_all_others) {
  ledger book;
  const default_ledger scope(book);
  using allocator = ashlar::test::checking_allocator<int>;
  EXPECT_EQ(&allocator().book(), &book);
  EXPECT_FALSE(allocator() == allocator());
}

TEST(default_ledger, making_an_allocator_from_nothing_outside_is_misuse) {
  ASHLAR_EXPECT_DEATH(ashlar::test::checking_allocator<int>(),
                      "ashlar: precondition: default-constructed a checking_allocator outside a default_ledger");
}

}  // namespace
