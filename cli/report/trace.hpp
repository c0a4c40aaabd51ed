// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A trace opened for a verb: events, facts about the trace, and errors that name the file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ashlar/base/event.hpp>
#include <ashlar/base/trace_tables.hpp>

namespace ashlar::cli {

/// Thread safety: one thread at a time.
class trace_input {
public:
  /// Throws: `std::runtime_error`, "FILE: the fault (at byte N)", as does `next`. With `accept_prefix` damage ends the
  /// trace instead.
  explicit trace_input(const std::string& path, bool accept_prefix = false);
  trace_input(const trace_input&) = delete;
  trace_input& operator=(const trace_input&) = delete;
  ~trace_input();

  /// Returns: valid until the next call; null at the end.
  [[nodiscard]] const trace::event* next();
  /// Returns: some of the next events, valid until the next call; none at the end.
  [[nodiscard]] std::span<const trace::event> next_batch();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The damage of a trace is known at its end.
  [[nodiscard]] const trace::trace_info& info() const noexcept { return info_; }
  [[nodiscard]] const std::vector<trace::mapped_module>& modules() const;
  [[nodiscard]] const trace::stack_table& stacks() const;
  [[nodiscard]] const trace::name_table& names() const;
  /// Returns: of the program, which is the first module; empty if it has none.
  [[nodiscard]] std::string build_id() const { return modules().empty() ? "" : modules().front().build_id; }
  /// Returns: the path of the program, or the first word of its command line; empty if nothing is known of it.
  [[nodiscard]] std::string program_file() const;
  /// Returns: the recorded command line, its words separated by blanks.
  [[nodiscard]] std::string program() const;

private:
  void finish();

  struct open_reader;
  std::string path_;
  trace::trace_info info_;
  std::unique_ptr<open_reader> reader_;
};

/// Returns: a message about a trace that was not read to an orderly end; empty if it was.
[[nodiscard]] std::string damage_note(const trace::trace_info& info);

}  // namespace ashlar::cli
