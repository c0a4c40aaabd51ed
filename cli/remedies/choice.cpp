// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists the mallocs of the replay, and page policies.
#include "cli/remedies/experiment.hpp"

#include <cstdlib>
#include <optional>
#include <utility>

#include "cli/replay/candidates.hpp"
#include "cli/support/companion.hpp"
#include "cli/support/words.hpp"

namespace ashlar::cli {

namespace {

/// Returns: the value of a variable with one more setting at its end.
std::string extended(const char* variable, char separator, const std::string& setting) {
  const char* const before = std::getenv(variable);
  return before == nullptr || *before == '\0' ? setting : std::string(before) + separator + setting;
}

program_remedy huge_pages_of_libc(const std::vector<std::string>& command) {
  const char* const variable = "GLIBC_TUNABLES";
  const std::string value = extended(variable, ':', "glibc.malloc.hugetlb=1");
  return {remedy_kind::pages,
          "huge pages, glibc",
          {.command = command,
           .variables = {{variable, value}},
           .shown = std::string(variable) + "=" + shell_word(value) + " " + shell_line(command)}};
}

struct page_option {
  const char* name;
  const char* word;  // of the variable ASHLAR
};
constexpr page_option page_options[] = {{"huge pages", "huge_pages=madvise"}, {"populated pages", "populate=1"}};

program_remedy pages_of_ashlar(const page_option& option, const std::string& library,
                               const std::vector<std::string>& command) {
  return {remedy_kind::pages,
          std::string(option.name) + ", libashlar.so",
          {.command = command,
           .library = library,
           .variables = {{"ASHLAR", extended("ASHLAR", ',', option.word)}},
           .shown = std::string("ashlar run --option ") + option.word + " -- " + shell_line(command)},
          option.name,
          option.word};
}

}  // namespace

std::vector<program_remedy> mallocs_for(const std::vector<std::string>& command, const std::vector<std::string>& names,
                                        std::vector<std::string>& missing) {
  std::vector<program_remedy> all;
  for (const candidate& c : names.empty() ? installed_candidates(false, missing) : named_libraries(names)) {
    if (c.library.empty()) continue;
    program_side side = names.empty() ? under_library(c, command) : checked_under_library(c, command, "measure");
    all.push_back({remedy_kind::preload, "preload " + c.name, std::move(side)});
  }
  return all;
}

void add_page_policies(const std::vector<std::string>& command, std::vector<program_remedy>& all) {
  all.push_back(huge_pages_of_libc(command));
  if (const auto library = find_companion(malloc_libraries.front().file))
    for (const page_option& option : page_options) all.push_back(pages_of_ashlar(option, *library, command));
}

program_remedy remedy_by_plan(const route_plan& routes, const std::string& name, const std::string& path,
                              const std::vector<std::string>& command) {
  return {remedy_kind::routes, name, under_routes(routes, path, command)};
}

program_remedy with_page_policy(program_remedy routed, const program_remedy& pages, const std::string& path) {
  const std::vector<std::string>& command = routed.side.command;
  routed.name = pages.policy + ", " + routed.name;
  routed.option = pages.option;
  for (const auto& variable : pages.side.variables) routed.side.variables.push_back(variable);
  routed.side.shown =
      "ashlar run --plan " + shell_word(path) + " --option " + pages.option + " -- " + shell_line(command);
  return routed;
}

}  // namespace ashlar::cli
