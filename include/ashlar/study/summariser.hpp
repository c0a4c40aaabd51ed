// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computes the summary of a trace from its events, one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/detail/support/block_table.hpp>
#include <ashlar/detail/support/id_map.hpp>
#include <ashlar/study/summary.hpp>

namespace ashlar::ASHLAR_ABI::study {

/// Expects: live objects have different slots, as a reader gives them.
/// Complexity: O(1) amortised an event; memory O(live objects + threads + call stacks).
class summariser {
public:
  /// A live object's place is seldom in a cache: events are looked at some before their turn.
  void add(std::span<const trace::event> batch) {
    constexpr std::size_t ahead = 8;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (i + ahead < batch.size()) expect(batch[i + ahead]);
      add(batch[i]);
    }
  }

  void add(const trace::event& e) {
    if (static_cast<std::size_t>(e.op) < trace::operation_count) ++sum_.operations[static_cast<std::size_t>(e.op)];
    now_ns_ = sum_.duration_ns = std::max(sum_.duration_ns, e.time_ns);
    thread_summary& thread = thread_of(e.thread);
    thread.last_ns = now_ns_;
    if (e.op == trace::operation::thread_end) thread.ended = true;
    if (trace::is_allocation(e.op)) allocate(e, thread);
    if (trace::is_release(e.op)) release(e.object, e.slot, e.thread, thread);
    if (e.op == trace::operation::span_begin) spans_.begin(e.thread, e.size, now_ns_);
    if (e.op == trace::operation::span_end) spans_.end(e.thread, now_ns_);
    if (e.op == trace::operation::thread_name) thread.name = e.size;
  }

  /// Returns: the summary. The summariser must not be used again.
  [[nodiscard]] trace_summary finish() {
    for (std::size_t slot = 0; slot < live_.size(); ++slot)
      if (const object& o = live_[slot]; o.id != 0) site(o.stack).live.add(o.size);
    sum_.threads.insert(threads_.begin(), threads_.end());
    sites_.for_each([this](std::uint64_t number, const site_summary& s) {
      sum_.sites.emplace(static_cast<std::uint32_t>(number - 1), s);
    });
    sum_.spans = spans_.finish();
    return std::move(sum_);
  }

private:
  struct object {
    std::uint64_t id = 0;  ///< 0: the slot is free.
    std::uint64_t size = 0;
    std::uint64_t born_ns = 0;
    std::uint64_t born_bytes = 0;
    std::uint32_t thread = 0;
    std::uint32_t stack = 0;
  };

  /// Effects: prefetches what `add(e)` looks up.
  void expect(const trace::event& e) const noexcept {
    if (e.slot < live_.size()) ASHLAR_FETCH_TO_WRITE(&live_[e.slot]);
    if (trace::is_allocation(e.op)) sites_.expect(std::uint64_t{e.stack} + 1);
  }

  thread_summary& thread_of(std::uint32_t id) {
    if (last_thread_ != nullptr && last_id_ == id) return *last_thread_;
    const auto [place, is_new] = threads_.try_emplace(id);
    if (is_new) place->second.first_ns = now_ns_;
    last_id_ = id;
    return *(last_thread_ = &place->second);
  }

  void allocate(const trace::event& e, thread_summary& thread) {
    if (e.object == 0) return void(++sum_.failed);
    if (e.old_object != 0) release(e.old_object, e.old_slot, e.thread, thread);
    live_.reach(e.slot);
    live_[e.slot] = {e.object, e.size, now_ns_, sum_.allocated.bytes, e.thread, e.stack};
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

  void release(std::uint64_t id, std::uint32_t slot, std::uint32_t by, thread_summary& thread) {
    if (id == 0 || slot >= live_.size() || live_[slot].id != id) return void(++sum_.unknown);
    const object o = std::exchange(live_[slot], {});
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

  site_summary& site(std::uint32_t stack) {
    const std::uint64_t number = std::uint64_t{stack} + 1;
    if (site_summary* const known = sites_.find(number)) return *known;
    sites_.insert(number, {});
    return *sites_.find(number);
  }

  trace_summary sum_;
  std::uint64_t now_ns_ = 0;
  detail::block_table<object> live_;  // by slot
  std::unordered_map<std::uint32_t, thread_summary> threads_;
  std::uint32_t last_id_ = 0;
  thread_summary* last_thread_ = nullptr;  // with this id: events of one thread come in runs
  detail::id_map<site_summary> sites_;     // by call stack, from 1
  span_tracker spans_;
};

/// Returns: the summary of all events of `source`, up to the first empty `source.next()`, or `source.next_batch()` if
/// it has batches.
template <class Source>
[[nodiscard]] trace_summary summarise(Source& source) {
  summariser s;
  if constexpr (requires { source.next_batch(); }) {
    for (auto batch = source.next_batch(); !batch.empty(); batch = source.next_batch()) s.add(batch);
  } else {
    while (auto e = source.next()) s.add(*e);
  }
  return s.finish();
}

}  // namespace ashlar::ASHLAR_ABI::study
