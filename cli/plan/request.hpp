// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of the verb `plan`, and the problem of the recorded phase that it names.
#pragma once

#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>

#include "cli/support/output.hpp"

namespace ashlar::cli {

/// The part of a recording; all of it unless one of these is set.
struct phase_bounds {
  std::optional<std::pair<std::uint64_t, std::uint64_t>>
      marks;  ///< From the first mark of one number to the next of another.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> window;  ///< Nanoseconds since the start, half open.
};

/// The problem of a recording, and the facts that it leaves out.
struct recorded_problem {
  plan::problem content;
  std::uint64_t outliving = 0;      ///< Buffers not freed inside the phase: they live to its end.
  std::uint64_t foreign_frees = 0;  ///< Frees of blocks allocated before the phase.
  std::uint32_t threads = 0;        ///< Threads that allocated in the phase; the order between several may change.
};

/// Reads a trace. A reallocation is a new buffer that lives together with the old one for a moment, for the copy.
/// Throws: `std::runtime_error` if the trace is damaged, unless `accept_prefix`, or a mark is missing.
[[nodiscard]] recorded_problem plan_from_trace(const std::string& path, const phase_bounds& bounds,
                                               bool accept_prefix = false);

struct plan_request {
  std::string input, output, header, c, svg, html, trace, name = "planned";
  std::vector<std::uint64_t> between;
  std::vector<double> window;
  std::optional<std::uint64_t> capacity;
  plan::effort effort = plan::effort::balanced;
  double seconds = 0;
  std::uint64_t nodes = 0, base_alignment = 1;
  bool damaged = false, validate = false, stats = false, quiet = false, progress = false;

  [[nodiscard]] phase_bounds bounds() const;
  [[nodiscard]] std::vector<output_file> outputs() const;
};

/// Effects: reads the command line. Returns: nothing if the verb may continue, else the exit status.
[[nodiscard]] std::optional<int> parse_plan(int argc, char** argv, plan_request& r);

}  // namespace ashlar::cli
