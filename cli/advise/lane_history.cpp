// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adds up bins in pairs when time runs past the last.
#include "cli/advise/lane_history.hpp"

#include <algorithm>

namespace ashlar::cli {

namespace {

void add_at(std::vector<std::uint64_t>& bins, std::size_t at, std::uint64_t value) {
  if (bins.size() <= at) bins.resize(at + 1);
  bins[at] += value;
}

void join_pairs(std::vector<std::uint64_t>& bins) {
  if (bins.size() % 2 != 0) bins.push_back(0);
  for (std::size_t i = 0; i < bins.size(); i += 2) bins[i / 2] = bins[i] + bins[i + 1];
  bins.resize(bins.size() / 2);
}

}  // namespace

void lane_history::begin_trace(const trace::name_table& names) { names_ = &names; }

lane_history::thread_lane* lane_history::lane_of(std::uint32_t thread) {
  if (const auto at = threads_.find(thread); at != threads_.end()) return &at->second;
  return threads_.size() == most_threads ? nullptr : &threads_[thread];
}

void lane_history::add(const trace::event& e) {
  now_ns_ = std::max(now_ns_, before_ns_ + e.time_ns);
  while (now_ns_ / width_ns_ >= most_bins) halve();
  if (e.op == trace::operation::span_begin) return open_[e.thread].push_back({e.size, now_ns_});
  if (e.op == trace::operation::span_end) return end_span(e.thread);
  const bool is_named = e.op == trace::operation::thread_name;
  if (!is_named && !trace::is_allocation(e.op)) return;
  thread_lane* const lane = lane_of(e.thread);
  if (lane == nullptr) return;
  if (is_named) lane->name = (*names_)[e.size];
  else add_at(lane->counts, static_cast<std::size_t>(now_ns_ / width_ns_), 1);
}

void lane_history::end_span(std::uint32_t thread) {
  std::vector<open_span>& open = open_[thread];
  if (open.empty()) return;
  const open_span ended = open.back();
  open.pop_back();
  span_key key{thread, (*names_)[ended.name]};
  if (spans_.size() == most_spans && !spans_.contains(key)) return void(++spans_left_out_);
  span_lane& lane = spans_[std::move(key)];
  ++lane.spans;
  lane.total_ns += now_ns_ - ended.began_ns;
  cover(lane, ended.began_ns, now_ns_);
}

void lane_history::cover(span_lane& lane, std::uint64_t from, std::uint64_t to) const {
  for (std::uint64_t bin = from / width_ns_; bin * width_ns_ < to || bin == from / width_ns_; ++bin) {
    const std::uint64_t begin = std::max(from, bin * width_ns_), end = std::min(to, (bin + 1) * width_ns_);
    add_at(lane.covered_ns, static_cast<std::size_t>(bin), end - begin);
  }
}

void lane_history::halve() {
  for (auto& [id, lane] : threads_) join_pairs(lane.counts);
  for (auto& [key, lane] : spans_) join_pairs(lane.covered_ns);
  width_ns_ *= 2;
}

void lane_history::end_trace() {
  for (auto& [thread, open] : open_)
    while (!open.empty()) end_span(thread);
  before_ns_ = now_ns_;
}

}  // namespace ashlar::cli
