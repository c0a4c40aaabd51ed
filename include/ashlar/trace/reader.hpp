// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a trace file as one sequence of events; its memory grows with the live objects, not with the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/chunk_loader.hpp>
#include <ashlar/detail/trace/decode.hpp>
#include <ashlar/detail/trace/index.hpp>
#include <ashlar/detail/trace/merge.hpp>
#include <ashlar/detail/trace/record.hpp>
#include <ashlar/detail/trace/resolver.hpp>
#include <ashlar/detail/trace/table_chunks.hpp>
#include <ashlar/detail/trace/unloads.hpp>
#include <ashlar/trace/codec.hpp>
#include <ashlar/trace/error.hpp>
#include <ashlar/trace/event.hpp>
#include <ashlar/trace/source.hpp>
#include <ashlar/trace/tables.hpp>

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
    while (!stopped_) {
      detail::trace_io::record_stream* s =
          merge_.next([this](const detail::trace_io::record_stream& w) { return !resolver_.contradicts(w.head()); });
      if (s == nullptr) break;
      if (!s->loaded()) load(*s);
      else if (auto e = step(*s)) return e;
    }
    return std::nullopt;
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
             .damage = {}};
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
    detail::trace_io::byte_cursor end(loader_.payload());
    info_.complete = true;
    info_.dropped = end.varint();
    return end.ok() && end.at_end();
  }

  void load(detail::trace_io::record_stream& s) {
    const detail::trace_io::chunk_entry& entry = s.chunks.front();
    const char* why = loader_.load(source_, entry);
    if (why == nullptr && !decode_records(loader_.payload(), entry.header, s.records)) why = "a chunk is malformed";
    s.at = 0;
    s.chunks = s.chunks.subspan(1);
    if (why != nullptr) stop({entry.offset, why});
  }

  [[nodiscard]] std::optional<event> step(detail::trace_io::record_stream& s) {
    const detail::trace_io::record& r = s.head();
    const bool contradicts = resolver_.contradicts(r);
    if (contradicts && !s.is_overdue) return merge_.put_off(skew_ticks_), std::nullopt;
    s.is_overdue = false;
    if (s.records.size() - s.at > 2 * fetched_ahead) resolver_.expect(s.records[s.at + 2 * fetched_ahead]);
    if (s.records.size() - s.at > fetched_ahead) resolver_.expect_soon(s.records[s.at + fetched_ahead]);
    if (contradicts && is_acquisition(r.code)) return resolver_.release_lost(r.address, advance(r.time));
    ++s.at;
    auto e = resolver_.apply(r, advance(r.time), s.state);
    if (s.done()) s.records = {};
    return e;
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
};

}  // namespace ashlar::ASHLAR_ABI::trace
