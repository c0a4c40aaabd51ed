// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What programs to be advised on have in common: functions with frames of their own, numbers at random, modes by name.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#define PLANTED [[gnu::noinline]]

namespace planted {

inline std::uint64_t seed = 88'172'645'463'325'252;
inline volatile std::uint64_t sink;

inline std::uint64_t random_below(std::uint64_t n) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (seed >> 11) % n;
}

inline void use(const void* p) { sink = sink + reinterpret_cast<std::uintptr_t>(p); }

/// Returns: the block, used, so that no tail call leaves out a frame.
[[gnu::always_inline]] inline char* used(void* p) { return use(p), static_cast<char*>(p); }

struct mode {
  const char* name;
  int (*run)();
};

/// Returns: the exit status of the mode that the only argument names.
inline int run_mode(std::span<const mode> modes, int argc, char** argv) {
  for (const mode& m : modes)
    if (argc == 2 && std::strcmp(argv[1], m.name) == 0) return m.run();
  return 2;
}

}  // namespace planted
