// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The difference of two sides for people and as JSON.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cli/diff/diff.hpp"
#include "cli/support/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

std::string signed_text(std::uint64_t was, std::uint64_t is, std::string (*text)(std::uint64_t)) {
  return was == is ? "-" : is > was ? "+" + text(is - was) : "-" + text(was - is);
}

std::string counts_text(const trace_diff& diff) {
  std::string text;
  for (const std::string_view word : {"new", "gone", "more", "fewer"}) {
    const auto sites = std::ranges::count(diff.changes, word, &site_change::word);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", sites, word);
  }
  return fmt::format("Call sites, matched by function and line: {}, {} equal.", text, diff.equal);
}

std::string totals_text(const trace_diff& diff) {
  std::string text;
  const auto fact = [&](const char* name, const study::amount& was, const study::amount& is) {
    const std::string share =
        was.bytes == is.bytes || was.bytes == 0
            ? ""
            : fmt::format(" ({})", part_of(std::max(is.bytes, was.bytes) - std::min(is.bytes, was.bytes), was.bytes));
    text += fmt::format("  {:<15}{} -> {}, {}{}; {} -> {}\n", name, in_bytes(was.bytes), in_bytes(is.bytes),
                        signed_text(was.bytes, is.bytes, in_bytes), share, grouped(was.objects),
                        counted(is.objects, "object"));
  };
  fact("allocated", diff.before.allocated, diff.after.allocated);
  fact("peak", diff.before.peak, diff.after.peak);
  fact("never freed", diff.before.live, diff.after.live);
  return text;
}

std::string changes_text(const std::vector<site_change>& changes) {
  if (changes.empty()) return "";
  text_table table({{"", side::left}, {"bytes"}, {"objects"}, {"never freed"}, {"call site", side::left}});
  for (const site_change& c : std::span(changes).first(std::min(changes.size(), 2 * report_rows)))
    table.add({std::string(c.word()), signed_text(c.was.allocated.bytes, c.is.allocated.bytes, in_bytes),
               signed_text(c.was.allocated.objects, c.is.allocated.objects, grouped),
               signed_text(c.was.live.bytes, c.is.live.bytes, in_bytes),
               shorten(c.after.empty() ? c.before : c.after, page_width - 48)});
  const std::size_t more = changes.size() - std::min(changes.size(), 2 * report_rows);
  return "\n" + table.str() + (more == 0 ? "" : "and " + counted(more, "smaller change") + "\n");
}

std::string growths_text(const std::vector<growth_limit>& limits) {
  if (limits.empty()) return "";
  text_table table({{"", side::left}, {"figure", side::left}, {"was"}, {"is"}, {"at most"}, {"growth", side::left}});
  for (const growth_limit& l : limits)
    table.add(
        {l.is_kept() ? "ok" : "OVER", l.figure, grouped(l.was), grouped(l.is), grouped(l.most), "of " + l.growth});
  return "\n" + table.str();
}

json amount_json(const study::amount& a) { return {{"objects", a.objects}, {"bytes", a.bytes}}; }

json side_json(const diff_side& s) {
  return {{"traces", s.traces},
          {"notes", s.notes},
          {"allocated", amount_json(s.allocated)},
          {"peak", amount_json(s.peak)},
          {"never_freed", amount_json(s.live)}};
}

json changes_json(const std::vector<site_change>& changes) {
  json all = json::array();
  for (const site_change& c : changes)
    all.push_back({{"change", c.word()},
                   {"was_site", or_null(c.before)},
                   {"site", or_null(c.after)},
                   {"was_allocated", amount_json(c.was.allocated)},
                   {"allocated", amount_json(c.is.allocated)},
                   {"was_never_freed", amount_json(c.was.live)},
                   {"never_freed", amount_json(c.is.live)}});
  return all;
}

}  // namespace

std::string diff_side::title() const { return joined(traces, ", "); }

std::string diff_text(const trace_diff& diff) {
  std::string text = paragraph(diff.before.title() + " -> " + diff.after.title()) + totals_text(diff);
  text += paragraph(counts_text(diff));
  for (const diff_side* each : {&diff.before, &diff.after})
    for (const std::string& note : each->notes) text += paragraph(note);
  return text + changes_text(diff.changes) + growths_text(diff.limits);
}

json diff_json(const trace_diff& diff) {
  json limits = json::array();
  for (const growth_limit& l : diff.limits)
    limits.push_back({{"figure", l.figure},
                      {"growth", l.growth},
                      {"was", l.was},
                      {"is", l.is},
                      {"most", l.most},
                      {"kept", l.is_kept()}});
  return {{"before", side_json(diff.before)},
          {"after", side_json(diff.after)},
          {"text", counts_text(diff)},
          {"equal", diff.equal},
          {"limits", limits},
          {"changes", changes_json(diff.changes)}};
}

}  // namespace ashlar::cli
