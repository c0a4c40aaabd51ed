// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists groups and sites, as many of each as there is room for.
#include "cli/routes/plan_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t width = 100;
constexpr std::size_t groups_of_page = 16;
constexpr std::size_t lines_of_page = 48;
constexpr std::size_t sites_named = 2;

std::string heading(const route_group& group) {
  std::string text = "  " + shorten(group.name, width / 2) + ", " + resource_text(group);
  if (const auto objects = advised_objects(group))
    text += ", advised for " + human_count(static_cast<double>(*objects), "object");
  return text + ":\n";
}

/// The last line counts the sites that have none.
std::string site_lines(const route_group& group, const site_titles& titles, std::size_t most) {
  std::string text;
  const std::size_t shown = std::min(group.sites.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t left = i + 1 == shown ? group.sites.size() - shown : 0;
    const std::string more = left == 0 ? "" : fmt::format(" and {}", counted(left, "more site"));
    text += "    " + titles.of(group.sites[i], width - 4 - more.size(), std::string(6, ' ')) + more + "\n";
  }
  return text;
}

}  // namespace

std::string address_text(const std::string& path, std::uint64_t offset) {
  return fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), offset);
}

site_titles::site_titles(const route_plan& plan) : plan_(plan) {
  for (const route_group& group : plan.groups)
    for (const route_site& site : group.sites) ++uses_[name_of(site)];
}

std::vector<std::string> site_titles::addresses(const route_site& site) const {
  std::vector<std::string> all;
  if (const auto use = uses_.find(name_of(site)); use != uses_.end() && use->second == 1) return all;
  for (const route_frame& frame : site.chain)
    all.push_back((all.empty() ? " at " : " ← ") + address_text(plan_.modules.at(frame.build_id), frame.offset));
  return all;
}

std::string site_titles::of(const route_site& site) const {
  std::string text = name_of(site);
  for (const std::string& address : addresses(site)) text += address;
  return text;
}

std::string site_titles::of(const route_site& site, std::size_t columns, const std::string& indent) const {
  const std::vector<std::string> all = addresses(site);
  std::size_t wanted = 0;
  for (const std::string& address : all) wanted += display_width(address);
  std::string text = shorten(name_of(site), columns - std::min(wanted, columns / 2));
  std::size_t used = display_width(text);
  for (const std::string& address : all) {
    used += display_width(address);
    const bool fits = used <= columns;
    text += fits ? address : "\n" + indent + address.substr(1);
    if (!fits) used = display_width(indent + address) - 1;
  }
  return text;
}

std::string site_titles::of(const route_group& group) const {
  std::string text;
  for (std::size_t i = 0; i < std::min(group.sites.size(), sites_named); ++i)
    text += (i == 0 ? "" : ", ") + of(group.sites[i]);
  if (group.sites.size() > sites_named) text += fmt::format(" and {} more", group.sites.size() - sites_named);
  return text;
}

std::string plan_size_text(const route_plan& plan) {
  std::size_t sites = 0;
  for (const route_group& group : plan.groups) sites += group.sites.size();
  return counted(sites, "site") + " in " + counted(plan.groups.size(), "group");
}

std::optional<std::uint64_t> advised_objects(const route_group& group) {
  const auto objects = group.evidence.find("objects");
  if (objects == group.evidence.end() || !objects->is_number_integer()) return std::nullopt;
  return objects->get<std::uint64_t>();
}

std::string resource_text(const route_group& group) {
  return group.remedy == route_remedy::pool ? "a pool of cells of " + human_bytes(static_cast<double>(group.cell_bytes))
                                            : "an arena";
}

std::string plan_text(const route_plan& plan, std::size_t groups, std::size_t sites) {
  const site_titles titles(plan);
  const std::size_t shown = std::min(plan.groups.size(), groups);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += heading(plan.groups[i]) + site_lines(plan.groups[i], titles, sites);
  if (plan.groups.size() > shown) text += fmt::format("  and {}\n", counted(plan.groups.size() - shown, "more group"));
  return text;
}

std::string plan_page_text(const route_plan& plan) {
  const std::size_t groups = std::clamp<std::size_t>(plan.groups.size(), 1, groups_of_page);
  return plan_text(plan, groups, lines_of_page / groups - 1);
}

}  // namespace ashlar::cli
