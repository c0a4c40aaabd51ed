// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of the common behaviour of all verbs: help, mistakes, versions, damaged traces.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/tests/command.hpp"

namespace {

using ashlar_test::starts;

constexpr const char* every_verb[] = {"record", "report", "diff",   "replay", "export", "advise",
                                      "try",    "verify", "budget", "run",    "plan"};

class command : public ashlar_test::command_test {};

TEST_F(command, has_a_version_by_every_name) {
  for (const char* word : {"version", "--version", "-V"}) {
    EXPECT_EQ(ashlar(word), 0);
    EXPECT_TRUE(starts(text("out"), "ashlar 0."));
  }
}

TEST_F(command, a_mistyped_verb_or_option_is_guessed) {
  EXPECT_TRUE(failed(ashlar("reprot t.trace"), 2, "ashlar: unknown verb 'reprot'; did you mean 'report'?\n"));
  EXPECT_TRUE(failed(ashlar("xyzzy"), 2, "ashlar: unknown verb 'xyzzy'; 'ashlar --help' lists them\n"));
  EXPECT_TRUE(failed(ashlar("--vresion"), 2, "ashlar: unknown verb '--vresion'; did you mean '--version'?\n"));
  EXPECT_TRUE(failed(ashlar("report t.trace --jsno x"), 2,
                     "ashlar report: unknown option --jsno; did you mean '--json'?; see ashlar report --help\n"));
  EXPECT_TRUE(failed(ashlar("record --stack 4 -- true"), 2, "did you mean '--stacks'?"));
  EXPECT_TRUE(failed(ashlar("report a b"), 2, "unexpected argument b"));
  EXPECT_EQ(ashlar("report"), 2);
}

TEST_F(command, an_empty_name_of_a_file_is_a_mistake) {
  const std::string trace = sample(100);
  for (const std::string& arguments : {"advise " + trace + " --json ''", "advise " + trace + " -o ''",
                                       "report " + trace + " --html ''", std::string("record -o '' -- true")}) {
    EXPECT_TRUE(failed(ashlar(arguments), 2, ": the name of the file is empty; see ashlar ")) << arguments;
  }
}

TEST_F(command, help_of_all_verbs_is_of_one_form) {
  for (const std::string verb : every_verb) {
    ASSERT_EQ(ashlar(verb + " --help"), 0);
    EXPECT_TRUE(said("out", "Exit status: ")) << verb;
    EXPECT_TRUE(said("out", "  -h,--help ") || said("out", "  -h,     --help "));
    for (const char* noise : {"TEXT", "UINT:", "FLOAT", "->", "INT in"})
      EXPECT_FALSE(said("out", noise)) << verb << noise << text("out");
  }
}

/// Returns: each verb with a status that the tables of docs/exit-statuses.md explain; 2 is the same for all.
std::set<std::string> explained_statuses() {
  std::ifstream page(std::filesystem::path(__FILE__).parent_path() / "../../docs/exit-statuses.md");
  std::set<std::string> all;
  std::vector<std::string> head;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("|")) head.clear();
    if (!line.starts_with("| ")) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(2));
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
    if (head.empty()) head = cells;
    for (std::size_t i = 1; head != cells && i < cells.size(); ++i) {
      if (cells[i].find_first_not_of(' ') == std::string::npos) continue;
      const std::string heads = cells[0] + head[i];
      static const std::regex verb("`([a-z]+)`"), status("[0-9]+");
      for (std::sregex_iterator at(heads.begin(), heads.end(), verb); at != std::sregex_iterator(); ++at)
        all.insert((*at)[1].str() + " " + std::sregex_iterator(heads.begin(), heads.end(), status)->str());
    }
  }
  return all;
}

