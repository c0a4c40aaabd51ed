// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether the recorded command may be run again unasked, and whether it then does the recorded work.
#pragma once

#include "cli/record/run_note.hpp"
#include "cli/report/trace.hpp"

namespace ashlar::cli {

inline constexpr double usual_seconds = 20;  ///< Of a measurement by default.

/// A recorded run that can be had again.
struct repeatable_run {
  run_note note;
  std::uint64_t events = 0;
};

/// Returns: the run of the first trace that has a note. Throws: `std::runtime_error` with the reason, the end of a
/// sentence, if no trace has one, the program failed or was killed, read what is not there again, took more than a
/// quarter of `seconds`, had another environment, or its trace has another command line than it was started with.
[[nodiscard]] repeatable_run repeatable_run_of(const std::vector<std::unique_ptr<trace_input>>& inputs, double seconds);

/// Returns: the directory of the first trace's run with a note; or empty. Throws: `std::runtime_error` if it is gone.
[[nodiscard]] std::string recorded_directory(const std::vector<std::unique_ptr<trace_input>>& inputs);

/// Returns: whether the command lines of the traces are what `ashlar record` was given.
[[nodiscard]] bool is_of_started(const std::vector<std::unique_ptr<trace_input>>& inputs);

/// Returns: the file of a command in the directory of its run, found as a shell does; empty: this directory.
[[nodiscard]] std::string program_in(const std::string& directory, const std::string& program);

/// Returns: whether these are the events of one work: a tenth may differ, or 100 events, of few half of them.
[[nodiscard]] bool is_same_work(std::uint64_t now, std::uint64_t before) noexcept;

/// Effects: runs the command once, recorded without stacks into the directory `traces`; it is killed after `seconds`.
/// Returns: the seconds it took. Throws: `std::runtime_error` with the reason if it does not end with status 0, takes
/// more than half of them, or none of its processes has about this many events.
[[nodiscard]] double require_same_work(const std::vector<std::string>& command, const std::string& input,
                                       std::uint64_t events, double seconds, const std::string& traces);

}  // namespace ashlar::cli
