// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps the moment of the most live bytes of each bin, adds up the lanes, and joins bins in pairs.
#include "cli/advise/history.hpp"

#include <iterator>

namespace ashlar::cli {

namespace {

using change = live_history::change;

/// Returns: the sums of both by stack, without those that are 0. Expects: both are in order of the stacks.
std::vector<change> sum_of(std::span<const change> a, std::span<const change> b) {
  std::vector<change> all;
  all.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
             [](const change& x, const change& y) { return x.stack < y.stack; });
  std::size_t kept = 0;
  for (const change& c : all) {
    if (kept != 0 && all[kept - 1].stack == c.stack) all[kept - 1].bytes += c.bytes;
    else all[kept++] = c;
  }
  all.resize(kept);
  std::erase_if(all, [](const change& c) { return c.bytes == 0; });
  return all;
}

}  // namespace

live_history::stack_state& live_history::touch(std::uint32_t stack) {
  stack_state& s = stacks_[stack];
  if (s.version != moment_) s.version = moment_, s.at_moment = s.live.bytes;
  if (!s.touched) touched_.push_back(stack);
  s.touched = true;
  return s;
}

void live_history::born(std::uint32_t stack, std::uint64_t bytes, std::uint64_t now_ns) {
  advance(now_ns);
  stack_state& s = touch(stack);
  s.live.add(bytes);
  s.totals.allocated.add(bytes);
  live_bytes_ += bytes;
}

void live_history::died(std::uint32_t stack, std::uint64_t bytes, bool temporary, std::uint64_t now_ns) {
  advance(now_ns);
  stack_state& s = touch(stack);
  s.live.remove(bytes);
  if (temporary) s.totals.temporary.add(bytes);
  live_bytes_ -= bytes;
}

void live_history::settle() {
  if (live_bytes_ <= moment_bytes_) return;
  moment_bytes_ = live_bytes_;
  ++moment_;
}

void live_history::advance(std::uint64_t now_ns) {
  const std::uint64_t at = before_ns_ + now_ns;
  while (at / width_ns_ > bins_.size()) close_bin();
}

void live_history::open_bin() {
  moment_bytes_ = live_bytes_;
  ++moment_;
}

void live_history::close_bin() {
  bin closed{.bytes = moment_bytes_};
  std::size_t kept = 0;
  for (const std::uint32_t stack : touched_) {
    stack_state& s = stacks_[stack];
    const std::uint64_t seen = s.version == moment_ ? s.at_moment : s.live.bytes;
    if (seen != s.in_bins) closed.changes.push_back({stack, static_cast<std::int64_t>(seen - s.in_bins)});
    s.in_bins = seen;
    s.touched = s.live.bytes != seen;
    if (s.touched) touched_[kept++] = stack;
  }
  touched_.resize(kept);
  std::ranges::sort(closed.changes, {}, &change::stack);
  changes_ += closed.changes.size();
  bins_.push_back(std::move(closed));
  open_bin();
  const bool is_even = bins_.size() % 2 == 0;
  if (bins_.size() == most_bins || (is_even && changes_ > most_changes && bins_.size() >= 2 * least_bins)) halve();
}

/// Of two bins the moment with more live bytes stays. If that is the first, the differences of the second count for the
/// next pair.
void live_history::halve() {
  std::vector<change> carried;
  changes_ = 0;
  for (std::size_t i = 0; i + 1 < bins_.size(); i += 2) {
    bin& first = bins_[i];
    bin& second = bins_[i + 1];
    first.changes = sum_of(carried, first.changes);
    carried = std::exchange(second.changes, {});
    if (second.bytes > first.bytes) {
      first.changes = sum_of(first.changes, carried);
      first.bytes = second.bytes;
      carried.clear();
    }
    changes_ += first.changes.size();
    if (i != 0) bins_[i / 2] = std::move(first);
  }
  bins_.resize(bins_.size() / 2);
  width_ns_ *= 2;
  for (const change& c : carried) {  // the open bin follows the first moment of the last pair
    stack_state& s = stacks_[c.stack];
    s.in_bins -= static_cast<std::uint64_t>(c.bytes);
    if (!s.touched) touched_.push_back(c.stack);
    s.touched = true;
  }
}

void live_history::end_trace(std::uint64_t now_ns) {
  advance(now_ns);
  for (std::uint32_t stack = 0; stack < stacks_.size(); ++stack) {
    if (stacks_[stack].live.objects == 0) continue;
    stack_state& s = touch(stack);
    s.totals.never_freed += s.live;
    s.live = {};
  }
  live_bytes_ = 0;
  before_ns_ += now_ns;
  ends_.push_back(before_ns_);
}

void live_history::finish() { close_bin(); }

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
