// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One source, two compilers: `<bench>` by the compiler of the build, `<bench>_gcc` or `<bench>_clang` by the other.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace bench {

// If there is another compiler, the build defines ASHLAR_BENCH_TWIN for both programs and ASHLAR_BENCH_IS_TWIN for one.
#ifdef ASHLAR_BENCH_TWIN
inline constexpr std::string_view twin = ASHLAR_BENCH_TWIN;
inline constexpr bool has_twin = true;
#else
inline constexpr std::string_view twin = "none";
inline constexpr bool has_twin = false;
#endif

#ifdef ASHLAR_BENCH_IS_TWIN
inline constexpr bool is_twin = true;
#else
inline constexpr bool is_twin = false;
#endif

// Returns: the file of the program, or of its twin.
inline std::string program_file(bool of_twin) {
  const std::string self = std::filesystem::canonical("/proc/self/exe").string();
  return of_twin && !is_twin ? self + "_" + std::string(twin) : self;
}

// Effects: returns in the twin, started with the same words, if that is wanted. Call it before `choose_malloc`.
inline void choose_compiler(bool wants_twin, char** argv) {
  if (!wants_twin || is_twin) return;
  const std::string file = program_file(true);
  ::execv(file.c_str(), argv);
  std::perror(file.c_str());
  std::exit(1);
}

}  // namespace bench
