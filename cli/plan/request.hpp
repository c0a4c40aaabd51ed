// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of the verb `plan`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ashlar/base/layout.hpp>

#include "cli/plan/trace.hpp"
#include "cli/support/output.hpp"

namespace ashlar::cli {

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

/// Effects: reads the command line. Returns: nothing if the verb may continue, else the exit status, with the reason
/// printed.
[[nodiscard]] std::optional<int> parse_plan(int argc, char** argv, plan_request& r);

}  // namespace ashlar::cli
