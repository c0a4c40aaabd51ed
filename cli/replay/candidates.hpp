// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The allocators that a trace can be replayed against, and where this machine keeps them.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "cli/replay/child.hpp"

namespace ashlar::cli {

struct candidate {
  std::string name;
  replay_stand stand = replay_stand::system;
  std::string library;  ///< Preloaded; empty: none.
};

/// There is no such allocator: the command line makes no sense.
struct unknown_allocator : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns: the names that `--with` knows, separated by commas.
[[nodiscard]] std::string known_allocators();

/// Returns: those named; a name with a slash is the path of a library. Throws: `unknown_allocator`, or
/// `std::runtime_error` for a library that is not there.
[[nodiscard]] std::vector<candidate> named_candidates(const std::vector<std::string>& names);

/// Returns: glibc, ashlar's three and the usual rivals, or every known allocator if `all`, as far as this machine has
/// them. Effects: names what was not found in `missing`.
[[nodiscard]] std::vector<candidate> installed_candidates(bool all, std::vector<std::string>& missing);

}  // namespace ashlar::cli
