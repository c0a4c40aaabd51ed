// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a caller of the reader may choose, and what the reader counts while it reads.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace trace {

struct reader_options {
  /// Read what is sound before the damage instead of refusing: `trace_info::damage` then says where it ended.
  bool accept_prefix = false;
  /// How far clocks of different threads may disagree. Within it, an allocation of an address that is still taken
  /// waits for the release, and the release of an unknown address for the allocation.
  std::uint64_t skew_ns = 10'000;
};

/// What did not add up, but is no damage.
struct reader_counts {
  std::uint64_t events = 0;         ///< Handed out so far.
  std::uint64_t live = 0;           ///< Objects alive now.
  std::uint64_t lost_releases = 0;  ///< An address was handed out again although its release was never seen; the reader
                                    ///< made up the missing `free_` event just before.
  std::uint64_t unknown_releases = 0;  ///< Frees of objects allocated before, or past, the recording: `object` 0.
};

}  // namespace trace
}  // namespace ASHLAR_ABI
}  // namespace ashlar
