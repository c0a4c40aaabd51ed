// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The allocators against which a trace can be replayed, and their files on this machine.
#pragma once

#include <stdexcept>

#include "cli/replay/child.hpp"

namespace ashlar::cli {

struct candidate {
  std::string name;
  replay_stand stand = replay_stand::system;
  std::string library;       ///< Preloaded; empty: none.
  std::string command = {};  ///< Runs a program under it; empty: LD_PRELOAD alone does.
};

/// Returns: the names that `named_candidates` knows, separated by commas.
[[nodiscard]] std::string known_allocators();

/// Returns: the named ones; a name with a slash is the path of a library. Throws: `usage_error` for an unknown name, or
/// `std::runtime_error` for a missing library.
[[nodiscard]] std::vector<candidate> named_candidates(const std::vector<std::string>& names);

/// As above, of those that can be preloaded; the others are unknown.
[[nodiscard]] std::vector<candidate> named_libraries(const std::vector<std::string>& names);

/// Returns: glibc, ashlar's four and the usual rivals, or every known allocator if `all`, as far as this machine has
/// them. Effects: puts the names of the others into `missing`.
[[nodiscard]] std::vector<candidate> installed_candidates(bool all, std::vector<std::string>& missing);

}  // namespace ashlar::cli
