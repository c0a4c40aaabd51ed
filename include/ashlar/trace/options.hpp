// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of a trace reader, and the counts that it keeps while it reads.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace trace {

struct reader_options {
  /// Read up to the damage instead of refusing the file; `trace_info::damage` then holds the end of the sound part.
  bool accept_prefix = false;
  /// Disagreement of the clocks of different threads, in nanoseconds. Within it, an allocation of an address in use
  /// waits for the release, and the release of an unknown address for the allocation.
  std::uint64_t skew_ns = 10'000;
};

/// Irregularities that are no damage.
struct reader_counts {
  std::uint64_t events = 0;         ///< Events returned so far.
  std::uint64_t live = 0;           ///< Objects live now.
  std::uint64_t lost_releases = 0;  ///< An address was handed out again although its release was never seen; the reader
                                    ///< made up the missing `free_` event just before.
  std::uint64_t unknown_releases = 0;  ///< Frees of objects allocated before, or past, the recording: `object` 0.
};

}  // namespace trace
}  // namespace ASHLAR_ABI
}  // namespace ashlar
