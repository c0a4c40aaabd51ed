// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that heaps need for the allocations of a plan.
#pragma once

#include <cstdint>
#include <string>

#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>

namespace ashlar::cli {

/// Bytes at the peak.
struct heap_peaks {
  std::uint64_t malloc = 0;  ///< Taken from the system by the malloc under this command.
  std::uint64_t tlsf = 0;    ///< Spanned by a two-level segregated fit heap.
};

/// Effects: replays the births and deaths of `p` as calls of malloc (or aligned_alloc) and free on a separate thread,
/// and so in a separate arena; and on a model of TLSF. Throws: `std::runtime_error` if malloc has no memory left.
[[nodiscard]] heap_peaks measure_heaps(const plan::problem& p);

/// Returns: the height of the plan beside its bound and the heaps, one line for each.
[[nodiscard]] std::string compare_with_heaps(const plan::layout& l, const heap_peaks& peaks);

}  // namespace ashlar::cli
