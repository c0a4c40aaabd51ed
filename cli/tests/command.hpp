// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts verbs of the command in a directory that is removed after the test.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

#include "cli/tests/shell.hpp"

namespace ashlar_test {

namespace fs = std::filesystem;

class command_test : public testing::Test {
protected:
  command_test() : directory_(fs::path(testing::TempDir()) / ("ashlar_replay_" + std::to_string(::getpid()))) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~command_test() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string file(const std::string& name) const { return (directory_ / name).string(); }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream from(file(name));
    return {std::istreambuf_iterator<char>(from), {}};
  }

  /// Returns: the path of a made-up trace.
  [[nodiscard]] std::string sample(int events, int threads = 1) {
    const std::string path = file("sample.trace");
    EXPECT_EQ(shell(ASHLAR_SAMPLE_TRACE " " + path + " " + std::to_string(events) + " " + std::to_string(threads)), 0);
    return path;
  }

  /// Returns: the exit status of the command; its output is in `text("out")` and `text("err")`.
  int ashlar(const std::string& arguments) { return shell(ASHLAR_COMMAND " " + arguments); }

private:
  int shell(const std::string& command) { return run_shell(command + " > " + file("out") + " 2> " + file("err")); }

  fs::path directory_;
};

}  // namespace ashlar_test
