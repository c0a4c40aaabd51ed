// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts the sections of a report together.
#include "cli/html/report.hpp"

#include <fmt/format.h>

#include "cli/html/page.hpp"
#include "cli/html/svg.hpp"
#include "cli/replay/verdict.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

std::string verdict(const replay_figures& figures, const replayed_trace& replayed) {
  const std::string meaning = replay_meaning(figures, replayed);
  std::string out = fmt::format("<div class=\"verdict\"><p>{}</p>", escaped(replay_verdict(figures)));
  if (!meaning.empty()) out += fmt::format("<p>{}</p>", escaped(meaning));
  out += fmt::format("<p>{}</p><ul class=\"notes\">", escaped(replay_findings_heading(figures)));
  for (const std::string& line : replay_findings(figures)) out += fmt::format("<li>{}</li>", escaped(line));
  out += "</ul>";
  return out + "</div>\n";
}

std::vector<fact_tile> tiles(const report_data& data) {
  const study::trace_summary& s = data.sum;
  const auto bytes = [](std::uint64_t n) { return human_bytes(static_cast<double>(n)); };
  return {{"recorded", human_time(static_cast<double>(s.duration_ns)), counted(data.events, "event")},
          {"allocated", bytes(s.allocated.bytes), counted(s.allocated.objects, "object")},
          {"peak", bytes(s.peak.bytes), counted(s.peak.objects, "object live", "objects live")},
          {"never freed", bytes(s.live.bytes), counted(s.live.objects, "object")},
          {"threads", grouped(data.thread_count), counted(s.cross_thread, "free across", "frees across")},
          {"failed calls", grouped(s.failed), "returned null"}};
}

}  // namespace

std::string html_report(const replay_figures* figures, const replayed_trace* replayed, const report_data& data) {
  const std::string name = data.program.empty() ? data.path : data.program;
  std::string body = fmt::format(
      "<header><p>{}</p><h1>{}</h1></header>\n",
      figures == nullptr ? "What this program allocates" : "Which allocator serves this program best", escaped(name));
  if (!data.warning.empty()) body += fmt::format("<p>{}</p>\n", escaped(data.warning));
  for (const std::string& note : data.notes) body += fmt::format("<p>{}</p>\n", escaped(note));
  if (figures != nullptr) body += verdict(*figures, *replayed);
  body += html_tiles(tiles(data));
  if (figures != nullptr) body += html_replay_section(*figures, *replayed);
  body += html_trace_section(data);
  return html_page("ashlar: " + name, body);
}

}  // namespace ashlar::cli
