// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of text for people: tables, numbers with their nouns, command lines, and the reasons why a program gets no
// library.
#include <gtest/gtest.h>

#include "cli/support/inspect_program.hpp"
#include "cli/support/text.hpp"

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

TEST(words, a_shell_line_has_quotes_where_the_shell_needs_them) {
  EXPECT_EQ(shell_line({"prog", "-o=a.txt", "/b/c_d", "50%"}), "prog -o=a.txt /b/c_d 50%");
  EXPECT_EQ(shell_line({"prog", "a b", "", "$x", "it's", "~", "*"}), "prog 'a b' '' '$x' 'it'\\''s' '~' '*'");
  EXPECT_EQ(shell_line({"a=b", "c=d"}), "'a=b' c=d") << "the first would be an assignment";
  EXPECT_EQ(shell_word("a=b"), "a=b");
  EXPECT_EQ(shell_line({"/bin/sh", "-c", "a | b"}), "/bin/sh -c 'a | b'");
}

TEST(words, a_shell_line_is_read_back) {
  const std::vector<std::string> words = {"prog", "a b", "c\td", "\"e\"", "|&;<>()`\\?[#", "f"};
  EXPECT_EQ(command_words(shell_line(words)), words);
}

TEST(inspect_program, the_remedy_of_another_word_size_is_one_that_exists) {
  constexpr preloaded_tool tool{.name = "libashlar.so", .use = "run"};
  EXPECT_EQ(describe({program_kind::other_class, "./p"}, tool),
            "./p has another word size than libashlar.so: build the program for 64 bits");
}

}  // namespace
