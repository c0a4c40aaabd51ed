// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a trace file as one sequence of events; its memory grows with the live objects, not with the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/base/trace_source.hpp>
#include <ashlar/base/trace_tables.hpp>
#include <ashlar/detail/trace/decode.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/index.hpp>
#include <ashlar/detail/trace/record.hpp>
#include <ashlar/detail/trace/resolver.hpp>
#include <ashlar/detail/trace/table_chunks.hpp>
#include <ashlar/detail/trace/unloads.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// One stream: its chunks, at most one of which is in memory, and its position.
struct record_stream {
  std::span<const chunk_entry> chunks = {};  ///< Not loaded yet.
  std::vector<record> records = {};          ///< The chunk in memory.
  std::size_t at = 0;                        ///< The next record in it.
  std::uint64_t deadline = 0;                ///< The end of its wait, in ticks.
  bool is_overdue = false;                   ///< Its wait is over.
  stream_state state = {};

  [[nodiscard]] bool loaded() const noexcept { return at < records.size(); }
  [[nodiscard]] bool done() const noexcept { return !loaded() && chunks.empty(); }
  [[nodiscard]] const record& head() const noexcept { return records[at]; }

  /// Returns: the time of its next record, or a lower bound while that is still on disk.
  [[nodiscard]] std::uint64_t time() const noexcept {
    return loaded() ? records[at].time : chunks.front().header.first_time;
  }
};

/// All streams in the order of time. Complexity: O(log streams) for each change of the stream.
class stream_merge {
public:
  explicit stream_merge(std::span<const chunk_entry> events) {
    while (!events.empty()) {
      const std::uint32_t id = events.front().header.stream;
      const auto same = [id](const chunk_entry& e) { return e.header.stream == id; };
      const auto n = std::find_if_not(events.begin(), events.end(), same) - events.begin();
      streams_.push_back({.chunks = events.first(static_cast<std::size_t>(n)), .state = {.thread = id}});
      events = events.subspan(static_cast<std::size_t>(n));
    }
    for (std::size_t i = 0; i < streams_.size(); ++i) push(i);
  }

  /// Returns: the next stream, or null at the end. It stays next while it is the oldest. A stream put off returns when
  /// `ready(stream)`, or when all others are past its deadline.
  template <class Ready>
  [[nodiscard]] record_stream* next(Ready&& ready) {
    if (!waiting_.empty()) recall(ready);
    if (current_ != none && is_first(current_)) return &streams_[current_];
    if (current_ != none && !streams_[current_].done()) push(current_);
    current_ = heap_.empty() ? none : pop();
    return current_ == none ? nullptr : &streams_[current_];
  }

  /// Effects: puts off the stream last returned by `next` until the others have caught up.
  void put_off(std::uint64_t ticks) {
    record_stream& s = streams_[current_];
    s.deadline = s.time() + std::min(ticks, ~std::uint64_t{0} - s.time());
    waiting_.push_back(std::exchange(current_, none));
  }

private:
  static constexpr std::size_t none = ~std::size_t{0};

  [[nodiscard]] std::pair<std::uint64_t, std::size_t> key(std::size_t i) const noexcept {
    return {streams_[i].time(), i};
  }

  [[nodiscard]] bool is_first(std::size_t i) const noexcept {
    return !streams_[i].done() && (heap_.empty() || key(i) < heap_.front());
  }

  void push(std::size_t i) {
    heap_.push_back(key(i));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
  }

  [[nodiscard]] std::size_t pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const std::size_t i = heap_.back().second;
    heap_.pop_back();
    return i;
  }

  /// Returns: the time that all streams have reached, except those that wait.
  [[nodiscard]] std::uint64_t reached() const noexcept {
    std::uint64_t time = heap_.empty() ? ~std::uint64_t{0} : heap_.front().first;
    if (current_ != none && !streams_[current_].done()) time = std::min(time, streams_[current_].time());
    return time;
  }

  template <class Ready>
  void recall(Ready&& ready) {
    const bool alone = heap_.empty() && (current_ == none || streams_[current_].done());
    const std::uint64_t now = reached();
    const auto comes_back = [&](std::size_t i) {
      record_stream& s = streams_[i];
      s.is_overdue = !ready(s) && (alone || s.deadline < now);
      return s.is_overdue || ready(s);
    };
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), comes_back);
    if (found == waiting_.end()) return;
    push(*found);
    waiting_.erase(found);
  }

  std::vector<record_stream> streams_;
  std::vector<std::pair<std::uint64_t, std::size_t>> heap_;  // (time, stream), oldest first
  std::vector<std::size_t> waiting_;
  std::size_t current_ = none;
};

template <trace::codec... Codecs>
class chunk_loader {
public:
  /// Returns: the reason why the payload cannot be read, or null; then it is in `payload()`.
  [[nodiscard]] const char* load(trace::byte_source& source, const chunk_entry& entry) {
    stored_.resize(entry.header.stored_bytes);
    if (!source.read(entry.offset + chunk_header_bytes, stored_)) return "cannot be read";
    if (checksum(stored_) != entry.header.payload_sum) return "a chunk's payload is damaged";
    payload_.resize(entry.header.raw_bytes);
    return unpack(entry.header.codec);
  }

  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return payload_; }

