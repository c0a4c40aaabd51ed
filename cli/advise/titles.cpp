// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Titles of call sites: the request, the caller that decides, and a mark where several sites have both alike.
#include "cli/advise/titles.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cli/routes/plan_text.hpp"

namespace ashlar::cli {

namespace {

/// What may mark a site, the most telling first.
std::vector<std::string> marks_of(const advised_site& s, const call_tree& tree, site_names& names) {
  const site_node& node = tree.nodes()[s.node];
  const auto frames = tree.frames(node.stack).first(node.depth);
  std::vector<std::string> inner, outer, addresses;
  bool is_behind = false;
  for (const std::uint64_t frame : frames) {
    for (const source_place& place : names.places(frame)) {
      if (is_behind) outer.push_back("← " + place.str());
      else if (place.str() == s.request.place.str()) is_behind = true;
      else inner.push_back("via " + place.str());
    }
    addresses.push_back(address_mark(frame, tree));
  }
  outer.insert(outer.end(), inner.begin(), inner.end());
  outer.insert(outer.end(), addresses.begin(), addresses.end());
  return outer;
}

/// Returns: the first of the marks that no other site has; all addresses if they differ in their order alone.
std::string own_mark(const std::vector<std::string>& marks, const std::map<std::string, std::size_t>& uses) {
  const auto own = std::ranges::find_if(marks, [&](const std::string& mark) { return uses.at(mark) == 1; });
  if (own != marks.end()) return *own;
  std::string all;
  for (const std::string& mark : marks)
    if (mark.starts_with("at ")) all += (all.empty() ? "" : " ") + mark;
  return all;
}

}  // namespace

std::string address_mark(std::uint64_t frame, const call_tree& tree) {
  const site_frame& at = tree.frame(frame);
  return "at " + address_text(tree.modules()[at.module].path, at.offset);
}

std::string site_distinction(const advised_site& s) {
  const std::string caller = s.caller.function.empty() ? "" : "← " + s.caller.str();
  return caller.empty() || s.mark.empty() ? caller + s.mark : caller + " " + s.mark;
}

std::string site_title(const advised_site& s, const call_tree& tree) {
  const site_node& node = tree.nodes()[s.node];
  const site_frame& frame = tree.frame(tree.frames(node.stack).front());
  const std::string request = s.request.place.function.empty()
                                  ? address_text(tree.modules()[frame.module].path, frame.offset)
                                  : s.request.place.str();
  const std::string distinction = site_distinction(s);
  return distinction.empty() ? request : request + " " + distinction;
}

void mark_equal_titles(std::vector<advised_site>& sites, const call_tree& tree, site_names& names) {
  std::map<std::string, std::vector<advised_site*>> by_title;
  for (advised_site& s : sites) by_title[site_title(s, tree)].push_back(&s);
  for (const auto& [title, alike] : by_title) {
    if (alike.size() == 1) continue;
    std::map<std::string, std::size_t> uses;  // sites with the mark
    std::vector<std::vector<std::string>> marks;
    for (const advised_site* s : alike) {
      marks.push_back(marks_of(*s, tree, names));
      for (const std::string& mark : std::set<std::string>(marks.back().begin(), marks.back().end())) ++uses[mark];
    }
    for (std::size_t i = 0; i < alike.size(); ++i) alike[i]->mark = own_mark(marks[i], uses);
  }
}

}  // namespace ashlar::cli
