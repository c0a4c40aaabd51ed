// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares build ids.
#include "cli/advise/builds.hpp"

#include <algorithm>
#include <map>

#include "cli/routes/build_id.hpp"

namespace ashlar::cli {

std::vector<trace::mapped_module> without_other_builds(std::vector<trace::mapped_module> modules,
                                                       std::vector<std::string>& changed) {
  std::map<std::string, std::string> ids;  // by path
  for (trace::mapped_module& module : modules) {
    if (module.build_id.empty()) continue;
    const auto [at, is_new] = ids.try_emplace(module.path);
    if (is_new) at->second = build_id_of(module.path);
    if (at->second.empty() || at->second == module.build_id) continue;
    if (std::find(changed.begin(), changed.end(), module.path) == changed.end()) changed.push_back(module.path);
    module.path += " (another build)";
  }
  return modules;
}

}  // namespace ashlar::cli
