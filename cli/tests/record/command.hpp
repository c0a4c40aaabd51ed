// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts `ashlar record`, and reads its output and its traces.
#pragma once

#include <set>

#include <linux/magic.h>
#include <sys/vfs.h>

#include "cli/support/zstd_codec.hpp"
#include "cli/tests/command.hpp"

namespace ashlar_test {

using ashlar::cli::trace_reader;
using ashlar::trace::event;
using ashlar::trace::is_allocation;
using ashlar::trace::is_release;
using ashlar::trace::operation;

inline constexpr int nothing_recorded = 124;
inline constexpr int not_whole = 125;

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

/// What a shell does first, so that nothing survives a kill but what is in the trace.
inline const std::string no_live_file = "ulimit -f 200; ";

class record_command : public command_test {
protected:
  /// Returns: whether what a killed program has recorded survives on the file system of the tests.
  [[nodiscard]] bool keeps_live_files() const {
    struct statfs found{};
    if (::statfs(file("").c_str(), &found) != 0) return false;
    const auto kind = static_cast<unsigned long>(found.f_type);
    return kind == EXT4_SUPER_MAGIC || kind == 0x58465342 /* XFS */ || kind == TMPFS_MAGIC;
  }

  [[nodiscard]] std::string file(const std::string& name = "t.trace") const { return command_test::file(name); }

  /// Returns: the exit status of a shell command; its output is in `output()`.
  int shell(const std::string& command) { return run_shell("(" + command + ") > " + file("output") + " 2>&1"); }

  [[nodiscard]] std::string output() const { return text("output"); }
  [[nodiscard]] testing::AssertionResult says(const std::string& words) const { return said("output", words); }

  [[nodiscard]] testing::AssertionResult failed(int status, int wanted, const std::string& words) const {
    return command_test::failed(status, wanted, words, "output");
  }

  /// Returns: the exit status of a recording; `before` is what a shell does first.
  int record_program(const std::string& program, const std::string& options = "", const std::string& before = "") {
    return shell(before + ASHLAR_COMMAND " record -o " + file() + " " + options + " -- " + program);
  }
  int record_victim(const std::string& mode, const std::string& options = "", const std::string& before = "") {
    return record_program(ASHLAR_VICTIM " " + mode, options, before);
  }

  /// Returns: what the victim does in a mode.
  recording recorded(const std::string& mode, const std::string& options = "") {
    EXPECT_EQ(record_victim(mode, options), 0) << output();
    return recording(file());
  }

  [[nodiscard]] std::vector<std::string> other_traces() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(file("")))
      if (entry.path().string().starts_with(file() + ".")) found.push_back(entry.path().string());
    return found;
  }
};

}  // namespace ashlar_test
