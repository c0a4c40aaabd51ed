// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What heaps need for the sequence of allocations that a plan replaces.
#pragma once

#include <cstdint>
#include <string>

#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/problem.hpp>

namespace ashlar::cli {

/// Bytes at the peak.
struct heap_peaks {
  std::uint64_t malloc = 0;  ///< What the malloc under this command took from the system.
  std::uint64_t tlsf = 0;    ///< What a two-level segregated fit heap spans.
};

/// Effects: makes the births and deaths of `p`, one after another, calls of malloc (or aligned_alloc) and free on a
/// thread, and so in an arena, of their own; and of a model of TLSF.
/// Throws: `std::runtime_error` if malloc has no memory left.
[[nodiscard]] heap_peaks measure_heaps(const plan::problem& p);

/// Returns: the height of the plan beside its bound and the heaps, a line each.
[[nodiscard]] std::string compare_with_heaps(const plan::layout& l, const heap_peaks& peaks);

}  // namespace ashlar::cli
