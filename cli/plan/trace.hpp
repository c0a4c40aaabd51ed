// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recorded phase of a program as a planning problem: one buffer for each allocation; moments are events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <ashlar/base/problem.hpp>

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

}  // namespace ashlar::cli
