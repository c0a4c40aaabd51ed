// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Peels the stacks from within: the innermost functions are judged first, then their callers.
#include "cli/support/wrappers.hpp"

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

const wrapper_finder::known_call& wrapper_finder::known(const source_place& place) {
  const auto [at, is_new] = known_.try_emplace(&place);
  known_call& call = at->second;
  if (!is_new) return call;
  call.place = &place;
  call.function = functions_.try_emplace(function_key(place), functions_.size()).first->second;
  call.number = numbers_.try_emplace(call_key(place), numbers_.size()).first->second;
  call.owner = is_allocator_place(place)   ? call_owner::allocator
               : is_library_place(place)   ? call_owner::cpp_library
               : is_c_library_place(place) ? call_owner::c_library
                                           : call_owner::program;
  if (is_wrapper_.size() < functions_.size()) is_wrapper_.resize(functions_.size());
  return call;
}

void wrapper_finder::add(std::span<const source_place* const> calls, const study::amount& allocated) {
  if (allocated.objects == 0) return;
  stack s{{}, allocated};
  s.calls.reserve(calls.size());
  for (std::size_t i = calls.size(); i-- > 0;) s.calls.push_back(&known(*calls[i]));
  pass_over(s);
  if (!s.calls.empty()) stacks_.push_back(std::move(s));
}

void wrapper_finder::pass_over(stack& s) {
  for (; !s.calls.empty(); s.calls.pop_back()) {
    const known_call& call = *s.calls.back();
    if (call.owner == call_owner::allocator || is_wrapper_[call.function]) continue;
    if (call.owner == call_owner::program) return;
    s.is_direct = false;
  }
}

std::map<std::size_t, wrapper_finder::evidence> wrapper_finder::collect() {
  std::map<std::size_t, evidence> all;
  std::vector<bool> is_outer(functions_.size());
  for (const stack& s : stacks_) {
    evidence& e = all[s.calls.back()->function];
    e.place = s.calls.back()->place;
    e.objects += s.allocated.objects;
    e.calls.insert(s.calls.back()->number);
    e.sizes.insert(mean_size(s.allocated));
    e.is_other = e.is_other || !s.is_direct || s.calls.size() == 1;
    if (s.calls.size() > 1) e.callers.insert(s.calls[s.calls.size() - 2]->function);
    for (const known_call* call : std::span(s.calls).first(s.calls.size() - 1)) is_outer[call->function] = true;
  }
  for (auto& [function, e] : all) e.is_other = e.is_other || is_outer[function];
  return all;
}

bool wrapper_finder::is_wrapper(std::size_t function, const evidence& e) {
  if (e.is_other || freed_[function] * 2 >= e.objects) return false;
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
    const known_call& call = known(*calls[i]);
    if (call.owner == call_owner::allocator || call.owner == call_owner::cpp_library) continue;
    if (call.owner == call_owner::program && !is_wrapper_[call.function]) return found.at = i, found;
    if (found.through.empty()) found.at = i;
    found.through.push_back(calls[i]);
  }
  found.through.clear();
  return found;
}

void wrapper_finder::decide() {
  for (int round = 0; round < most_wrapped; ++round) {
    bool is_any_new = false;
    for (const auto& [function, found] : collect())
      if (is_wrapper(function, found)) is_wrapper_[function] = is_any_new = true;
    if (!is_any_new) return;
    for (stack& s : stacks_) pass_over(s);
    std::erase_if(stacks_, [](const stack& s) { return s.calls.empty(); });
  }
}

}  // namespace ashlar::cli
