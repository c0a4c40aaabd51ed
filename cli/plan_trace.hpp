// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recorded phase of a program as a planning problem: one buffer an allocation, moments are events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <ashlar/plan/problem.hpp>

namespace ashlar::cli {

/// What a recording says, and what it leaves out.
struct recorded_problem {
  plan::problem content;
  std::uint64_t outliving = 0;      ///< Buffers not freed inside the phase: taken to live to its end.
  std::uint64_t foreign_frees = 0;  ///< Frees of what was allocated before the phase.
};

/// Reads a trace; with `between`, only what is allocated between the first marks of these two numbers.
/// Throws: `std::runtime_error` if the trace is damaged or a mark is missing.
[[nodiscard]] recorded_problem plan_from_trace(const std::string& path,
                                               std::optional<std::pair<std::uint64_t, std::uint64_t>> between);

}  // namespace ashlar::cli
