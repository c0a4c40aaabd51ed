// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes events to a trace file, for programs that trace their own resources, for tests and for generators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/base/trace_source.hpp>
#include <ashlar/base/trace_tables.hpp>
#include <ashlar/detail/trace/decode.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/record.hpp>
#include <ashlar/detail/trace/table_chunks.hpp>
#include <ashlar/trace/sink.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// Returns: the largest size of a chunk with `raw_bytes` of payload.
template <trace::packer Packer>
[[nodiscard]] constexpr std::size_t chunk_bound(std::size_t raw_bytes) noexcept {
  const std::size_t packed = Packer::bound(raw_bytes);
  return chunk_header_bytes + (packed > raw_bytes ? packed : raw_bytes);
}

/// Effects: writes a whole chunk to `out`; a payload that does not shrink, or cannot be packed, is stored raw. Returns:
/// the chunk. Expects: the caller's fields of `header` are set; `chunk_bound(payload.size())` bytes at `out`.
template <trace::packer Packer>
std::span<const std::byte> pack_chunk(Packer& codec, detail::trace_io::chunk_header header,
                                      std::span<const std::byte> payload, std::byte* out) noexcept {
  std::byte* const body = out + chunk_header_bytes;
  header.codec = Packer::id;
  std::size_t stored = codec.pack(payload, {body, Packer::bound(payload.size())});
  if (stored == 0 || stored > payload.size()) {
    header.codec = trace::codec_id::raw;
    stored = trace::raw_codec{}.pack(payload, {body, payload.size()});
  }
  header.raw_bytes = static_cast<std::uint32_t>(payload.size());
  header.stored_bytes = static_cast<std::uint32_t>(stored);
  header.payload_sum = checksum({body, stored});
  put_header(out, header);
  return {out, chunk_header_bytes + stored};
}

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io

namespace ashlar::ASHLAR_ABI::trace {

struct writer_options {
  std::vector<std::string> command_line;
  std::uint32_t process = 0;
  std::uint64_t start_unix_ns = 0;
  std::uint32_t page_bytes = 4096;
  std::uint32_t stack_depth = 0;
  std::size_t chunk_records = 4096;  ///< At most `max_chunk_records`; a killed program may lose this many.
};

/// Writes a trace, from one thread at a time. Events of all threads go into one stream, in the order of the calls.
///
///     trace::writer<> w(trace::file_sink("t.trace"));
///     w.append({.time_ns = 10, .op = operation::malloc_, .size = 24, .object = 1});
///     if (!w.close()) complain(w.error()->message);
///
/// After the first error every call returns false.
template <packer Codec = raw_codec, byte_sink Sink = file_sink>
class writer {
public:
  /// Effects: writes the file header.
  explicit writer(Sink sink, const writer_options& options = {})
      : sink_(std::move(sink)),
        capacity_(std::clamp<std::size_t>(options.chunk_records, 4, detail::trace_io::max_chunk_records)) {
    records_.reserve(capacity_);
    write_file_header(options);
  }
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;
  ~writer() { static_cast<void>(close()); }

  /// Effects: adds `e`. Expects: times ascend, and an object is allocated before it is released.
  bool append(const event& e) {
    if (error_ || closed_) return false;
    if (e.time_ns < last_time_) return fail("time goes backwards");
    if (records_.size() + 3 > capacity_ && !flush()) return false;
    last_time_ = e.time_ns;
    if (e.thread != thread_) put({.stack = thread_ = e.thread, .code = detail::trace_io::opcode::thread_switch});
    if (e.op == operation::realloc_ && e.old_object != 0)
      put({.address = token(e.old_object), .code = detail::trace_io::opcode::realloc_begin});
    put({.address = token(e.object),
         .size = e.size,
         .stack = e.stack,
         .code = detail::trace_io::code_of(e.op),
         .alignment_code = detail::trace_io::alignment_code_of(e.alignment)});
    return true;
  }

  /// Returns: the id of a call stack, innermost frame first, for later events; 0 if it cannot be written. At most
  /// `max_stack_frames` frames are kept.
  std::uint32_t add_stack(std::span<const std::uint64_t> frames) {
    frames = frames.first(std::min(frames.size(), detail::trace_io::max_stack_frames));
    std::vector<std::byte> payload(detail::trace_io::max_varint_bytes + detail::trace_io::stack_bound(frames.size()));
    std::byte* const end =
        detail::trace_io::put_stack(detail::trace_io::put_varint(payload.data(), stacks_ + 1), frames);
    payload.resize(static_cast<std::size_t>(end - payload.data()));
    if (!flush() || !write({.kind = detail::trace_io::chunk_kind::stacks, .sequence = stacks_, .count = 1}, payload))
      return 0;
    return ++stacks_;
  }

