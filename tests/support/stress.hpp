// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads of a test, and its duration: a moment, or as the environment demands.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/build.hpp"

namespace ashlar_test {

/// Returns: `rounds`, half of them in a build that tests samples and fewer in the builds of sanitizers, times
/// ASHLAR_STRESS if that is set.
[[nodiscard]] inline std::size_t stress_rounds(std::size_t rounds) {
  constexpr std::size_t slower = has_tsan || has_asan ? 10 : cases_of_build(2, 1);
  const char* const wanted = std::getenv("ASHLAR_STRESS");
  const long times = wanted != nullptr ? std::strtol(wanted, nullptr, 10) : 1;
  return (rounds + slower - 1) / slower * (times > 0 ? static_cast<std::size_t>(times) : 1);
}

/// Effects: calls `f()` in a thread, and waits for its end.
template <class F>
void in_a_thread(F f) {
  std::thread(std::move(f)).join();
}

/// Effects: calls `f(0)`, `f(1)`… in `count` threads at once, and waits for their ends.
template <class F>
void on_threads(std::size_t count, F f) {
  std::vector<std::thread> threads;
  for (std::size_t who = 0; who < count; ++who) threads.emplace_back(f, who);
  for (std::thread& each : threads) each.join();
}

}  // namespace ashlar_test
