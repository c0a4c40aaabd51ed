// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns records in order of time into events: addresses become object ids, thread numbers become dense.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/live_map.hpp>
#include <ashlar/detail/trace/record.hpp>
#include <ashlar/trace/event.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// The state of a stream between two records.
struct stream_state {
  std::uint32_t thread = 0;       ///< By the numbering of the file.
  std::uint64_t old_address = 0;  ///< Of the realloc in progress.
  live_object old = {};           ///<
};

/// Irregularities that are not damage; users see them as `trace::reader_counts`.
struct reader_counts {
  std::uint64_t events = 0;         ///< Events returned so far.
  std::uint64_t live = 0;           ///< Objects live now.
  std::uint64_t lost_releases = 0;  ///< An address was handed out again although its release was never seen; the reader
                                    ///< made up the missing `free_` event just before.
  std::uint64_t unknown_releases = 0;  ///< Frees of objects allocated before, or past, the recording: `object` 0.
};

class resolver {
public:
  [[nodiscard]] const reader_counts& counts() const noexcept { return counts_; }

  /// Returns: whether `r` contradicts the live objects: its counterpart in another stream must come first.
  [[nodiscard]] bool contradicts(const record& r) const noexcept {
    if (!has_address(r.code) || r.address == 0) return false;
    return live_.contains(r.address) == is_acquisition(r.code);
  }

  /// Effects: prefetches what `apply(r)` looks up, first and then.
  void expect(const record& r) const noexcept { live_.expect(r.address); }
  void expect_soon(const record& r) const noexcept { live_.expect_slot(r.address); }

  /// Returns: a release of the object at `address`, made up because the address was handed out again.
  [[nodiscard]] trace::event release_lost(std::uint64_t address, std::uint64_t time_ns) {
    const live_object lost = release(address);
    ++counts_.lost_releases;
    return finish({.time_ns = time_ns,
                   .thread = lost.thread,
                   .op = trace::operation::free_,
                   .object = lost.object,
                   .slot = lost.slot});
  }

  /// Effects: applies `r`. Expects: it does not allocate an address in use. Returns: the event, if this record
  /// completes one.
  [[nodiscard]] std::optional<trace::event> apply(const record& r, std::uint64_t time_ns, stream_state& s) {
    if (r.code == opcode::thread_switch) return s.thread = r.stack, std::nullopt;
    if (r.code == opcode::realloc_begin) return begin_realloc(r, s), std::nullopt;
    trace::event e{.time_ns = time_ns,
                   .thread = dense(s.thread),
                   .op = operation_of(r.code),
                   .size = r.size,
                   .alignment = alignment_of(r.alignment_code),
                   .stack = r.stack};
    if (is_release(e.op)) {
      const live_object released = release(r.address);
      e.object = released.object, e.slot = released.slot;
    }
    if (e.op == trace::operation::realloc_) end_realloc(r, s, e);
    if (is_acquisition(r.code) && r.address != 0) {
      e.object = ++last_object_;
      e.slot = live_.insert(r.address, e.object, e.thread);
    }
    return finish(e);
  }

private:
  trace::event finish(const trace::event& e) noexcept {
    ++counts_.events;
    counts_.live = live_.size();
    return e;
  }

  /// Returns: the object at `address`, whose slot is not free yet.
  live_object take_out(std::uint64_t address) noexcept {
    const live_object released = address == 0 ? live_object{} : live_.take_out(address);
    if (released.object == 0) ++counts_.unknown_releases;
    return released;
  }

  live_object release(std::uint64_t address) noexcept {
    const live_object released = take_out(address);
    if (released.object != 0) live_.give_back(released.slot);
    return released;
  }

  void begin_realloc(const record& r, stream_state& s) noexcept {
    s.old_address = r.address;
    s.old = take_out(r.address);
  }

  /// Effects: a failed realloc restores the old block. If its address has a new object, its slot stays taken.
  void end_realloc(const record& r, stream_state& s, trace::event& e) {
    const live_object old = std::exchange(s.old, {});
    e.old_object = old.object, e.old_slot = old.slot;
    if (old.object == 0) return;
    if (r.address != 0) live_.give_back(old.slot);
    else if (!live_.contains(s.old_address)) live_.restore(s.old_address, old.slot);
  }

  /// Returns: the dense number of a thread. The last one is cached: records of one thread come in runs.
  std::uint32_t dense(std::uint32_t file_thread) {
    if (file_thread == last_file_thread_ && !threads_.empty()) return last_thread_;
    const auto next = static_cast<std::uint32_t>(threads_.size());
    last_file_thread_ = file_thread;
    return last_thread_ = threads_.try_emplace(file_thread, next).first->second;
  }

  live_map live_;
  std::unordered_map<std::uint32_t, std::uint32_t> threads_;
  std::uint32_t last_file_thread_ = 0;
  std::uint32_t last_thread_ = 0;
  std::uint64_t last_object_ = 0;
  reader_counts counts_;
};

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
