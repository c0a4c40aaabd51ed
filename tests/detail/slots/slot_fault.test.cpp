// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the reports about released pointers that are not live objects of their pool.
#include <ashlar/detail/slots/slot_fault.hpp>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>

#include "tests/support/death.hpp"

namespace {

TEST(slot_fault, names_the_misuse_and_the_pointer) {
  int somewhere = 0;
  ASHLAR_EXPECT_DEATH(
      ashlar::detail::report_slot(ashlar::fault::double_free, ashlar::detail::freed_before, &somewhere, &somewhere, 48),
      "ashlar: double_free: released an object that is free, pointer 0x*, resource 0x*, size 48");
}

TEST(slot_fault, a_foreign_pointer_is_not_of_this_pool) {
  int somewhere = 0;
  ASHLAR_EXPECT_DEATH(ashlar::detail::report_foreign_slot(&somewhere, &somewhere, 48),
                      "ashlar: invalid_free: released a pointer that is not of this pool, pointer 0x*, "
                      "resource 0x*, size 48");
}

}  // namespace
