// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random event streams, and trace images built chunk by chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <ashlar/detail/trace/decode.hpp>
#include <ashlar/trace/reader.hpp>
#include <ashlar/trace/writer.hpp>

#include "tests/study/random_events.hpp"

namespace ashlar_test {

using ashlar::trace::event;
using ashlar::trace::operation;
using bytes = std::vector<std::byte>;

/// Returns: `n` events of an imaginary program of up to `threads` threads at once, in order, with what only a trace
/// has: values of all lengths, notes, dense threads, and no slots.
inline std::vector<event> random_program(std::uint32_t seed, std::size_t n, std::uint32_t threads = 4) {
  constexpr operation notes[] = {operation::mark, operation::span_begin, operation::span_end, operation::thread_name};
  std::mt19937_64 random(seed);
  random_events source(seed, n, threads);
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::vector<event> all;
  while (auto e = source.next()) {
    e->slot = e->old_slot = 0;
    e->time_ns = e->time_ns / 4000 * 500;  // of three events one has the time of that before it
    e->thread = numbers.try_emplace(e->thread, static_cast<std::uint32_t>(numbers.size())).first->second;
    if (e->alignment != 0) e->alignment = std::uint64_t{1} << random() % 64;
    if (is_allocation(e->op) && random() % 50 == 0) e->size = random();
    if (is_allocation(e->op) && random() % 3 == 0) e->stack = static_cast<std::uint32_t>(random());
    if (is_release(e->op) && random() % 2 == 0) e->size = random() % 500;
    if (e->op == operation::mark) e->op = notes[random() % 4], e->size = 1 + random() % 100;
    all.push_back(*e);
  }
  return all;
}

inline bytes image_of(std::span<const event> events, const ashlar::trace::writer_options& options = {}) {
  bytes image;
  ashlar::trace::writer<ashlar::trace::raw_codec, ashlar::trace::memory_sink> w{ashlar::trace::memory_sink(image),
                                                                                options};
  for (const event& e : events) w.append(e);
  w.close();
  return image;
}

/// Returns: the next event as the program made it: without the slots that the reader gives.
inline std::optional<event> next_as_made(ashlar::trace::reader<>& r) {
  auto e = r.next();
  if (e) e->slot = e->old_slot = 0;
  return e;
}

struct everything {
  std::vector<event> events;
  std::optional<ashlar::trace::trace_error> error;
  ashlar::trace::reader_counts counts;
  ashlar::trace::trace_info info;
};

inline everything read_all(std::span<const std::byte> image, const ashlar::trace::reader_options& options = {}) {
  ashlar::trace::reader<> r(image, options);
  everything all;
  while (auto e = next_as_made(r)) all.events.push_back(*e);
  all.error = r.error();
  all.counts = r.counts();
  all.info = r.info();
  return all;
}

/// An image of any chunks, sound or not.
class image_builder {
public:
  explicit image_builder(const ashlar::detail::trace_io::file_header& header = {.process = 7, .page_bytes = 4096}) {
    image_.resize(ashlar::detail::trace_io::file_header_bytes + 8);
    ashlar::detail::trace_io::put_header(image_.data(), header);
    const std::span summed(image_.data(), ashlar::detail::trace_io::file_header_bytes);
    ashlar::detail::trace_io::put_word(image_.data() + summed.size(), ashlar::detail::trace_io::checksum(summed));
  }

  image_builder& chunk(const ashlar::detail::trace_io::chunk_header& header, std::span<const std::byte> payload) {
    bytes out(ashlar::detail::trace_io::chunk_bound<ashlar::trace::raw_codec>(payload.size()));
    ashlar::trace::raw_codec raw;
    const auto packed = ashlar::detail::trace_io::pack_chunk(raw, header, payload, out.data());
    image_.insert(image_.end(), packed.begin(), packed.end());
    return *this;
  }

  /// The records of one stream, with its header as a recorder would write it.
  image_builder& events(std::uint32_t stream, std::uint32_t sequence,
                        std::vector<ashlar::detail::trace_io::record> records) {
    bytes payload(ashlar::detail::trace_io::record_encoder::bound(records.size()));
    payload.resize(encoder_.encode(records, records.front().time, payload.data()));
    return chunk({.stream = stream,
                  .sequence = sequence,
                  .count = static_cast<std::uint32_t>(records.size()),
                  .events = encoder_.events(),
                  .first_time = records.front().time,
                  .last_time = encoder_.last_time()},
                 payload);
  }

  image_builder& end() {
    const std::byte nothing_dropped{0};
    return chunk({.kind = ashlar::detail::trace_io::chunk_kind::end, .count = 1}, {&nothing_dropped, 1});
  }

  [[nodiscard]] const bytes& image() const noexcept { return image_; }

private:
  bytes image_;
  ashlar::detail::trace_io::record_encoder encoder_;
};

inline ashlar::detail::trace_io::record got(std::uint64_t time, std::uint64_t address, std::uint64_t size = 8) {
  return {
      .time = time, .address = address, .size = size, .code = ashlar::detail::trace_io::code_of(operation::malloc_)};
}

inline ashlar::detail::trace_io::record gave(std::uint64_t time, std::uint64_t address) {
  return {.time = time, .address = address, .code = ashlar::detail::trace_io::code_of(operation::free_)};
}

}  // namespace ashlar_test
