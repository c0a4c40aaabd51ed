// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists groups and sites, as many of each as a page has room for.
#include "cli/run/plan_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t width = 100;
constexpr std::size_t lines_of_page = 48;
constexpr std::size_t groups_shown = 16;

/// Returns: the return addresses of the chain, that of malloc's caller first.
std::string addresses(const route_site& site, const route_plan& plan) {
  std::string text;
  for (const route_frame& frame : site.chain) {
    const std::string& path = plan.modules.at(frame.build_id);
    text += fmt::format("{}{}+{:#x}", text.empty() ? " at " : " ← ", path.substr(path.rfind('/') + 1), frame.offset);
  }
  return text;
}

std::string heading(const route_group& group) {
  std::string text = "  " + shorten(group.name, width / 2);
  text += group.remedy == route_remedy::pool
              ? fmt::format(", a pool of cells of {}", human_bytes(static_cast<double>(group.cell_bytes)))
              : ", an arena";
  const auto objects = group.evidence.find("objects");
  if (objects != group.evidence.end() && objects->is_number_integer())
    text += fmt::format(", advised for {} objects", human_count(objects->get<double>()));
  return text + ":\n";
}

}  // namespace

std::string plan_text(const route_plan& plan, const std::string& name) {
  std::map<std::string, std::size_t> uses;
  std::size_t all_sites = 0;
  for (const route_group& group : plan.groups) {
    for (const route_site& site : group.sites) ++uses[name_of(site)];
    all_sites += group.sites.size();
  }
  const std::size_t groups = std::min(plan.groups.size(), groups_shown);
  const std::size_t most = groups == 0 ? 0 : lines_of_page / groups - 2;  // sites of a group
  std::string text =
      fmt::format("ashlar run: {}: {} in {}\n", name, counted(all_sites, "site"), counted(plan.groups.size(), "group"));
  for (std::size_t i = 0; i < groups; ++i) {
    const route_group& group = plan.groups[i];
    text += heading(group);
    for (std::size_t k = 0; k < std::min(group.sites.size(), most); ++k) {
      const route_site& site = group.sites[k];
      const std::string title = name_of(site), at = uses[title] == 1 ? "" : addresses(site, plan);
      text += "    " + shorten(title, width - 4 - std::min(at.size(), width / 2)) + at + "\n";
    }
    if (group.sites.size() > most) text += fmt::format("    and {}\n", counted(group.sites.size() - most, "more site"));
  }
  if (plan.groups.size() > groups)
    text += fmt::format("  and {}\n", counted(plan.groups.size() - groups, "more group"));
  return text;
}

}  // namespace ashlar::cli
