// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan of routes for people: which call sites share which resource.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/routes/plan.hpp"

namespace ashlar::cli {

/// Returns: "prog+0x1234", an address of the module in the file `path`.
[[nodiscard]] std::string address_text(const std::string& path, std::uint64_t offset);

/// Titles of the sites of a plan, each of which is one site's alone.
class site_titles {
public:
  /// `plan` outlives this.
  explicit site_titles(const route_plan& plan);

  /// Returns: "parse (parser.cpp:12)"; of sites with one name also the return addresses, the one in malloc's caller
  /// first: "parse (parser.cpp:12) at prog+0x1234 ← prog+0x5678". Expects: a site of the plan.
  [[nodiscard]] std::string of(const route_site& site) const;
  /// Returns: the same in lines of at most `columns`: the name is shortened, at most to half of them, and each address
  /// is whole, in a line of its own if it has more columns. Lines but the first begin with `indent`.
  [[nodiscard]] std::string of(const route_site& site, std::size_t columns, const std::string& indent) const;
  /// Returns: the titles of the first two sites, and the number of the others.
  [[nodiscard]] std::string of(const route_group& group) const;

private:
  /// Returns: " at prog+0x1234", " ← prog+0x5678"; nothing for a site whose name is its own.
  [[nodiscard]] std::vector<std::string> addresses(const route_site& site) const;

  const route_plan& plan_;
  std::map<std::string, std::size_t> uses_;
};

/// Returns: "3 sites in 2 groups".
[[nodiscard]] std::string plan_size_text(const route_plan& plan);

/// Returns: the objects of the recorded program that the group is for, if the plan has their number.
[[nodiscard]] std::optional<std::uint64_t> advised_objects(const route_group& group);

/// Returns: "a pool of cells of 96 B".
[[nodiscard]] std::string resource_text(const route_group& group);

/// Returns: a line for each of the first `groups`, and under it the titles of its first `sites`; further groups and
/// sites are counted. Lines have at most 100 columns, unless one address has more.
[[nodiscard]] std::string plan_text(const route_plan& plan, std::size_t groups, std::size_t sites);

/// Returns: the same with as many groups and sites as a page has room for, 48 together.
[[nodiscard]] std::string plan_page_text(const route_plan& plan);

}  // namespace ashlar::cli
