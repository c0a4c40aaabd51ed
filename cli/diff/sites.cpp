// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pairs the places of two sides.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <tuple>
#include <utility>

#include "cli/diff/diff.hpp"

namespace ashlar::cli {

namespace {

int line_in(const std::string& place) {
  int line = 0;
  const std::size_t colon = place.rfind(':');
  if (colon != place.npos) std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
  return line;
}

/// Returns: the place without its line, if it has one.
std::string function_and_file_in(const std::string& place) {
  return line_in(place) == 0 ? place : place.substr(0, place.rfind(':'));
}

/// Returns: the place without "(file:line)"; all of an offset, which tells nothing of another build.
std::string function_in(const std::string& place) {
  return place.ends_with(')') ? place.substr(0, place.rfind(" (")) : place;
}

/// The sites of one function that one side alone has, in the order of their lines.
struct unmatched_sites {
  std::vector<site_change*> before, after;
};

/// Effects: both become one; the second is left without names.
void unite(site_change& before, site_change& after) {
  before.after = std::exchange(after.after, "");
  before.is = std::exchange(after.is, {});
}

int shift_between(const site_change& before, const site_change& after) {
  return line_in(after.after) - line_in(before.before);
}

std::uint64_t bytes_apart(const study::amount& a, const study::amount& b) {
  return std::max(a.bytes, b.bytes) - std::min(a.bytes, b.bytes);
}

/// Returns: the lines by which most sites have moved; of equal ones those that leave the bytes nearest, then the least.
int common_shift(const unmatched_sites& sites) {
  std::map<int, std::pair<int, std::uint64_t>> shifts;  // sites, and bytes apart
  for (const site_change* a : sites.before)
    for (const site_change* b : sites.after) {
      auto& [count, apart] = shifts[shift_between(*a, *b)];
      ++count;
      apart += bytes_apart(a->was.allocated, b->is.allocated);
    }
  const auto merit = [](const auto& shift) {
    return std::tuple(shift.second.first, ~shift.second.second, -std::abs(shift.first));
  };
  return std::ranges::max_element(shifts, {}, merit)->first;
}

void match_in_order(unmatched_sites& sites) {
  for (std::size_t i = 0; i < std::min(sites.before.size(), sites.after.size()); ++i)
    unite(*sites.before[i], *sites.after[i]);
}

void match_moved(unmatched_sites& sites) {
  if (sites.before.empty() || sites.after.empty()) return;
  const int shift = common_shift(sites);
  for (site_change* a : sites.before)
    for (site_change* b : sites.after)
      if (!b->after.empty() && shift_between(*a, *b) == shift) {
        unite(*a, *b);
        break;
      }
  std::erase_if(sites.before, [](const site_change* c) { return !c->after.empty(); });
  std::erase_if(sites.after, [](const site_change* c) { return c->after.empty(); });
  match_in_order(sites);
}

/// Effects: matches the sites that are on one side alone, those with one key among themselves.
void match_by(std::vector<site_change>& all, std::string (*key)(const std::string&), void (*match)(unmatched_sites&)) {
  std::map<std::string, unmatched_sites> groups;
  for (site_change& c : all)
    if (c.before.empty() != c.after.empty()) {
      if (c.after.empty()) groups[key(c.before)].before.push_back(&c);
      else groups[key(c.after)].after.push_back(&c);
    }
  for (auto& [text, sites] : groups) {
    std::ranges::sort(sites.before, {}, [](const site_change* c) { return line_in(c->before); });
    std::ranges::sort(sites.after, {}, [](const site_change* c) { return line_in(c->after); });
    match(sites);
  }
}

}  // namespace

std::string_view site_change::word() const noexcept {
  if (before.empty()) return "new";
  if (after.empty()) return "gone";
  for (const auto& [a, b] :
       {std::pair(was.allocated.bytes, is.allocated.bytes), std::pair(was.allocated.objects, is.allocated.objects),
        std::pair(was.live.bytes, is.live.bytes)})
    if (a != b) return a < b ? "more" : "fewer";
  return "";
}

void compare_sites(trace_diff& diff) {
  std::vector<site_change>& all = diff.changes;
  for (const auto& [place, sum] : diff.before.by_place) all.push_back({place, "", sum, {}});
  for (const auto& [place, sum] : diff.after.by_place) all.push_back({"", place, {}, sum});
  match_by(all, function_and_file_in, match_moved);
  match_by(all, function_in, match_in_order);
  std::erase_if(all, [](const site_change& c) { return c.before.empty() && c.after.empty(); });
  diff.equal = std::erase_if(all, [](const site_change& c) { return c.word().empty(); });
  std::ranges::stable_sort(all, std::greater(), [](const site_change& c) {
    const auto &was = c.was.allocated, &is = c.is.allocated;
    return std::tuple(bytes_apart(was, is), std::max(was.objects, is.objects) - std::min(was.objects, is.objects),
                      bytes_apart(c.was.live, c.is.live));
  });
}

}  // namespace ashlar::cli
