// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One source, two programs: `<bench>` as the build type has it (-O3 in Release) and its twin `<bench>_o2`.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "preload.hpp"

namespace bench {

#ifdef ASHLAR_BENCH_O2
inline constexpr std::string_view optimisation = "O2";
#else
inline constexpr std::string_view optimisation = "O3";
#endif

inline constexpr std::array<std::string_view, 2> optimisations{"O3", "O2"};

// Effects: returns in the program that was compiled at `level`, possibly the twin, started with the same words. Call it
// before `choose_malloc`.
inline void choose_optimisation(std::string_view level, char** argv) {
  if (level == optimisation) return;
  if (optimisation == "O2") fail(exit_usage, "this is the twin at -O2");
  const std::string twin = std::filesystem::canonical("/proc/self/exe").string() + "_o2";
  ::execv(twin.c_str(), argv);
  std::perror(twin.c_str());
  std::exit(1);
}

}  // namespace bench
