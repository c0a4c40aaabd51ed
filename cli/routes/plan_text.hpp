// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan of routes for people: which call sites share which resource.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "cli/routes/plan.hpp"

namespace ashlar::cli {

/// Returns: "prog+0x1234", an address of the module in the file `path`.
[[nodiscard]] std::string address_text(const std::string& path, std::uint64_t offset);

/// Titles of the sites of a plan, each of which is one site's alone.
class site_titles {
public:
  /// `plan` outlives this.
  explicit site_titles(const route_plan& plan);

  /// Returns: "parse (parser.cpp:12)"; of sites with one name also the return addresses, that of malloc's caller first:
  /// "parse (parser.cpp:12) at prog+0x1234 ← prog+0x5678". Expects: a site of the plan.
  [[nodiscard]] std::string of(const route_site& site) const;
  /// Returns: the same in at most `columns`: the name is shortened, and the addresses are whole.
  [[nodiscard]] std::string of(const route_site& site, std::size_t columns) const;
  /// Returns: the titles of the first two sites, and the number of the others.
  [[nodiscard]] std::string of(const route_group& group) const;

private:
  [[nodiscard]] std::string distinction(const route_site& site) const;

  const route_plan& plan_;
  std::map<std::string, std::size_t> uses_;
};

/// Returns: "3 sites in 2 groups".
[[nodiscard]] std::string plan_size_text(const route_plan& plan);

/// Returns: "a pool of cells of 96 B".
[[nodiscard]] std::string resource_text(const route_group& group);

/// Returns: a line for each group, and under it one for each of its first sites, all within about `lines`; further
/// groups and sites are counted. Lines have 100 columns.
[[nodiscard]] std::string plan_text(const route_plan& plan, std::size_t lines);

}  // namespace ashlar::cli