private:
  [[nodiscard]] const char* unpack(trace::codec_id id) noexcept {
    bool known = false;
    bool sound = false;
    const auto try_one = [&](auto& one) {
      if (known || one.id != id) return;
      known = true;
      sound = one.unpack(stored_, payload_);
    };
    std::apply([&](auto&... each) { (try_one(each), ...); }, codecs_);
    if (!known) return "a chunk is compressed by a method unknown to this program";
    return sound ? nullptr : "a chunk cannot be decompressed";
  }

  std::vector<std::byte> stored_;
  std::vector<std::byte> payload_;
  std::tuple<trace::raw_codec, Codecs...> codecs_;
};

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io

namespace ashlar::ASHLAR_ABI::trace {

struct reader_options {
  /// Read up to the damage instead of refusing the file; `trace_info::damage` then holds the end of the sound part.
  bool accept_prefix = false;
  /// Disagreement of the clocks of different threads, in nanoseconds. Within it, an allocation of an address in use
  /// waits for the release, and the release of an unknown address for the allocation.
  std::uint64_t skew_ns = 10'000;
};

/// Counts of events, live objects, and irregularities that are no damage.
using reader_counts = detail::trace_io::reader_counts;

/// A trace, read once from front to back:
///
///     trace::reader<> r("t.trace");
///     while (auto e = r.next()) use(*e);
///     if (r.error()) complain(r.error()->offset, r.error()->message);
///
/// The constructor checks the headers and reads the tables; each payload is checked when its turn comes. So `error()`
/// must be read after the last event too. Only `std::bad_alloc` is thrown. Memory: the live objects, the distinct
/// stacks, 80 bytes a chunk, and one unpacked chunk for each stream in progress.
template <codec... Codecs>
class reader {
public:
  explicit reader(const std::string& path, const reader_options& options = {}) : reader(byte_source(path), options) {}

  /// Reads from memory, which must outlive the reader.
  explicit reader(std::span<const std::byte> image, const reader_options& options = {})
      : reader(byte_source(image), options) {}

  // The streams refer to the index.
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;

  /// Returns: the next event, or none at the end of the trace or at its damage.
  [[nodiscard]] std::optional<event> next() {
    event e;
    return next(e) ? std::optional(e) : std::nullopt;
  }

  /// Effects: `e` is the next event. Returns: false at the end of the trace or at its damage.
  [[nodiscard]] bool next(event& e) {
    while (!stopped_) {
      detail::trace_io::record_stream* s =
          merge_.next([this](const detail::trace_io::record_stream& w) { return !contradicts(w.head()); });
      if (s == nullptr) break;
      if (!s->loaded()) load(*s);
      else if (step(*s, e)) return true;
    }
    return false;
  }

  /// The error that stopped the reader, if any. With `accept_prefix`, damage is not an error; see `info().damage`.
  [[nodiscard]] const std::optional<trace_error>& error() const noexcept { return error_; }
  [[nodiscard]] const trace_info& info() const noexcept { return info_; }
  /// The frames of a module that others replaced at its addresses are moved with it, to addresses that no program has.
  [[nodiscard]] const stack_table& stacks() const noexcept { return stacks_; }
  [[nodiscard]] const std::vector<mapped_module>& modules() const noexcept { return modules_; }
  [[nodiscard]] const name_table& names() const noexcept { return names_; }
  [[nodiscard]] const reader_counts& counts() const noexcept { return resolver_.counts(); }

private:
  reader(byte_source source, const reader_options& options)
      : options_(options), source_(std::move(source)), index_(source_),
        merge_(index_.chunks(detail::trace_io::chunk_kind::events)), ns_per_tick_(index_.ns_per_tick()),
        skew_ticks_(to_ticks(options.skew_ns)) {
    describe();
    if (index_.error()) stop(*index_.error());
    if (!error_) read_tables();
    stopped_ = error_.has_value();
  }

  void describe() {
    const detail::trace_io::file_header& h = index_.header();
    info_ = {.command_line = index_.command_line(),
             .process = h.process,
             .start_unix_ns = h.start_unix_ns,
             .page_bytes = h.page_bytes,
             .pointer_bytes = h.pointer_bytes,
             .stack_depth = h.stack_depth,
             .file_bytes = source_.bytes(),
             .chunks = index_.chunks().size(),
             .events = index_.events(),
             .dropped = 0,
             .complete = false,
             .write_error = h.write_error,
             .damage = {},
             .session = h.session,
             .parent = h.parent};
  }

  /// A file with an unsound header has no valid prefix.
  void stop(trace_error why) {
    stopped_ = true;
    const bool accepted = options_.accept_prefix && index_.has_header();
    if (!accepted) error_ = std::move(why);
    else if (!info_.damage) info_.damage = std::move(why);
  }

