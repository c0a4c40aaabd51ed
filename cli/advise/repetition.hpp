// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether the recorded command may be run again unasked, and whether it then does the recorded work.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
/// sentence, if no trace has one, the program failed or was killed, read what is not there again, or takes too long for
/// `seconds` of rounds.
[[nodiscard]] repeatable_run repeatable_run_of(const std::vector<std::unique_ptr<trace_input>>& inputs, double seconds);

/// Returns: the file of a command in the directory of its run, found as a shell does.
[[nodiscard]] std::string program_in(const std::string& directory, const std::string& program);

/// Effects: runs the command once, recorded without stacks. Throws: `std::runtime_error` with the
/// reason if it does not end with status 0 within `seconds`, or none of its processes has about this many events.
void require_same_work(const std::vector<std::string>& command, const std::string& input, std::uint64_t events,
                       double seconds);

}  // namespace ashlar::cli
