// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts `ashlar record` in a directory that is removed after the test, and reads its output.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "cli/support/zstd_codec.hpp"
#include "cli/tests/shell.hpp"

namespace ashlar_test {

namespace fs = std::filesystem;
using ashlar::cli::trace_reader;
using ashlar::trace::event;
using ashlar::trace::is_allocation;
using ashlar::trace::is_release;
using ashlar::trace::operation;

inline constexpr int nothing_recorded = 124;
inline constexpr int not_whole = 125;

/// An empty directory that is removed after the test.
class record_command : public testing::Test {
protected:
  record_command() : directory_(fs::path(testing::TempDir()) / ("ashlar_record_" + std::to_string(getpid()))) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~record_command() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string file(const std::string& name = "t.trace") const { return (directory_ / name).string(); }

  /// Returns: the exit status of a shell command; its output is in `output()`.
  int shell(const std::string& command) { return run_shell("(" + command + ") > " + file("output") + " 2>&1"); }

  [[nodiscard]] std::string output() const {
    std::ifstream from(file("output"));
    return {std::istreambuf_iterator<char>(from), {}};
  }

  [[nodiscard]] bool says(const std::string& words) const { return output().find(words) != std::string::npos; }

  int record_victim(const std::string& mode, const std::string& options = "") {
    return shell(ASHLAR_COMMAND " record -o " + file() + " " + options + " -- " ASHLAR_VICTIM " " + mode);
  }

  [[nodiscard]] std::vector<std::string> other_traces() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory_))
      if (entry.path().string().starts_with(file() + ".")) found.push_back(entry.path().string());
    return found;
  }

private:
  fs::path directory_;
};

struct recording {
  std::vector<event> events;
  bool complete = false;

  explicit recording(const std::string& path) {
    trace_reader r(path);
    while (auto e = r.next()) events.push_back(*e);
    EXPECT_FALSE(r.error()) << r.error()->message << " at " << r.error()->offset;
    EXPECT_EQ(r.info().dropped, 0U);
    EXPECT_EQ(r.counts().lost_releases, 0U);
    complete = r.info().complete;
  }

  [[nodiscard]] std::size_t count(operation op, std::uint64_t size) const {
    return static_cast<std::size_t>(
        std::count_if(events.begin(), events.end(), [&](const event& e) { return e.op == op && e.size == size; }));
  }

  /// Returns: the end of the object of the only allocation of this size, if it ended.
  [[nodiscard]] std::optional<event> end_of(std::uint64_t size) const {
    const auto start = std::find_if(events.begin(), events.end(),
                                    [&](const event& e) { return is_allocation(e.op) && e.size == size; });
    if (start == events.end()) return std::nullopt;
    const auto end = std::find_if(start, events.end(), [&](const event& e) {
      return (is_release(e.op) && e.object == start->object) || e.old_object == start->object;
    });
    return end == events.end() ? std::nullopt : std::optional(*end);
  }

  /// Returns: the number of objects of this size that were allocated and released again.
  [[nodiscard]] std::size_t count_ended(std::uint64_t size) const {
    std::set<std::uint64_t> live;
    std::size_t ended = 0;
    for (const event& e : events) {
      if (is_allocation(e.op) && e.size == size) live.insert(e.object);
      if (is_release(e.op)) ended += live.erase(e.object);
    }
    return ended;
  }
};

}  // namespace ashlar_test
