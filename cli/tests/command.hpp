// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts verbs of the command in a directory that is removed after the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/support/text.hpp"
#include "cli/tests/texts.hpp"

namespace ashlar_test {

namespace fs = std::filesystem;

/// Returns: the exit status of the command; 128 + 9 or -1 after a timeout.
[[nodiscard]] inline int run_shell(const std::string& command) {
  const int status = std::system(("timeout -s KILL 300 sh -c " + ashlar::cli::quoted(command)).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class command_test : public testing::Test {
protected:
  command_test() : directory_(fs::path(testing::TempDir()) / ("ashlar_command_" + std::to_string(::getpid()))) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~command_test() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string file(const std::string& name) const { return (directory_ / name).string(); }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream from(file(name));
    return {std::istreambuf_iterator<char>(from), {}};
  }

  [[nodiscard]] testing::AssertionResult said(const std::string& name, const std::string& part) const {
    return has(text(name), part);
  }

  /// Returns: the path of a made-up trace.
  [[nodiscard]] std::string sample(int events, int threads = 1) {
    const std::string path = file("sample.trace");
    EXPECT_EQ(shell(ASHLAR_SAMPLE_TRACE " " + path + " " + std::to_string(events) + " " + std::to_string(threads)), 0);
    return path;
  }

  /// Returns: the path of a trace of a command.
  std::string trace_of(const std::string& command, const std::string& name = "t.trace",
                       const std::string& options = "--stacks 16") {
    EXPECT_EQ(ashlar("record -q " + options + " -o " + file(name) + " -- " + command), 0) << text("err");
    return file(name);
  }

  /// Returns: the exit status of the command; its output is in `text("out")` and `text("err")`.
  int ashlar(const std::string& arguments) { return shell(ASHLAR_COMMAND " " + arguments); }

  /// Returns: whether a command that has just ended has this status, and these words on standard error: all of it, if
  /// they are a line of the command.
  [[nodiscard]] testing::AssertionResult failed(int status, int wanted, const std::string& words,
                                                const char* errors = "err") const {
    const std::string all = text(errors);
    const bool is_line = words.starts_with("ashlar ") && words.ends_with('\n');
    const auto found = is_line ? as_sought(all == words, words, all) : has(all, words);
    if (found && status == wanted) return found;
    return testing::AssertionFailure() << "status " << status << ", " << found.message() << "\n" << text("out");
  }

  /// Expects: 100 columns hold each line of the output, but for the `unbroken` ones.
  void expect_100_columns(const std::function<bool(const std::string&)>& unbroken = nullptr) const {
    std::ifstream out(file("out"));
    for (std::string line; std::getline(out, line);)
      if (!unbroken || !unbroken(line)) EXPECT_LE(ashlar::cli::display_width(line), 100U) << line;
  }

  /// Arguments of a verb that are refused, and the first words of its complaint, or all if they end a line.
  struct mistake {
    std::string arguments;
    int status;
    std::string words;
  };
  void expect_mistakes(const std::string& verb, const std::vector<mistake>& all) {
    for (const mistake& each : all) {
      EXPECT_EQ(ashlar(verb + " " + each.arguments), each.status) << each.arguments << text("out");
      const std::string complaint = "ashlar " + verb + ": " + each.words, told = text("err");
      EXPECT_TRUE(complaint.ends_with('\n') ? told == complaint : told.starts_with(complaint))
          << each.arguments << told;
    }
  }

  /// `start`: a verb and its arguments, up to the program that it runs.
  void expect_that_an_end_leaves_no_program_behind(const std::string& start) {
    const std::string pid = file("pid"), program = "sh -c 'echo $$ > " + pid + "; exec sleep 1000'";
    EXPECT_EQ(run_shell(ASHLAR_COMMAND " " + start + " -- " + program + " 2>&- & until [ -s " + pid +
                        " ]; do sleep 0.02; done; kill $!; while grep -q sleep /proc/$(cat " + pid +
                        ")/cmdline 2>&-; do sleep 0.02; done"),
              0);
  }

private:
  int shell(const std::string& command) {
    return run_shell("</dev/null " + command + " > " + file("out") + " 2> " + file("err"));
  }

  fs::path directory_;
};

}  // namespace ashlar_test
