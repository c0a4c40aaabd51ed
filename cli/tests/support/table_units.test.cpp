// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The number chooses the form of its noun and of its verb.
#include <gtest/gtest.h>

#include "cli/support/table_units.hpp"

namespace {

using namespace ashlar::cli;

TEST(table_units, a_noun_has_the_form_of_its_number) {
  EXPECT_EQ(counted(0, "event"), "0 events");
  EXPECT_EQ(counted(1, "event"), "1 event");
  EXPECT_EQ(counted(123'056, "event"), "123,056 events");
  EXPECT_EQ(counted(0, "batch is", "batches are"), "0 batches are");
  EXPECT_EQ(counted(1, "batch is", "batches are"), "1 batch is");
  EXPECT_EQ(counted(2, "batch is", "batches are"), "2 batches are");
}

TEST(table_units, a_noun_has_the_form_of_the_number_that_is_shown) {
  EXPECT_EQ(human_count(0, "page"), "0 pages");
  EXPECT_EQ(human_count(1.2, "page"), "1 page");
  EXPECT_EQ(human_count(1e6, "page is", "pages are"), "1.00 M pages are");
}

}  // namespace
