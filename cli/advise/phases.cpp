// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A signature of each phase: sizes and alignments in the order of births, and who dies between them.
#include "cli/advise/phases.hpp"

#include <algorithm>
#include <tuple>

namespace ashlar::cli {

namespace {

constexpr std::uint64_t a_birth = 1, a_death = 2;

void mix(std::uint64_t& signature, std::uint64_t value) noexcept {
  signature = (signature ^ value) * 0x9E37'79B9'7F4A'7C15U;
  signature ^= signature >> 29;
}

}  // namespace

void phase_observer::begin_trace() {
  marks_.clear();
  birth_of_.clear();
  last_object_ = 0;
}

void phase_observer::mark(std::uint64_t number) {
  if (states_.empty()) states_.resize(site_count_);
  if (!marks_.empty()) ++phases_[{marks_.back(), number}];
  marks_.push_back(number);
  birth_of_.clear();
  first_object_ = last_object_ + 1;
}

phase_observer::state& phase_observer::current(std::uint32_t site) {
  state& s = states_[site];
  if (s.phase == marks_.size()) return s;
  close(s);
  s = {.phase = marks_.size(), .all = s.all};
  return s;
}

void phase_observer::born(std::span<const std::uint32_t> sites, const trace::event& e) {
  last_object_ = e.object;
  if (marks_.empty() || sites.empty()) return;
  for (const std::uint32_t site : sites) {
    state& s = current(site);
    mix(s.signature, a_birth);
    mix(s.signature, e.size);
    mix(s.signature, e.alignment);
    ++s.births;
    ++s.live;
    s.is_unlike = s.is_unlike || e.object - first_object_ >= most_objects;
  }
  if (e.object - first_object_ >= most_objects) return;
  birth_of_.resize(e.object - first_object_ + 1);
  birth_of_.back() = static_cast<std::uint32_t>(states_[sites.front()].births);
}

void phase_observer::died(std::span<const std::uint32_t> sites, std::uint64_t object) {
  if (marks_.empty()) return;
  const bool is_of_phase = object >= first_object_;
  const std::uint64_t number = object - first_object_;
  for (const std::uint32_t site : sites) {
    state& s = current(site);
    s.is_unlike = s.is_unlike || !is_of_phase;
    if (!is_of_phase) continue;
    mix(s.signature, a_death);
    mix(s.signature, number < birth_of_.size() ? birth_of_[number] : 0);
    --s.live;
  }
}

/// A phase that the trace ends in has no second mark.
void phase_observer::close(state& s) const {
  if (s.phase == 0 || s.phase >= marks_.size()) return;
  phase_features& all = s.all;
  const std::uint64_t opening = marks_[s.phase - 1], closing = marks_[s.phase];
  const bool is_whole = s.live == 0 && !s.is_unlike;
  if (all.phases == 0) {
    all.opening = opening;
    all.closing = closing;
    all.signature = s.signature;
    all.all_alike = is_whole;
  }
  all.all_alike =
      all.all_alike && is_whole && all.opening == opening && all.closing == closing && all.signature == s.signature;
  std::tie(all.opening, all.closing) = std::min(std::tuple(all.opening, all.closing), std::tuple(opening, closing));
  ++all.phases;
  all.objects += s.births;
}

void phase_observer::end_trace() {
  for (state& s : states_) {
    close(s);
    s = {.all = s.all};
  }
}

phase_features phase_observer::of(std::uint32_t site) const {
  if (states_.empty()) return {};
  phase_features all = states_[site].all;
  if (const auto at = phases_.find({all.opening, all.closing}); at != phases_.end()) all.of_program = at->second;
  return all;
}

}  // namespace ashlar::cli
