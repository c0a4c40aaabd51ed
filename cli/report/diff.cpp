// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pairs the places of two traces.
#include "cli/report/diff.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "cli/report/data.hpp"
#include "cli/support/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

/// Returns: the place without "(file:line)"; all of an offset, which tells nothing of another build.
std::string function_in(const std::string& place) {
  return place.ends_with(')') ? place.substr(0, place.rfind(" (")) : place;
}

int line_in(const std::string& place) {
  int line = 0;
  const std::size_t colon = place.rfind(':');
  if (colon != place.npos) std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
  return line;
}

std::uint64_t between(std::uint64_t a, std::uint64_t b) { return std::max(a, b) - std::min(a, b); }

std::string signed_text(std::uint64_t was, std::uint64_t is, std::string (*text)(std::uint64_t)) {
  return was == is ? "-" : (is > was ? "+" : "-") + text(between(was, is));
}

/// The sites of one function that one trace alone has.
struct unmatched_sites {
  std::vector<site_change*> before, after;
};

/// Effects: those of one function become one in the order of their lines; the later of each pair is left without names.
void match_moved(unmatched_sites& sites) {
  std::ranges::sort(sites.before, {}, [](const site_change* c) { return line_in(c->before); });
  std::ranges::sort(sites.after, {}, [](const site_change* c) { return line_in(c->after); });
  for (std::size_t i = 0; i < std::min(sites.before.size(), sites.after.size()); ++i) {
    sites.before[i]->after = std::exchange(sites.after[i]->after, "");
    sites.before[i]->is = sites.after[i]->is;
  }
}

std::vector<site_change> matched(const report_data& before, const report_data& after) {
  std::map<std::string, site_change> all;
  for (const auto& [place, sum] : before.by_place) std::tie(all[place].before, all[place].was) = std::tie(place, sum);
  for (const auto& [place, sum] : after.by_place) std::tie(all[place].after, all[place].is) = std::tie(place, sum);
  std::map<std::string, unmatched_sites> moved;
  for (auto& [place, change] : all)
    if (change.after.empty()) moved[function_in(place)].before.push_back(&change);
    else if (change.before.empty()) moved[function_in(place)].after.push_back(&change);
  for (auto& [function, sites] : moved) match_moved(sites);
  std::vector<site_change> changes;
  for (auto& [place, change] : all)
    if (!change.before.empty() || !change.after.empty()) changes.push_back(std::move(change));
  return changes;
}

std::vector<std::string> notes_of(const report_data& before, const report_data& after) {
  std::vector<std::string> all = {before.warning, before.choice, no_sites_note(before)};
  for (const std::string& note : before.notes)
    if (std::ranges::find(after.notes, note) == after.notes.end()) all.push_back(note);
  std::erase(all, "");
  for (std::string& note : all) note = before.path + ": " + note;
  return all;
}

std::string counts_text(const trace_diff& diff) {
  std::string text;
  for (const std::string_view word : {"came", "went", "grew", "shrank"}) {
    const auto sites = std::ranges::count(diff.changes, word, &site_change::word);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", sites, word);
  }
  return fmt::format("Call sites, matched by function and line: {}, {} equal.", text, diff.equal);
}

json amount_json(const study::amount& a) { return {{"objects", a.objects}, {"bytes", a.bytes}}; }

}  // namespace

std::string_view site_change::word() const noexcept {
  if (before.empty()) return "came";
  if (after.empty()) return "went";
  for (const auto& [a, b] :
       {std::pair(was.allocated.bytes, is.allocated.bytes), std::pair(was.allocated.objects, is.allocated.objects),
        std::pair(was.live.bytes, is.live.bytes)})
    if (a != b) return a < b ? "grew" : "shrank";
  return "";
}

trace_diff diff_of(const report_data& before, const report_data& after) {
  trace_diff diff{before.path, notes_of(before, after), before.sum.allocated, before.sum.peak, before.sum.live, {}, 0};
  diff.changes = matched(before, after);
  diff.equal = std::erase_if(diff.changes, [](const site_change& c) { return c.word().empty(); });
  std::ranges::stable_sort(diff.changes, std::greater(), [](const site_change& c) {
    return std::array{between(c.was.allocated.bytes, c.is.allocated.bytes),
                      between(c.was.allocated.objects, c.is.allocated.objects),
                      between(c.was.live.bytes, c.is.live.bytes)};
  });
  return diff;
}

std::string diff_text(const trace_diff& diff, const report_data& after) {
  std::string text = fmt::format("\nagainst {}\n", diff.path);
  const auto fact = [&](const char* name, const study::amount& was, const study::amount& is) {
    text +=
        fmt::format("  {:<15}{} -> {}, {}; {} -> {}\n", name, in_bytes(was.bytes), in_bytes(is.bytes),
                    signed_text(was.bytes, is.bytes, in_bytes), grouped(was.objects), counted(is.objects, "object"));
  };
  fact("allocated", diff.allocated, after.sum.allocated);
  fact("peak", diff.peak, after.sum.peak);
  fact("never freed", diff.live, after.sum.live);
  text += paragraph(counts_text(diff));
  for (const std::string& note : diff.notes) text += paragraph(note);
  if (diff.changes.empty()) return text;
  text_table table({{"", side::left}, {"bytes"}, {"objects"}, {"never freed"}, {"call site", side::left}});
  for (const site_change& c : std::span(diff.changes).first(std::min(diff.changes.size(), 2 * report_rows)))
    table.add({std::string(c.word()), signed_text(c.was.allocated.bytes, c.is.allocated.bytes, in_bytes),
               signed_text(c.was.allocated.objects, c.is.allocated.objects, grouped),
               signed_text(c.was.live.bytes, c.is.live.bytes, in_bytes),
               shorten(c.after.empty() ? c.before : c.after, page_width - 48)});
  return text + "\n" + table.str();
}

json diff_json(const trace_diff& diff) {
  json changes = json::array();
  for (const site_change& c : diff.changes)
    changes.push_back({{"change", c.word()},
                       {"was_site", or_null(c.before)},
                       {"site", or_null(c.after)},
                       {"was_allocated", amount_json(c.was.allocated)},
                       {"allocated", amount_json(c.is.allocated)},
                       {"was_never_freed", amount_json(c.was.live)},
                       {"never_freed", amount_json(c.is.live)}});
  return {{"trace", diff.path},
          {"notes", diff.notes},
          {"text", counts_text(diff)},
          {"allocated", amount_json(diff.allocated)},
          {"peak", amount_json(diff.peak)},
          {"never_freed", amount_json(diff.live)},
          {"equal", diff.equal},
          {"changes", changes}};
}

}  // namespace ashlar::cli
