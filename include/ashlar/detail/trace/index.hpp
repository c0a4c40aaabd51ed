// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The offsets of a trace's chunks: one pass over the headers, memory in proportion to the number of chunks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/trace_source.hpp>
#include <ashlar/base/trace_tables.hpp>
#include <ashlar/detail/trace/format.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// A chunk to be read later.
struct chunk_entry {
  std::uint64_t offset = 0;
  chunk_header header;
};

/// The headers of a file, each checked alone and against the others; payloads are not read.
class chunk_index {
public:
  /// The message of an error by which a write was not completed.
  static constexpr const char* is_cut_off = "the last chunk is cut off";

  /// Effects: reads the file header and every chunk header, up to the end or the first damage.
  explicit chunk_index(trace::byte_source& source) {
    std::uint64_t offset = read_file_header(source);
    while (!error_ && offset < source.bytes()) offset = read_chunk_header(source, offset);
    std::sort(chunks_.begin(), chunks_.end(), [](const chunk_entry& a, const chunk_entry& b) {
      return std::tuple(a.header.kind, a.header.stream, a.offset) <
             std::tuple(b.header.kind, b.header.stream, b.offset);
    });
  }

  [[nodiscard]] const std::optional<trace::trace_error>& error() const noexcept { return error_; }
  [[nodiscard]] bool has_header() const noexcept { return has_header_; }
  [[nodiscard]] const file_header& header() const noexcept { return header_; }
  [[nodiscard]] const std::vector<std::string>& command_line() const noexcept { return command_line_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }

  /// Returns: nanoseconds per tick, from the first and the last reading of both clocks.
  [[nodiscard]] double ns_per_tick() const noexcept {
    if (header_.clock == clock_kind::nanoseconds || sync_ticks_ == 0 || sync_ns_ <= header_.start_ns) return 1;
    return static_cast<double>(sync_ns_ - header_.start_ns) / static_cast<double>(sync_ticks_);
  }

  /// Returns: all chunks, grouped by kind and stream, in the order of writing.
  [[nodiscard]] std::span<const chunk_entry> chunks() const noexcept { return chunks_; }

  [[nodiscard]] std::span<const chunk_entry> chunks(chunk_kind kind) const noexcept {
    const auto before = [](const chunk_entry& e, chunk_kind k) { return e.header.kind < k; };
    const auto after = [](chunk_kind k, const chunk_entry& e) { return k < e.header.kind; };
    return {std::lower_bound(chunks_.begin(), chunks_.end(), kind, before),
            std::upper_bound(chunks_.begin(), chunks_.end(), kind, after)};
  }

private:
  struct progress {
    std::uint32_t sequence = 0;
    std::uint64_t time = 0;
  };

  std::uint64_t refuse(std::uint64_t offset, const char* message) {
    error_ = trace::trace_error{offset, message};
    return offset;
  }

  std::uint64_t read_file_header(trace::byte_source& source) {
    std::vector<std::byte> bytes(file_header_bytes);
    if (source.refusal() != nullptr) return refuse(0, source.refusal());
    if (source.bytes() == 0) return refuse(0, "the file is empty");
    if (source.bytes() < bytes.size()) bytes.resize(static_cast<std::size_t>(source.bytes()));
    if (!source.read(0, bytes)) return refuse(0, "cannot be read");
    if (!begins_as_trace(bytes)) return refuse(0, "not an ashlar trace");
    if (bytes.size() < file_header_bytes) return refuse(bytes.size(), "the file header is cut off");
    if (const char* why = refuse_file_header(bytes.data())) return refuse(0, why);
    header_ = get_file_header(bytes.data());
    bytes.resize(file_header_bytes + header_.text_bytes + 8);
    if (!source.read(0, bytes)) return refuse(0, "the file header is cut off");
    const std::size_t summed = bytes.size() - 8;
    if (get_word<std::uint64_t>(&bytes[summed]) != checksum({bytes.data(), summed}))
      return refuse(0, "the file header is damaged");
    split_command_line(std::span(bytes).subspan(file_header_bytes, header_.text_bytes));
    has_header_ = true;
    return bytes.size();
  }

  void split_command_line(std::span<const std::byte> text) {
    std::string argument;
    for (const std::byte b : text) {
      if (b != std::byte{0}) argument.push_back(static_cast<char>(b));
      else command_line_.push_back(std::exchange(argument, {}));
    }
  }

  std::uint64_t read_chunk_header(trace::byte_source& source, std::uint64_t offset) {
    std::array<std::byte, chunk_header_bytes> bytes;
    chunk_entry entry{.offset = offset, .header = {}};
    if (source.bytes() - offset < bytes.size()) return refuse(offset, is_cut_off);
    if (!source.read(offset, bytes)) return refuse(offset, "cannot be read");
    if (!get_header(bytes.data(), entry.header)) return refuse(offset, "a chunk header is damaged");
    if (source.bytes() - offset - bytes.size() < entry.header.stored_bytes) return refuse(offset, is_cut_off);
    if (entry.header.kind <= chunk_kind::unloads || entry.header.kind == chunk_kind::memory) {
      if (const char* why = refuse_chunk(entry.header)) return refuse(offset, why);
      keep(entry);
    }
    return offset + bytes.size() + entry.header.stored_bytes;
  }

  const char* refuse_chunk(const chunk_header& h) {
    const bool is_table = h.kind >= chunk_kind::events && h.kind <= chunk_kind::names;
    if (!is_table && h.kind < chunk_kind::unloads) return "a chunk of a kind this ashlar does not read";
    if (h.events > h.count) return "a chunk header is damaged";
    if (h.raw_bytes > max_raw_bytes || h.stored_bytes > 2 * max_raw_bytes) return "a chunk is too large";
    progress& last = progress_[{h.kind, h.stream}];
    if (h.sequence != last.sequence) return "a chunk is missing before this one";
    if (h.kind == chunk_kind::events && h.first_time < last.time) return "time goes backwards";
    last = {h.sequence + 1, h.last_time};
    return nullptr;
  }

  void keep(const chunk_entry& entry) {
    chunks_.push_back(entry);
    if (entry.header.kind == chunk_kind::events) events_ += entry.header.events;
    if (entry.header.sync_ticks <= sync_ticks_) return;
    sync_ticks_ = entry.header.sync_ticks;
    sync_ns_ = entry.header.sync_ns;
  }

  file_header header_;
  std::vector<std::string> command_line_;
  std::vector<chunk_entry> chunks_;
  std::map<std::pair<chunk_kind, std::uint32_t>, progress> progress_;
  std::optional<trace::trace_error> error_;
  bool has_header_ = false;
  std::uint64_t events_ = 0;
  std::uint64_t sync_ticks_ = 0;
  std::uint64_t sync_ns_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
