// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text beside a head keeps to the width and to its column.
#include <string>

#include <gtest/gtest.h>

#include "cli/support/table.hpp"

namespace {

using namespace ashlar::cli;

TEST(table, text_hangs_beside_its_head) {
  EXPECT_EQ(hanging("  a ", "one two three", 11), "  a one two\n    three");
  EXPECT_EQ(hanging("", "one two three", 7), "one two\nthree");
  EXPECT_EQ(hanging("→ ", "one two", 5), "→ one\n  two") << "columns, not bytes";
  EXPECT_EQ(hanging("a ", "", 5), "a ");
}

}  // namespace
