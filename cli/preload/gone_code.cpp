// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A few places, each with the number of the last unloading there; the last place stands for all that find no room.
#include "cli/preload/gone_code.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace ashlar::recorder {

namespace {

struct place {
  std::atomic<std::uint64_t> begin, end, generation;
};

constexpr std::size_t most = 128;
constinit place places[most]{};
constinit std::atomic<std::size_t> count{0};
constinit std::atomic<std::uint64_t> unloadings{0};

/// Returns: the place with these bounds, or a new one: everywhere, if there is no more room.
place& place_of(std::uint64_t begin, std::uint64_t end) noexcept {
  const std::size_t n = count.load(std::memory_order_relaxed);
  for (place& p : std::span(places, n))
    if (p.begin.load(std::memory_order_relaxed) == begin && p.end.load(std::memory_order_relaxed) == end) return p;
  place& last = places[std::min(n, most - 1)];
  last.begin.store(n + 1 < most ? begin : 0, std::memory_order_relaxed);
  last.end.store(n + 1 < most ? end : ~std::uint64_t{0}, std::memory_order_relaxed);
  count.store(std::min(n + 1, most), std::memory_order_release);  // pairs with the acquire in generation_of()
  return last;
}

}  // namespace

void add_gone_code(std::uint64_t begin, std::uint64_t end) noexcept {
  place_of(begin, end)
      .generation.store(unloadings.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::uint64_t generation_of(std::span<const std::uint64_t> frames) noexcept {
  std::uint64_t latest = 0;
  for (const place& p : std::span(places, count.load(std::memory_order_acquire))) {
    const std::uint64_t begin = p.begin.load(std::memory_order_relaxed), end = p.end.load(std::memory_order_relaxed);
    for (const std::uint64_t frame : frames)
      if (begin <= frame && frame < end) latest = std::max(latest, p.generation.load(std::memory_order_acquire));
  }
  return latest;
}

}  // namespace ashlar::recorder
