// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What may be put under an unchanged program: another malloc, another page policy, a plan of routes.
#pragma once

#include <string>
#include <vector>

#include "cli/rounds/side.hpp"
#include "cli/routes/plan.hpp"

namespace ashlar::cli {

enum class remedy_kind { preload, pages, routes };

struct program_remedy {
  remedy_kind kind = remedy_kind::preload;
  std::string name;         ///< "preload mimalloc".
  program_side side = {};   ///< `side.shown` is the command line to use it.
  std::string policy = {};  ///< For the pages of libashlar.so: "populated pages".
  std::string option = {};  ///< Its word: "populate=1".
};

/// Returns: the mallocs of these names or paths; without names each usual one that this machine has. Effects: puts the
/// names of the others into `missing`. Throws: as `named_libraries`; `std::runtime_error` for a program that one of the
/// named cannot be preloaded into.
[[nodiscard]] std::vector<program_remedy> mallocs_for(const std::vector<std::string>& command,
                                                      const std::vector<std::string>& names,
                                                      std::vector<std::string>& missing);

/// Effects: adds huge pages under the C library's malloc and under libashlar.so, and populated pages under the latter.
void add_page_policies(const std::vector<std::string>& command, std::vector<program_remedy>& all);

/// Returns: the program by the plan, as `ashlar run --plan path` starts it. Throws: `std::runtime_error` for a plan
/// that the router cannot follow.
[[nodiscard]] program_remedy remedy_by_plan(const route_plan& routes, const std::string& name, const std::string& path,
                                            const std::vector<std::string>& command);

/// Returns: the program by the plan of `routed`, whose file is `path`, with the page policy of `pages` for the heap of
/// the sites outside the plan.
[[nodiscard]] program_remedy with_page_policy(program_remedy routed, const program_remedy& pages,
                                              const std::string& path);

[[nodiscard]] const char* name_of(remedy_kind kind) noexcept;

}  // namespace ashlar::cli
