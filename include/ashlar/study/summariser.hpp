// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computes the summary of a trace from its events, one at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/id_map.hpp>
#include <ashlar/study/summary.hpp>
#include <ashlar/trace/event.hpp>

namespace ashlar::ASHLAR_ABI::study {

/// Complexity: O(1) amortised an event; memory O(live objects + threads + call stacks).
class summariser {
public:
  /// Effects: prefetches what `add(e)` looks up.
  void expect(const trace::event& e) const noexcept { live_.expect(e.object); }

  void add(const trace::event& e) {
    if (static_cast<std::size_t>(e.op) < trace::operation_count) ++sum_.operations[static_cast<std::size_t>(e.op)];
    now_ns_ = sum_.duration_ns = std::max(sum_.duration_ns, e.time_ns);
    thread_summary& thread = thread_of(e.thread);
    thread.last_ns = now_ns_;
    if (e.op == trace::operation::thread_end) thread.ended = true;
    if (trace::is_allocation(e.op)) allocate(e, thread);
    if (trace::is_release(e.op)) release(e.object, e.thread, thread);
    if (e.op == trace::operation::span_begin) spans_.begin(e.thread, e.size, now_ns_);
    if (e.op == trace::operation::span_end) spans_.end(e.thread, now_ns_);
    if (e.op == trace::operation::thread_name) thread.name = e.size;
  }

  /// Returns: the summary. The summariser must not be used again.
  [[nodiscard]] trace_summary finish() {
    live_.for_each([this](std::uint64_t, const object& o) { site(o.stack).live.add(o.size); });
    sum_.threads.insert(threads_.begin(), threads_.end());
    sum_.sites.insert(sites_.begin(), sites_.end());
    sum_.spans = spans_.finish();
    return std::move(sum_);
  }

private:
  struct object {
    std::uint64_t size = 0;
    std::uint64_t born_ns = 0;
    std::uint64_t born_bytes = 0;
    std::uint32_t thread = 0;
    std::uint32_t stack = 0;
  };

  thread_summary& thread_of(std::uint32_t id) {
    const auto [place, is_new] = threads_.try_emplace(id);
    if (is_new) place->second.first_ns = now_ns_;
    return place->second;
  }

  void allocate(const trace::event& e, thread_summary& thread) {
    if (e.object == 0) return void(++sum_.failed);
    if (e.old_object != 0) release(e.old_object, e.thread, thread);
    if (!live_.insert(e.object, {e.size, now_ns_, sum_.allocated.bytes, e.thread, e.stack})) return;
    ++thread.allocations;
    thread.bytes += e.size;
    thread.live_bytes += e.size;
    thread.peak_bytes = std::max(thread.peak_bytes, thread.live_bytes);
    spans_.allocated(e.thread, e.size);
    sum_.allocated.add(e.size);
    sum_.live.add(e.size);
    sum_.sizes.record(e.size);
    site(e.stack).allocated.add(e.size);
    live_changed();
  }

  void release(std::uint64_t id, std::uint32_t by, thread_summary& thread) {
    const object* found = id == 0 ? nullptr : live_.find(id);
    if (found == nullptr) return void(++sum_.unknown);
    const object o = *found;
    live_.erase(id);
    ++thread.frees;
    ++sum_.frees;
    spans_.freed(by, o.size);
    thread_summary& owner = o.thread == by ? thread : thread_of(o.thread);
    owner.live_bytes -= o.size;
    if (o.thread != by) {
      ++sum_.cross_thread;
      ++owner.freed_remote;
    }
    sum_.live.remove(o.size);
    sum_.lifetimes_ns.record(now_ns_ - o.born_ns);
    sum_.lifetimes_bytes.record(sum_.allocated.bytes - o.born_bytes);
    site(o.stack).lifetime_ns += static_cast<double>(now_ns_ - o.born_ns);
    live_changed();
  }

  void live_changed() {
    sum_.live_bytes.record(now_ns_, sum_.live.bytes);
    if (sum_.live.bytes <= sum_.peak.bytes) return;
    sum_.peak = sum_.live;
    sum_.peak_ns = now_ns_;
  }

  site_summary& site(std::uint32_t stack) { return sites_[stack]; }

  trace_summary sum_;
  std::uint64_t now_ns_ = 0;
  detail::id_map<object> live_;
  std::unordered_map<std::uint32_t, thread_summary> threads_;
  std::unordered_map<std::uint32_t, site_summary> sites_;
  span_tracker spans_;
};

/// Returns: the summary of all events of `source`, up to the first empty `source.next()`.
template <class Source>
[[nodiscard]] trace_summary summarise(Source& source) {
  constexpr std::size_t ahead = 8;  // a live object's place is seldom in a cache
  summariser s;
  std::array<trace::event, ahead> next;
  std::size_t read = 0, added = 0;
  while (auto e = source.next()) {
    if (read - added == ahead) s.add(next[added++ % ahead]);
    s.expect(next[read++ % ahead] = *e);
  }
  while (added != read) s.add(next[added++ % ahead]);
  return s.finish();
}

}  // namespace ashlar::ASHLAR_ABI::study
