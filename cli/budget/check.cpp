// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the figure of each limit.
#include "cli/budget/check.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cli/support/printable.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

std::uint64_t figure_of(const study::span_summary& s, const std::string& figure) {
  if (figure == "count") return s.count();
  if (figure == "allocations") return s.most_allocations;
  if (figure == "bytes") return s.most_bytes;
  if (figure == "peak_bytes") return s.most_peak_bytes;
  return s.durations_ns.quantile(figure == "p50_ns" ? 0.5 : figure == "p99_ns" ? 0.99 : 0.999);
}

std::uint64_t figure_of(const study::thread_summary& t, const std::string& figure) {
  return figure == "allocations" ? t.allocations : figure == "bytes" ? t.bytes : t.peak_bytes;
}

std::uint64_t figure_of(const study::trace_summary& s, const std::string& figure) {
  if (figure == "allocations") return s.allocated.objects;
  if (figure == "bytes") return s.allocated.bytes;
  return figure == "peak_bytes" ? s.peak.bytes : s.live.bytes;
}

void raise(std::optional<std::uint64_t>& greatest, std::uint64_t figure) {
  greatest = std::max(greatest.value_or(0), figure);
}

std::optional<std::uint64_t> find_figure(const limit& l, const study::trace_summary& sum,
                                         const trace::name_table& names) {
  std::optional<std::uint64_t> greatest;
  if (l.subject == budget_subject::program) raise(greatest, figure_of(sum, l.figure));
  if (l.subject == budget_subject::span)
    for (const auto& [name, span] : sum.spans.by_name)
      if (names[name] == l.name && span.count() != 0) raise(greatest, figure_of(span, l.figure));
  if (l.subject == budget_subject::thread)
    for (const auto& [id, thread] : sum.threads)
      if (thread.name != 0 && names[thread.name] == l.name) raise(greatest, figure_of(thread, l.figure));
  return greatest;
}

const char* title_of(budget_subject subject) {
  return subject == budget_subject::span ? "span " : subject == budget_subject::thread ? "thread " : "program";
}

}  // namespace

std::vector<checked_limit> check_limits(const std::vector<limit>& limits, const study::trace_summary& sum,
                                        const trace::name_table& names) {
  std::vector<checked_limit> all;
  for (const limit& each : limits) all.push_back({each, find_figure(each, sum, names)});
  return all;
}

std::vector<limit> limits_of(const study::trace_summary& sum, const trace::name_table& names) {
  std::set<std::pair<budget_subject, std::string>> subjects = {{budget_subject::program, ""}};
  for (const auto& [name, span] : sum.spans.by_name)
    if (span.count() != 0) subjects.emplace(budget_subject::span, names[name]);
  for (const auto& [id, thread] : sum.threads)
    if (thread.name != 0) subjects.emplace(budget_subject::thread, names[thread.name]);
  std::vector<limit> all;
  for (const auto& [subject, name] : subjects)
    for (const std::string& figure : figures_of(subject)) {
      if (figure.ends_with("_ns")) continue;
      limit& each = all.emplace_back(limit{subject, name, figure, 0});
      each.most = find_figure(each, sum, names).value_or(0);
    }
  return all;
}

std::vector<std::string> notes_on_threads(const study::trace_summary& sum, const trace::name_table& names) {
  std::size_t unnamed = 0;
  std::map<std::string, std::size_t> threads_of;
  for (const auto& [id, thread] : sum.threads) {
    if (thread.name == 0) ++unnamed;
    else ++threads_of[std::string(names[thread.name])];
  }
  std::vector<std::string> notes;
  if (unnamed != 0)
    notes.push_back(
        counted(unnamed, "thread") +
        " without a name, of which there are no limits: os::name_thread or pthread_setname_np names a thread");
  for (const auto& [name, threads] : threads_of)
    if (threads > 1)
      notes.push_back(counted(threads, "thread") + " of the name " + printable(name) +
                      ", each of which is held to the limits of the worst");
  return notes;
}

std::string limits_text(const std::vector<checked_limit>& all) {
  text_table table({{"", side::left}, {"of", side::left}, {"figure", side::left}, {"found"}, {"allowed"}});
  for (const checked_limit& each : all)
    table.add({each.is_kept() ? "ok"
               : each.found   ? "OVER"
                              : "ABSENT",
               title_of(each.allowed.subject) + each.allowed.name, each.allowed.figure,
               each.found ? grouped(*each.found) : "-", grouped(each.allowed.most)});
  return table.str();
}

}  // namespace ashlar::cli
