// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Peels the stacks from within: the innermost functions are judged first, then their callers.
#include "cli/support/wrappers.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/support/function_names.hpp"

namespace ashlar::cli {

namespace {

/// Numbers that xmalloc and its kin stay within in the programs of docs/advise-names.md.
struct wrapper_limits {
  std::size_t calls;    ///< Places that call the allocator, at most.
  std::size_t callers;  ///< Functions, at least.
  std::size_t sizes;    ///< Different ones, at least.
  std::uint64_t code;   ///< Bytes, at most.
};

constexpr wrapper_limits limits_by_name = {2, 1, 1, 1024}, limits_by_callers = {1, 3, 3, 256},
                         limits_by_sizes = {1, 1, 8, 128};
constexpr std::size_t few_callers = 2;  // one of that many may always ask for the same size
constexpr int most_wrapped = 8;         // wrappers of wrappers

std::uint64_t mean_size(const study::amount& a) { return a.objects == 0 ? 0 : (a.bytes + a.objects / 2) / a.objects; }

std::string function_key(const source_place& place) {
  if (!place.whole.empty()) return place.module + " " + place.whole;
  return place.code_end == 0 ? place.function : fmt::format("{}+{:#x}", place.module, place.code_begin);
}

std::string call_key(const source_place& place) {
  return place.line != 0 ? place.str() : fmt::format("{}+{:#x}", place.module, place.address);
}

}  // namespace

std::size_t wrapper_finder::id_of(const source_place& place) {
  const auto [at, is_new] = ids_.try_emplace(&place, 0);
  if (!is_new) return at->second;
  at->second = functions_.try_emplace(function_key(place), functions_.size()).first->second;
  if (is_wrapper_.size() < functions_.size()) is_wrapper_.resize(functions_.size());
  return at->second;
}

void wrapper_finder::add(std::vector<const source_place*> calls, const study::amount& allocated) {
  if (allocated.objects == 0) return;
  std::ranges::reverse(calls);  // the innermost one is removed in constant time
  stack s{std::move(calls), allocated};
  pass_over(s);
  if (!s.calls.empty()) stacks_.push_back(std::move(s));
}

void wrapper_finder::pass_over(stack& s) {
  for (; !s.calls.empty(); s.calls.pop_back()) {
    const source_place& place = *s.calls.back();
    if (is_allocator_place(place) || contains(place)) continue;
    if (!is_library_place(place) && !is_c_library_place(place)) return;
    s.is_direct = false;
  }
}

std::map<std::size_t, wrapper_finder::evidence> wrapper_finder::collect() {
  std::map<std::size_t, evidence> all;
  for (const stack& s : stacks_) {
    evidence& e = all[id_of(*s.calls.back())];
    e.place = s.calls.back();
    e.objects += s.allocated.objects;
    e.calls.insert(call_key(*e.place));
    e.sizes.insert(mean_size(s.allocated));
    e.is_other = e.is_other || !s.is_direct || s.calls.size() == 1;
    if (s.calls.size() > 1) e.callers.insert(id_of(*s.calls[s.calls.size() - 2]));
  }
  for (const stack& s : stacks_)
    for (std::size_t i = 0; i + 1 < s.calls.size(); ++i)
      if (const auto at = all.find(id_of(*s.calls[i])); at != all.end()) at->second.is_other = true;
  return all;
}

bool wrapper_finder::is_wrapper(std::size_t id, const evidence& e) {
  if (e.is_other || freed_[id] * 2 >= e.objects) return false;
  if (e.callers.size() > few_callers && e.sizes.size() == 1) return false;  // it makes objects of one kind
  const std::uint64_t code = e.place->code_end - e.place->code_begin;
  const bool is_known = code != 0 || !e.place->whole.empty();
  const auto fits = [&](const wrapper_limits& limits) {
    return code <= limits.code && e.calls.size() <= limits.calls && e.callers.size() >= limits.callers &&
           e.sizes.size() >= limits.sizes;
  };
  return (is_known && fits(limits_by_callers)) || (code != 0 && fits(limits_by_sizes)) ||
         (is_allocation_name(e.place->function) && fits(limits_by_name));
}

program_call wrapper_finder::call_in(std::span<const source_place* const> calls) {
  program_call found{calls.size(), {}};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const source_place& place = *calls[i];
    const bool is_passed = contains(place) || is_c_library_place(place);
    if (is_library_place(place)) continue;
    if (!is_passed) return found.at = i, found;
    if (found.through.empty()) found.at = i;
    found.through.push_back(&place);
  }
  found.through.clear();
  return found;
}

void wrapper_finder::decide() {
  for (int round = 0; round < most_wrapped; ++round) {
    bool is_any_new = false;
    for (const auto& [id, found] : collect())
      if (is_wrapper(id, found)) is_wrapper_[id] = is_any_new = true;
    if (!is_any_new) return;
    for (stack& s : stacks_) pass_over(s);
    std::erase_if(stacks_, [](const stack& s) { return s.calls.empty(); });
  }
}

}  // namespace ashlar::cli
