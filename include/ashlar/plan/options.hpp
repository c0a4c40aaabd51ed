// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The planner's options beside the problem: effort, budgets, a capacity, an earlier layout.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/layout.hpp>

namespace ashlar::ASHLAR_ABI::plan {

/// The effort of a search without a budget.
enum class effort {
  fast,      ///< Greedy placement in a few orders, two for thousands of buffers.
  balanced,  ///< Then a bounded exact search.
  exact      ///< Then an unlimited exact search: give it a budget, or a stop flag.
};

/// The best layout and bound so far, in bytes.
struct progress {
  std::uint64_t height = 0;       ///< Of the best layout so far.
  std::uint64_t lower_bound = 0;  ///< Proved so far.
  std::uint64_t nodes = 0;
};

/// The defaults plan for the least height with bounded work, with the same result on every machine and in every run.
struct options {
  plan::effort effort = plan::effort::balanced;
  std::uint64_t nodes = 0;                  ///< States the exact search may expand; 0: depends on the effort.
  std::chrono::nanoseconds time{0};         ///< Wall-clock budget; 0: none. Results may vary with it.
  std::optional<std::uint64_t> capacity{};  ///< Decide whether this many bytes suffice, and stop at the first fit.
  std::uint64_t base_alignment = 1;         ///< Every offset is a multiple of this power of two.
  std::uint64_t seed = 0;                   ///< If not 0, adds one shuffled order, drawn from the seed.
  const layout* previous = nullptr;         ///< Keep offsets of this layout if that costs no height.
  const std::atomic<bool>* stop = nullptr;  ///< Set by another thread or a signal: return the best layout so far.
  std::function<void(const progress&)> on_progress{};  ///< Called when a better layout or bound is found.
};

}  // namespace ashlar::ASHLAR_ABI::plan
