// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Titles of sites: what two sites of one name do not share is shown, callers before addresses.
#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "cli/advise/sites.hpp"
#include "cli/routes/plan.hpp"
#include "cli/support/function_names.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

/// What may mark a site: its calls, in their order, and their addresses.
struct site_marks {
  std::vector<std::string> calls;
  std::vector<std::string> addresses;
};

/// Callers stand before the library's functions.
site_marks marks_of(const advised_site& s, const call_tree& tree, site_names& names) {
  const site_node& node = tree.nodes()[s.node];
  const source_place& request = s.request.place;
  site_marks marks;
  std::vector<std::string> inner;
  bool is_behind = false;
  for (const std::uint64_t frame : tree.frames(node.stack).first(node.depth)) {
    for (const source_place& place : names.places(frame)) {
      if (is_behind) marks.calls.push_back("← " + place.str());
      else if (place.address == request.address && place.whole == request.whole && place.line == request.line)
        is_behind = true;
      else inner.push_back("via " + place.str());
    }
    marks.addresses.push_back(address_mark(frame, tree));
  }
  std::ranges::move(inner, std::back_inserter(marks.calls));
  return marks;
}

using mark_set = std::set<std::string>;

/// Returns: the fewest of `marks`, in their order, that none of the others has all of: greedily, and of equal ones the
/// first; nothing if there are none.
std::vector<std::string> own_marks(const std::vector<std::string>& marks, std::vector<const mark_set*> others) {
  std::set<std::size_t> chosen;
  while (!others.empty()) {
    std::size_t best = marks.size(), least = others.size();
    for (std::size_t i = 0; i < marks.size(); ++i) {
      const auto alike = static_cast<std::size_t>(
          std::ranges::count_if(others, [&](const mark_set* o) { return o->contains(marks[i]); }));
      if (alike < least) std::tie(best, least) = std::pair(i, alike);
    }
    if (best == marks.size()) return {};
    chosen.insert(best);
    std::erase_if(others, [&](const mark_set* o) { return !o->contains(marks[best]); });
  }
  std::vector<std::string> own;
  for (const std::size_t i : chosen) own.push_back(marks[i]);
  return own;
}

/// Effects: sites without a mark get one of a kind, if it tells them from all others.
void mark_by(std::vector<std::string> site_marks::* kind, const std::vector<advised_site*>& alike,
             const std::vector<site_marks>& marks) {
  std::vector<std::vector<std::string>> own;
  for (const site_marks& m : marks) own.push_back(m.*kind);
  const std::vector<std::string> found = distinctions(own);
  for (std::size_t i = 0; i < alike.size(); ++i)
    if (alike[i]->mark.empty()) alike[i]->mark = found[i];
}

using sites_by_title = std::map<std::string, std::vector<advised_site*>>;

sites_by_title by_title(std::vector<advised_site>& sites, const call_tree& tree) {
  sites_by_title all;
  for (advised_site& s : sites) all[site_title(s, tree)].push_back(&s);
  std::erase_if(all, [](const auto& alike) { return alike.second.size() == 1; });
  return all;
}

/// Effects: functions of the sites have all of their template arguments.
void show_arguments(const std::vector<advised_site*>& alike) {
  for (advised_site* s : alike)
    if (source_place& place = s->request.place; place.function.find("<…>") != std::string::npos)
      place.function = long_function_name(place.whole);
}

bool differ_in_arguments(const std::vector<advised_site*>& alike) {
  const auto is_other = [&](const advised_site* s) {
    return s->request.place.whole != alike.front()->request.place.whole;
  };
  return std::ranges::any_of(alike, is_other);
}

}  // namespace

std::vector<std::string> distinctions(const std::vector<std::vector<std::string>>& marks) {
  std::vector<mark_set> sets;
  for (const auto& own : marks) sets.emplace_back(own.begin(), own.end());
  std::vector<std::string> found;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    std::vector<const mark_set*> others;
    for (std::size_t j = 0; j < marks.size(); ++j)
      if (j != i) others.push_back(&sets[j]);
    found.push_back(joined(own_marks(marks[i], others)));
  }
  return found;
}

std::string address_mark(std::uint64_t frame, const call_tree& tree) {
  const site_frame& at = tree.frame(frame);
  return "at " + address_text(tree.modules()[at.module].path, at.offset);
}

std::string site_distinction(const advised_site& s) {
  const std::string caller = s.caller.function.empty() ? "" : "← " + s.caller.str();
  if (caller.empty() || s.mark.empty()) return caller + s.mark;
  return s.mark.starts_with("←") ? s.mark + " " + caller : caller + " " + s.mark;
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
  for (const auto& [title, alike] : by_title(sites, tree))
    if (differ_in_arguments(alike)) show_arguments(alike);
  for (const auto& [title, alike] : by_title(sites, tree)) {
    std::vector<site_marks> marks;
    for (const advised_site* s : alike) marks.push_back(marks_of(*s, tree, names));
    mark_by(&site_marks::calls, alike, marks);
    mark_by(&site_marks::addresses, alike, marks);
    for (std::size_t i = 0; i < alike.size(); ++i)
      if (alike[i]->mark.empty()) alike[i]->mark = joined(marks[i].addresses);
  }
}

}  // namespace ashlar::cli
