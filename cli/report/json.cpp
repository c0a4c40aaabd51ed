// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a trace's summary for programs.
#include <string>

#include <nlohmann/json.hpp>

#include "cli/report/data.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

json amount_to_json(const study::amount& a) { return {{"objects", a.objects}, {"bytes", a.bytes}}; }

json or_null(std::uint64_t figure) { return figure == 0 ? json() : json(figure); }

json to_json(const std::vector<histogram_row>& rows, bool bytes) {
  json all = json::array();
  for (const histogram_row& row : rows) {
    json j = {{"from", row.least}, {"to", row.greatest}, {"objects", row.count}};
    if (bytes) j["bytes"] = row.bytes;
    all.push_back(j);
  }
  return all;
}

json to_json(const std::vector<call_site>& sites) {
  json all = json::array();
  for (const call_site& site : sites)
    all.push_back({{"calls", site.calls},
                   {"through", site.through},
                   {"allocated", amount_to_json(site.allocated)},
                   {"never_freed", amount_to_json(site.live)},
                   {"mean_lifetime_ns", site.mean_lifetime_ns}});
  return all;
}

json to_json(const thread_row& t) {
  return {{"thread", t.id},
          {"name", t.name},
          {"peak_bytes", t.sum.peak_bytes},
          {"first_ns", t.sum.first_ns},
          {"last_ns", t.sum.last_ns},
          {"allocations", t.sum.allocations},
          {"frees", t.sum.frees},
          {"freed_by_others", t.sum.freed_remote},
          {"bytes", t.sum.bytes},
          {"ended", t.sum.ended}};
}

json to_json(const span_row& row) {
  const study::span_summary& s = row.sum;
  return {{"name", row.name},
          {"count", s.count()},
          {"unended", s.unended},
          {"p50_ns", s.durations_ns.quantile(0.5)},
          {"p99_ns", s.durations_ns.quantile(0.99)},
          {"p99_9_ns", s.durations_ns.quantile(0.999)},
          {"longest_ns", s.durations_ns.max()},
          {"allocations", s.allocations},
          {"most_allocations", s.most_allocations},
          {"bytes", s.bytes},
          {"most_bytes", s.most_bytes},
          {"most_peak_bytes", s.most_peak_bytes}};
}

json calls_json(const study::trace_summary& sum) {
  json calls = json::object();
  for (std::size_t i = 0; i < sum.operations.size(); ++i)
    calls[std::string(trace::name(static_cast<trace::operation>(i)))] = sum.operations[i];
  return calls;
}

json live_json(const study::trace_summary& sum) {
  json points = json::array();
  for (const auto& p : sum.live_bytes.points())
    points.push_back({{"time_ns", p.time_ns}, {"least", p.least}, {"greatest", p.greatest}});
  return points;
}

}  // namespace

json report_json(const report_data& data) {
  const study::trace_summary& s = data.sum;
  json threads = json::array();
  for (const thread_row& t : data.threads) threads.push_back(to_json(t));
  json spans = json::array();
  for (const span_row& row : data.spans) spans.push_back(to_json(row));
  return {{"trace", data.path},
          {"program", data.program},
          {"warning", data.warning},
          {"notes", data.notes},
          {"events", data.events},
          {"duration_ns", s.duration_ns},
          {"calls", calls_json(s)},
          {"allocated", amount_to_json(s.allocated)},
          {"peak", {{"objects", s.peak.objects}, {"bytes", s.peak.bytes}, {"time_ns", s.peak_ns}}},
          {"never_freed", amount_to_json(s.live)},
          {"resident_peak_bytes", or_null(data.resident_peak_bytes)},
          {"anonymous_peak_bytes", data.resident_peak_bytes == 0 ? json() : json(data.anonymous_peak_bytes)},
          {"own_allocator", own_allocator_json(data.own)},
          {"processes", data.processes},
          {"choice", data.choice.empty() ? json() : json(data.choice)},
          {"failed_calls", s.failed},
          {"frees", s.frees},
          {"frees_of_unknown", s.unknown},
          {"cross_thread_frees", s.cross_thread},
          {"sizes", to_json(data.sizes, true)},
          {"common_sizes", to_json(data.common_sizes, true)},
          {"lifetimes_ns", to_json(data.lifetimes_ns, false)},
          {"lifetimes_bytes", to_json(data.lifetimes_bytes, false)},
          {"thread_count", data.thread_count},
          {"threads", threads},
          {"spans", spans},
          {"unmatched_span_ends", s.spans.unmatched_ends},
          {"live_bytes", live_json(s)},
          {"call_sites", data.site_count},
          {"passed_through", data.passed_through},
          {"call_sites_by_objects", to_json(data.by_count)},
          {"call_sites_by_bytes", to_json(data.by_bytes)},
          {"call_sites_never_freed", to_json(data.by_live)}};
}

}  // namespace ashlar::cli
