// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What threads know of one another, and how plain objects and locks remember it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace explorer {

inline constexpr std::size_t max_threads = 6;     // thread 0 sets up, and checks at the end
inline constexpr std::size_t max_locations = 48;  // atomics alive in one execution

using number = std::uint16_t;

/// What happened before a moment: of each thread how many of its events, and of each atomic the latest write, in
/// modification order, that was seen. By coherence nothing older than that write may be read from here on.
struct knowledge {
  std::array<number, max_threads> events{};
  std::array<number, max_locations> latest{};
};

/// A lock of a model. It needs no search: who waits is not run.
struct lock_state {
  bool is_held = false;
  std::size_t holder = 0;
  std::uint64_t locking = 0;    // which event locked it last
  std::uint64_t unlocking = 0;  // the same of unlocking
  knowledge message{};
};

/// Who touched a plain object last, to tell a race.
struct watch {
  number writer = 0;
  number written = 0;
  std::array<number, max_threads> read{};
};

}  // namespace explorer
