// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The limits of a budget file: JSON with comments, an object for each span, thread and the program.
//
//     {
//       "spans":   {"parse": {"allocations": 97, "peak_bytes": 65536}},   // each span of the name
//       "threads": {"audio": {"allocations": 0}},                         // each thread of the name
//       "program": {"peak_bytes": 1000000, "never_freed_bytes": 0}
//     }
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace ashlar::cli {

enum class budget_subject { span, thread, program };

/// The most that one figure of a subject may be.
struct limit {
  budget_subject subject = budget_subject::program;
  std::string name;    ///< Of the span or thread; empty for the program.
  std::string figure;  ///< "allocations", "p99_ns", ...
  std::uint64_t most = 0;

  friend bool operator==(const limit&, const limit&) = default;
};

/// Returns: the limits, in the order of the names. Throws: `std::runtime_error` with a reason that begins with `file`:
/// no JSON, no such subject or figure, no whole number, no limit at all.
[[nodiscard]] std::vector<limit> read_limits(std::istream& from, const std::string& file);

/// Returns: the text of a file from which `read_limits` reads these limits: a figure a line, in the order of their
/// names. Throws: `std::runtime_error` for a name that is not UTF-8.
[[nodiscard]] std::string limits_file(const std::vector<limit>& limits);

/// Returns: the figures that a subject has.
[[nodiscard]] const std::vector<std::string>& figures_of(budget_subject subject);

}  // namespace ashlar::cli
