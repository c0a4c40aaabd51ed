// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The build ids of files, and whether a plan was made for the files that stand there now.
#pragma once

#include <string>

#include "cli/routes/plan.hpp"

namespace ashlar::cli {

/// Returns: the build id of an ELF file in lower-case hexadecimal; empty for other files and without one.
[[nodiscard]] std::string build_id_of(const std::string& path);

/// Effects: the program's sites are sites of the file `program`, by its absolute path, which may have been moved since
/// the plan was made. Returns: the reason why the plan is not for that program, an ELF file, or not for the libraries
/// that stand in the places of those it was made for; empty if it is for them. A plan without groups is for all
/// programs.
[[nodiscard]] std::string bind_plan(route_plan& plan, const std::string& program);

}  // namespace ashlar::cli
