// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A and B: a command, and a library in front of its malloc.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/replay/candidates.hpp"
#include "cli/routes/plan.hpp"

namespace ashlar::cli {

struct program_side {
  std::vector<std::string> command;
  std::string library = {};                                         ///< Preloaded; empty: none.
  std::vector<std::pair<std::string, std::string>> variables = {};  ///< Of the environment.
  std::string shown = {};                                           ///< As a user would type it.
};

/// Returns: the command with the malloc of a library in front. Expects: the candidate has a library.
[[nodiscard]] program_side under_library(const candidate& malloc, const std::vector<std::string>& command);

/// The same. `use`: of the program, with it, for errors. Throws: `std::runtime_error` for a program that nothing can be
/// preloaded into.
[[nodiscard]] program_side checked_under_library(const candidate& malloc, const std::vector<std::string>& command,
                                                 const char* use);

/// Returns: the command by the plan of that file, as `ashlar run --plan` starts it. Throws: `std::runtime_error` for a
/// plan that the router cannot follow, and without the router's library.
[[nodiscard]] program_side under_routes(const route_plan& routes, const std::string& file,
                                        const std::vector<std::string>& command);

/// The mark in a command for the path of an input. In a command without it the input is the standard input.
inline constexpr const char* input_mark = "{}";

/// Returns: whether a word of the command holds the mark.
[[nodiscard]] bool takes_path(const program_side& side);

/// Returns: the command with `path` in place of each mark, quoted where a shell reads it; the command
/// as it is, if `path` is empty.
[[nodiscard]] std::vector<std::string> command_on(const program_side& side, const std::string& path);

/// Returns: the files, and the files of each folder in the order of their names. Throws: `std::runtime_error` for a
/// path without a file, or an empty folder.
[[nodiscard]] std::vector<std::string> input_files(const std::vector<std::string>& paths);

}  // namespace ashlar::cli
