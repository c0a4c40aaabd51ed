// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names and merges call stacks.
#include "cli/report/data.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "cli/support/symbolise.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t max_calls_listed = 5;

/// A call stack with its names, and its allocations.
struct named_stack {
  std::vector<std::string> calls;
  study::site_summary sum;
};

std::vector<named_stack> named_stacks(const report_data& data, const trace_input& input, symboliser& names) {
  std::vector<named_stack> all;
  for (const auto& [id, sum] : data.sum.sites) {
    named_stack stack{{}, sum};
    for (const source_place* place : names.calls(input.stacks()[id], input.modules()))
      stack.calls.push_back(place->str());
    if (stack.calls.empty()) stack.calls.emplace_back("(no stack)");
    all.push_back(std::move(stack));
  }
  return all;
}

/// Returns: the innermost call of most objects, if many places make it, so that it is uninformative; else "".
std::string common_call(const std::vector<named_stack>& stacks) {
  struct use {
    std::uint64_t objects = 0;
    std::set<std::vector<std::string>> callers;
  };
  std::map<std::string, use> uses;
  std::uint64_t total = 0;
  for (const named_stack& stack : stacks) {
    use& u = uses[stack.calls.front()];
    total += stack.sum.allocated.objects;
    u.objects += stack.sum.allocated.objects;
    u.callers.emplace(stack.calls.begin() + 1, stack.calls.end());
  }
  for (const auto& [call, u] : uses)
    if (u.objects > total / 10 * 6 && u.callers.size() >= 3 && !u.callers.contains({})) return call;
  return "";
}

/// Returns: the program's own allocation functions, innermost first. Effects: removes them from the stacks.
std::vector<std::string> take_common_calls(std::vector<named_stack>& stacks) {
  std::vector<std::string> taken;
  for (std::string call = common_call(stacks); !call.empty() && taken.size() < 4; call = common_call(stacks)) {
    for (named_stack& stack : stacks)
      if (stack.calls.front() == call) stack.calls.erase(stack.calls.begin());
    taken.push_back(call);
  }
  return taken;
}

void add(study::amount& to, const study::amount& more) {
  to.objects += more.objects;
  to.bytes += more.bytes;
}

/// Returns: one call site for all stacks with the same first calls.
std::vector<call_site> merged(const std::vector<named_stack>& stacks) {
  std::map<std::vector<std::string>, call_site> sites;
  for (const named_stack& stack : stacks) {
    std::vector<std::string> calls = stack.calls;
    if (calls.size() > max_calls_listed) calls.erase(calls.begin() + max_calls_listed, calls.end());
    call_site& site = sites[calls];
    site.calls = std::move(calls);
    add(site.allocated, stack.sum.allocated);
    add(site.live, stack.sum.live);
    site.mean_lifetime_ns += stack.sum.lifetime_ns;  // the sum until now
  }
  std::vector<call_site> all;
  for (auto& [calls, site] : sites) {
    const std::uint64_t freed = site.allocated.objects - site.live.objects;
    if (freed != 0) site.mean_lifetime_ns /= static_cast<double>(freed);
    all.push_back(std::move(site));
  }
  return all;
}

/// Returns: the sites with the greatest `weight`, and not 0.
template <class Weight>
std::vector<call_site> heaviest(std::vector<call_site> sites, Weight weight) {
  std::erase_if(sites, [&](const call_site& s) { return weight(s) == 0; });
  std::sort(sites.begin(), sites.end(), [&](const auto& a, const auto& b) {
    return std::pair(weight(b), a.calls) < std::pair(weight(a), b.calls);
  });
  if (sites.size() > report_rows) sites.erase(sites.begin() + report_rows, sites.end());
  return sites;
}

}  // namespace

void add_call_sites(report_data& data, const trace_input& input) {
  symboliser names;
  std::vector<named_stack> stacks = named_stacks(data, input, names);
  data.notes = names.notes();
  data.passed_through = take_common_calls(stacks);
  const std::vector<call_site> all = merged(stacks);
  data.site_count = all.size();
  data.by_count = heaviest(all, [](const call_site& s) { return s.allocated.objects; });
  data.by_bytes = heaviest(all, [](const call_site& s) { return s.allocated.bytes; });
  data.by_live = heaviest(all, [](const call_site& s) { return s.live.bytes; });
}

}  // namespace ashlar::cli