TEST_F(command, statuses_in_the_help_of_each_verb_are_on_one_page) {
  std::set<std::string> told = {"record 0", "run 0"};  // "that of the program"
  for (const std::string verb : every_verb) {
    ASSERT_EQ(ashlar(verb + " --help"), 0);
    const std::string help = text("out"), end = help.substr(help.find("Exit status: "));
    static const std::regex status("\\b(?:[0-5]|12[4-7])\\b");
    for (std::sregex_iterator at(end.begin(), end.end(), status); at != std::sregex_iterator(); ++at)
      if (at->str() != "2") told.insert(verb + " " + at->str());
  }
  EXPECT_EQ(told, explained_statuses());
}

TEST_F(command, help_on_a_verb_is_that_of_its_option) {
  ASSERT_EQ(ashlar("record --help"), 0);
  const std::string by_option = text("out");
  ASSERT_EQ(ashlar("help record"), 0) << text("err");
  EXPECT_EQ(text("out"), by_option);
  EXPECT_TRUE(failed(ashlar("help recrod"), 2, "ashlar: unknown verb 'recrod'; did you mean 'record'?\n"));
}

TEST_F(command, usage_is_printed_once_and_names_all_arguments) {
  for (const std::string verb : {"record", "run", "advise", "verify"}) {
    ASSERT_EQ(ashlar(verb + " --help"), 0);
    EXPECT_TRUE(starts(text("out"), "ashlar " + verb + " "));
    EXPECT_FALSE(said("out", "Usage:")) << text("out");
  }
  ASSERT_EQ(ashlar("plan --help"), 0);
  EXPECT_TRUE(said("out", "--from-trace TRACE "));
  EXPECT_TRUE(said("out", "--between MARK MARK "));
  EXPECT_TRUE(said("out", "--window SECONDS SECONDS "));
}

TEST_F(command, a_full_disk_under_version_and_help_is_reported) {
  for (const char* word : {"version", "help"}) {
    EXPECT_TRUE(
        failed(ashlar_test::run_shell("\"" ASHLAR_COMMAND "\" " + std::string(word) + " > /dev/full 2> " + file("err")),
               1, "ashlar: standard output: No space left on device\n"))
        << word;
  }
}

TEST_F(command, a_full_disk_under_a_verdict_or_the_help_of_a_verb_is_reported) {
  const std::string trace = sample(100), limits = file("limits.json");
  std::ofstream(limits) << R"({"program": {"bytes": 1000000000}})";
  const auto expect_report = [this](const std::string& verb, const std::string& arguments) {
    const std::string line = ASHLAR_COMMAND " " + verb + " " + arguments + " > /dev/full 2> " + file("err");
    EXPECT_EQ(ashlar_test::run_shell(line), 1) << line;
    const std::string report = "ashlar " + verb + ": standard output: No space left on device\n";
    EXPECT_EQ(text("err"), report) << line;
  };
  expect_report("verify", "--runs 7 --a true --b true");
  expect_report("verify", "--runs 7 --json - --a true --b true");
  expect_report("report", trace);
  expect_report("export", trace + " --format csv");
  expect_report("budget", limits + " --trace " + trace);
  expect_report("budget", limits + " --json " + file("j") + " --trace " + trace);
  expect_report("budget", "--write " + file("w.json") + " --trace " + trace);
  for (const std::string verb : {"advise", "budget", "plan", "record", "replay", "report", "run", "try", "verify"})
    expect_report(verb, "--help");
}

TEST_F(command, a_cut_trace_names_the_option_that_reads_it) {
  const std::string trace = sample(20000);
  std::string bytes = text("sample.trace");
  std::ofstream(file("cut.trace"), std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  const std::string cut = file("cut.trace");
  for (const std::string verb : {"report ", "replay ", "plan --from-trace "}) {
    EXPECT_TRUE(failed(ashlar(verb + cut), 1, "; --damaged reads the part before it")) << verb;
  }
  EXPECT_EQ(ashlar("report --damaged " + cut), 0) << text("err");
  EXPECT_EQ(ashlar("plan --damaged --effort fast -o " + file("o.csv") + " --from-trace " + cut), 0) << text("err");
}

}  // namespace
