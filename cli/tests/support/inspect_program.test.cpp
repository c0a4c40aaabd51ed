// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the reasons why a program gets no library.
#include "cli/support/inspect_program.hpp"

#include <gtest/gtest.h>

namespace {

using namespace ashlar::cli;

TEST(inspect_program, the_remedy_of_another_word_size_is_one_that_exists) {
  constexpr preloaded_tool tool{.name = "libashlar.so", .use = "run"};
  EXPECT_EQ(describe({program_kind::other_class, "./p"}, tool),
            "./p has another word size than libashlar.so: build the program for 64 bits");
}

}  // namespace
