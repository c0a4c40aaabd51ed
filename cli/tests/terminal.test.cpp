// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of colours and of the line of progress, on a terminal and in a pipe.
#include "cli/support/terminal.hpp"
#include "cli/tests/command.hpp"

namespace {

using ashlar::cli::painted;
using ashlar_test::has;

TEST(painted_text, has_headings_in_bold_and_a_color_for_each_verdict) {
  EXPECT_TRUE(ashlar::cli::choose_colors("always"));
  EXPECT_EQ(painted("Gain: 3 % less\n\nA  B\n─────\nx  loss\ny  level\nz  undecided: 2 %\n"),
            "\033[32mGain\033[0m: 3 % less\n\n\033[1mA  B\033[0m\n─────\nx  \033[31mloss\033[0m\n"
            "y  \033[36mlevel\033[0m\nz  \033[33mundecided\033[0m: 2 %\n");
  EXPECT_EQ(painted("sizes\n  1 B\n\n· a gain of\n  2 %\n\nno loss\n"),
            "\033[1msizes\033[0m\n  1 B\n\n· a gain of\n  2 %\n\nno loss\n");
  EXPECT_TRUE(ashlar::cli::choose_colors("never"));
  EXPECT_EQ(painted("Gain: 3 %\n"), "Gain: 3 %\n");
  EXPECT_FALSE(ashlar::cli::choose_colors("sometimes"));
  EXPECT_TRUE(ashlar::cli::choose_colors("auto"));
}

class terminal : public ashlar_test::command_test {
protected:
  /// Returns: all that a terminal gets from the command in this environment. `script` gives it one.
  std::string on_terminal(const std::string& arguments, const std::string& environment = "TERM=xterm") {
    const std::string line = environment + " " ASHLAR_COMMAND " " + arguments;
    static_cast<void>(ashlar_test::run_shell("env -u NO_COLOR script -qec " + ashlar::cli::quoted(line) + " " +
                                             file("typescript") + " > " + file("terminal") + " < /dev/null"));
    return text("terminal");
  }
};

constexpr const char *red = "\033[1;31mashlar report:\033[0m ", *bold = "\033[1m", *erased = "\r\033[K";

TEST_F(terminal, colors_are_for_terminals_unless_they_are_refused) {
  const std::string trace = sample(1000);
  EXPECT_TRUE(has(on_terminal("report " + trace), bold));
  for (const char* const refusal : {"TERM=xterm NO_COLOR=1", "TERM=dumb", "-u TERM"})
    EXPECT_FALSE(has(on_terminal("report " + trace, std::string("env ") + refusal), bold)) << refusal;
  EXPECT_FALSE(has(on_terminal("report --color never " + trace), bold));
  EXPECT_TRUE(has(on_terminal("report --color=always " + trace, "NO_COLOR=1"), bold));
  EXPECT_TRUE(has(on_terminal("report nonesuch"), red));
  ASSERT_EQ(ashlar("report " + trace), 0);
  EXPECT_FALSE(said("out", "\033"));
  ASSERT_EQ(ashlar("report --color always " + trace), 0);
  EXPECT_TRUE(said("out", bold));
  EXPECT_TRUE(failed(ashlar("report --color blue " + trace), 2,
                     "ashlar report: --color: 'blue' is not auto, always or never; see ashlar report --help\n"));
}

TEST_F(terminal, progress_is_shown_with_the_time_left_and_erased_before_the_text) {
  const std::string shown = on_terminal("verify --runs 7 --a true --b 'sleep 0.1'");
  EXPECT_TRUE(has(shown, "\r\033[K[warming up: A]"));
  EXPECT_TRUE(has(shown, "\r\033[K[round 1 of 7 at most]"));
  static const std::regex last(R"(\r\x1b\[K\[round 7 of 7 at most, \d+ s left\]\r\x1b\[KA: true)");
  EXPECT_TRUE(std::regex_search(shown, last)) << shown;
  EXPECT_TRUE(has(on_terminal("replay --repetitions 3 --with glibc " + sample(1000)), "[round 3 of 3 at most, "));
  const std::string narrow = on_terminal("verify --runs 7 --a true --b 'sleep 0.1'", "stty cols 20; TERM=xterm");
  EXPECT_TRUE(has(narrow, "\r\033[K[round 7 of 7 at …]\r\033[K")) << narrow;
  EXPECT_GT(ashlar("verify --runs 7 --a true --b 'sleep 0.1'"), 2);  // lost or undecided: both are verdicts
  EXPECT_EQ(text("err"), "");
}

TEST_F(terminal, gets_no_file_that_is_not_text) {
  const std::string shown = on_terminal("export --format parquet " + sample(100));
  EXPECT_TRUE(has(shown, "parquet is not for a terminal: -o FILE, or a pipe")) << shown;
  EXPECT_FALSE(has(shown, "PAR1"));
}

TEST_F(terminal, a_long_trace_is_read_with_progress) {
  const std::string shown = on_terminal("report " + sample(2'000'000));
  static const std::regex reading(R"(\[reading [^ ]*sample.trace: \d+ %, [^\]]* left\])");
  EXPECT_TRUE(std::regex_search(shown, reading)) << shown;
  EXPECT_FALSE(has(shown.substr(shown.rfind(erased)), "[reading"));
}

}  // namespace
