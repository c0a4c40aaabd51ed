// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether the files of a trace's modules still hold the recorded build.
#pragma once

#include <string>
#include <vector>

#include <ashlar/trace/tables.hpp>

namespace ashlar::cli {

/// Returns: the modules; the path of one whose file holds another build becomes a path that no file has, since its
/// names would be those of another program. Effects: adds the paths of such files to `changed`, once.
[[nodiscard]] std::vector<trace::mapped_module> without_other_builds(std::vector<trace::mapped_module> modules,
                                                                     std::vector<std::string>& changed);

}  // namespace ashlar::cli
