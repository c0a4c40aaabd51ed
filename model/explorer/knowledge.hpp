// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The knowledge of threads about one another, and its record in plain objects and locks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace explorer {

inline constexpr std::size_t max_threads = 6;     // thread 0 sets up, and checks at the end
inline constexpr std::size_t max_locations = 48;  // atomics alive in one execution

using number = std::uint16_t;

/// The events before a moment: for each thread the number of its known events, and for each atomic the latest known
/// write, in modification order. By coherence no later read sees an older write.
struct knowledge {
  std::array<number, max_threads> events{};
  std::array<number, max_locations> latest{};
};

/// A lock of a model. It needs no search: a waiting thread does not run.
struct lock_state {
  bool is_held = false;
  std::size_t holder = 0;
  std::uint64_t locking = 0;    // the last event that locked it
  std::uint64_t unlocking = 0;  // the last event that unlocked it
  knowledge message{};
};

/// The last accesses to a plain object, which detect a race.
struct watch {
  number writer = 0;
  number written = 0;
  std::array<number, max_threads> read{};
};

}  // namespace explorer
