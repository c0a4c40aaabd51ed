// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text beside a head keeps to the width and to its column.
#include <string>

#include <gtest/gtest.h>

#include "cli/support/printable.hpp"
#include "cli/support/table.hpp"

namespace {

using namespace ashlar::cli;

TEST(table, text_hangs_beside_its_head) {
  EXPECT_EQ(hanging("  a ", "one two three", 11), "  a one two\n    three");
  EXPECT_EQ(hanging("", "one two three", 7), "one two\nthree");
  EXPECT_EQ(hanging("→ ", "one two", 5), "→ one\n  two") << "columns, not bytes";
  EXPECT_EQ(hanging("a ", "", 5), "a ");
}

TEST(table, control_characters_are_escaped_in_cells_wrapped_and_shortened_text) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc\td\r\x7f"), "a\\x1b[2Jb\\nc\\td\\r\\x7f");
  EXPECT_EQ(printable("\xC2\x9B[2J \xC2\xA0 é"), "\\u009b[2J \xC2\xA0 é");
  EXPECT_EQ(printable(printable("\x1b")), "\\x1b");
  text_table table({{"name", side::left}, {"times"}});
  table.add({"two\nlines", "1"});
  EXPECT_EQ(table.str(), "name        times\n─────────────────\ntwo\\nlines      1\n");
  EXPECT_EQ(wrapped("red \x1b[31m text", 100), "red \\x1b[31m text");
  EXPECT_EQ(shorten("\x1b[2J", 5), "\\x1b…");
}

}  // namespace