  void read_tables() {
    for (const detail::trace_io::chunk_entry& entry : index_.chunks()) {
      if (entry.header.kind == detail::trace_io::chunk_kind::events) continue;
      const char* why = loader_.load(source_, entry);
      if (why == nullptr && !read_table(entry.header)) why = "a table is malformed";
      if (why != nullptr) return stop({entry.offset, why});
    }
    if (!unloads_.empty()) detail::trace_io::module_separator(unloads_, modules_).apply(stacks_);
  }

  [[nodiscard]] bool read_table(const detail::trace_io::chunk_header& h) {
    if (h.kind == detail::trace_io::chunk_kind::stacks)
      return detail::trace_io::get_stacks(loader_.payload(), h.count, stacks_);
    if (h.kind == detail::trace_io::chunk_kind::modules)
      return detail::trace_io::get_modules(loader_.payload(), h.count, modules_);
    if (h.kind == detail::trace_io::chunk_kind::names)
      return detail::trace_io::get_names(loader_.payload(), h.count, names_);
    if (h.kind == detail::trace_io::chunk_kind::unloads)
      return detail::trace_io::get_unloads(loader_.payload(), h.count, unloads_);
    if (h.kind == detail::trace_io::chunk_kind::memory) return read_memory(h.count);
    detail::trace_io::byte_cursor end(loader_.payload());
    info_.complete = true;
    info_.dropped = end.varint();
    return end.ok() && end.at_end();
  }

  [[nodiscard]] bool read_memory(std::uint32_t count) noexcept {
    if (!detail::trace_io::get_memory(loader_.payload(), count, memory_)) return false;
    info_.resident_peak_bytes = memory_.resident;
    info_.anonymous_peak_bytes = memory_.anonymous - std::min(memory_.anonymous, memory_.foreign);
    return true;
  }

  void load(detail::trace_io::record_stream& s) {
    const detail::trace_io::chunk_entry& entry = s.chunks.front();
    const char* why = loader_.load(source_, entry);
    if (why == nullptr && !decode_records(loader_.payload(), entry.header, s.records)) why = "a chunk is malformed";
    s.at = 0;
    s.chunks = s.chunks.subspan(1);
    if (why != nullptr) stop({entry.offset, why});
  }

  [[nodiscard]] bool contradicts(const detail::trace_io::record& r) const noexcept {
    return resolver_.contradicts(r, resolver_.find(r));
  }

  [[nodiscard]] bool step(detail::trace_io::record_stream& s, event& e) {
    const detail::trace_io::record& r = s.head();
    const detail::trace_io::live_map::position at = resolver_.find(r);
    const bool contradicts = resolver_.contradicts(r, at);
    if (contradicts && !s.is_overdue) return merge_.put_off(skew_ticks_), false;
    s.is_overdue = false;
    if (s.records.size() - s.at > 2 * fetched_ahead) resolver_.expect(s.records[s.at + 2 * fetched_ahead]);
    if (s.records.size() - s.at > fetched_ahead) resolver_.expect_soon(s.records[s.at + fetched_ahead]);
    if (contradicts && is_acquisition(r.code)) return resolver_.release_lost(at, advance(r.time), e), true;
    ++s.at;
    const bool is_event = resolver_.apply(r, at, advance(r.time), s.state, e);
    if (s.done()) s.records = {};
    return is_event;
  }

  /// Returns: the time of an event at `ticks`, never less than the time before.
  std::uint64_t advance(std::uint64_t ticks) noexcept { return now_ns_ = std::max(now_ns_, to_ns(ticks)); }

  [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const noexcept {
    return index_.header().clock == detail::trace_io::clock_kind::nanoseconds ? ticks : scale(ticks, ns_per_tick_);
  }

  [[nodiscard]] std::uint64_t to_ticks(std::uint64_t ns) const noexcept {
    return index_.header().clock == detail::trace_io::clock_kind::nanoseconds ? ns : scale(ns, 1 / ns_per_tick_);
  }

  [[nodiscard]] static std::uint64_t scale(std::uint64_t n, double factor) noexcept {
    const double scaled = static_cast<double>(n) * factor;
    return scaled < 0x1p63 ? static_cast<std::uint64_t>(scaled) : std::uint64_t{1} << 63;
  }

  static constexpr std::size_t fetched_ahead = 8;  // records of the stream

  reader_options options_;
  byte_source source_;
  detail::trace_io::chunk_index index_;
  detail::trace_io::chunk_loader<Codecs...> loader_;
  detail::trace_io::stream_merge merge_;
  detail::trace_io::resolver resolver_;
  double ns_per_tick_;
  std::uint64_t skew_ticks_;
  std::uint64_t now_ns_ = 0;
  bool stopped_ = true;
  std::optional<trace_error> error_;
  trace_info info_;
  stack_table stacks_;
  std::vector<mapped_module> modules_;
  name_table names_;
  std::vector<detail::trace_io::unload> unloads_;
  detail::trace_io::memory_figures memory_;
};

}  // namespace ashlar::ASHLAR_ABI::trace
