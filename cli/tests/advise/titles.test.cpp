// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tells sites of one name apart.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/advise/sites.hpp"

namespace {

using ashlar::cli::distinctions;
using texts = std::vector<std::string>;

TEST(titles, one_mark_that_no_other_site_has_suffices) {
  EXPECT_EQ(distinctions({{"← a", "← b", "← c"}, {"← a", "← d", "← e"}}), (texts{"← b", "← d"}));
}

TEST(titles, callers_together_tell_what_none_tells_alone) {
  const texts found = distinctions({{"← lexer", "← left", "← up"},
                                    {"← lexer", "← left", "← down"},
                                    {"← lexer", "← right", "← up"},
                                    {"← lexer", "← right", "← down"}});
  EXPECT_EQ(found, (texts{"← left ← up", "← left ← down", "← right ← up", "← right ← down"}));
}

TEST(titles, a_site_whose_marks_others_have_too_has_none) {
  EXPECT_EQ(distinctions({{"← a"}, {"← a", "← b"}}), (texts{"", "← b"}));
  EXPECT_EQ(distinctions({{"← a"}, {"← a"}}), (texts{"", ""}));
  EXPECT_EQ(distinctions({{"← a"}}), (texts{""}));
}

}  // namespace