  /// Returns: the id of a name, for later events of spans and threads; 0 if it cannot be written. At most 255 bytes are
  /// kept. The same name twice has two ids.
  std::uint32_t add_name(std::string_view name) {
    name = name.substr(0, detail::trace_io::max_name_bytes);
    std::vector<std::byte> payload(detail::trace_io::max_varint_bytes + detail::trace_io::name_bound(name.size()));
    std::byte* const end = detail::trace_io::put_text(detail::trace_io::put_varint(payload.data(), names_ + 1), name);
    payload.resize(static_cast<std::size_t>(end - payload.data()));
    if (!flush() || !write({.kind = detail::trace_io::chunk_kind::names, .sequence = names_, .count = 1}, payload))
      return 0;
    return ++names_;
  }

  bool add_module(const mapped_module& m) {
    std::vector<std::byte> payload(detail::trace_io::module_bound(m.path.size(), m.build_id.size()));
    std::byte* const end = detail::trace_io::put_module(payload.data(), {m.begin, m.end, m.bias, m.path, m.build_id});
    payload.resize(static_cast<std::size_t>(end - payload.data()));
    return flush() &&
           write({.kind = detail::trace_io::chunk_kind::modules, .sequence = modules_++, .count = 1}, payload);
  }

  /// Effects: writes the buffered events as a chunk of their own, which a later crash cannot lose.
  bool flush() {
    if (error_ || closed_) return false;
    if (records_.empty()) return true;
    payload_.resize(detail::trace_io::record_encoder::bound(records_.size()));
    const std::uint64_t first = records_.front().time;
    payload_.resize(encoder_.encode(records_, first, payload_.data()));
    const detail::trace_io::chunk_header header{.stream = chunk_thread_,
                                                .sequence = chunks_++,
                                                .count = static_cast<std::uint32_t>(records_.size()),
                                                .events = encoder_.events(),
                                                .first_time = first,
                                                .last_time = encoder_.last_time()};
    records_.clear();
    return write(header, payload_);
  }

  /// Effects: ends the trace in order. Returns: whether all of it was written.
  bool close() {
    if (closed_) return !error_;
    const std::byte nothing_dropped{0};
    const bool ended = flush() && write({.kind = detail::trace_io::chunk_kind::end, .count = 1}, {&nothing_dropped, 1});
    closed_ = true;
    return ended;
  }

  [[nodiscard]] const std::optional<trace_error>& error() const noexcept { return error_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
  /// Object ids are never reused, so they can stand for addresses: in units of 16 bytes, which the encoder packs best.
  [[nodiscard]] static std::uint64_t token(std::uint64_t object) noexcept { return object << 4; }

  void put(detail::trace_io::record r) {
    r.time = last_time_;
    records_.push_back(r);
  }

  bool fail(std::string message) {
    if (!error_) error_ = trace_error{bytes_, std::move(message)};
    return false;
  }

  bool write_bytes(std::span<const std::byte> bytes) {
    if (error_) return false;
    if (!sink_.write(bytes)) return fail("cannot be written");
    bytes_ += bytes.size();
    return true;
  }

  bool write(const detail::trace_io::chunk_header& header, std::span<const std::byte> payload) {
    chunk_.resize(detail::trace_io::chunk_bound<Codec>(payload.size()));
    return write_bytes(pack_chunk(codec_, header, payload, chunk_.data()));
  }

  void write_file_header(const writer_options& options) {
    std::string text;
    for (const std::string& argument : options.command_line) text.append(argument).push_back('\0');
    if (text.size() > detail::trace_io::max_text_bytes) text.clear();
    std::vector<std::byte> bytes(detail::trace_io::file_header_bytes + text.size() + 8);
    put_header(bytes.data(), detail::trace_io::file_header{.process = options.process,
                                                           .page_bytes = options.page_bytes,
                                                           .start_unix_ns = options.start_unix_ns,
                                                           .stack_depth = options.stack_depth,
                                                           .text_bytes = static_cast<std::uint32_t>(text.size())});
    for (std::size_t i = 0; i < text.size(); ++i)
      bytes[detail::trace_io::file_header_bytes + i] = static_cast<std::byte>(text[i]);
    detail::trace_io::put_word(&bytes[bytes.size() - 8], detail::trace_io::checksum({bytes.data(), bytes.size() - 8}));
    write_bytes(bytes);
  }

  Sink sink_;
  Codec codec_;
  std::size_t capacity_;
  std::vector<detail::trace_io::record> records_;
  detail::trace_io::record_encoder encoder_;
  std::vector<std::byte> payload_, chunk_;
  std::optional<trace_error> error_;
  std::uint64_t bytes_ = 0;
  std::uint64_t last_time_ = 0;
  std::uint32_t thread_ = 0;
  std::uint32_t chunk_thread_ = 0;
  std::uint32_t chunks_ = 0, stacks_ = 0, modules_ = 0, names_ = 0;
  bool closed_ = false;
};

}  // namespace ashlar::ASHLAR_ABI::trace
