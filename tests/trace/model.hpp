// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random event streams, and trace images built chunk by chunk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/detail/trace/decode.hpp>
#include <ashlar/trace/reader.hpp>
#include <ashlar/trace/writer.hpp>

namespace ashlar_test {

using ashlar::trace::event;
using ashlar::trace::operation;
using bytes = std::vector<std::byte>;

/// An imaginary program: valid events of up to `threads` threads, in order.
class random_program {
public:
  explicit random_program(std::uint64_t seed, std::uint32_t threads = 4) : random_(seed), threads_(threads) {}

  event next() {
    event e{.time_ns = time_ += below(3) == 0 ? 0 : below(1000), .thread = pick_thread()};
    const auto kind = below(20);
    if (kind == 0) return e.op = operation::mark, e.size = below(100), e;
    if (kind == 1) return e.op = operation::thread_end, e;
    if (kind == 2) return e.op = operation::span_begin, e.size = 1 + below(3), e;
    if (kind == 3) return e.op = below(9) == 0 ? operation::thread_name : operation::span_end, e.size = 1 + below(3), e;
    if (kind < 11 || live_.empty()) return allocate(e);
    return kind < 14 ? reallocate(e) : release(e);
  }

  std::vector<event> events(std::size_t n) {
    std::vector<event> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(next());
    return all;
  }

private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  std::uint32_t pick_thread() {
    const auto thread = static_cast<std::uint32_t>(below(std::min(seen_ + 1, threads_)));
    seen_ = std::max(seen_, thread + 1);
    return thread;
  }

  event allocate(event e) {
    constexpr operation ops[] = {operation::malloc_,    operation::calloc_,        operation::new_,
                                 operation::new_array_, operation::aligned_alloc_, operation::realloc_};
    e.op = ops[below(6)];
    e.size = below(50) == 0 ? random_() : below(500);
    if (e.op == operation::aligned_alloc_) e.alignment = std::uint64_t{1} << below(64);
    e.stack = static_cast<std::uint32_t>(below(3) == 0 ? random_() : below(10));
    if (below(30) != 0) live_.push_back(e.object = ++last_object_);
    return e;
  }

  event reallocate(event e) {
    std::uint64_t& slot = live_[below(live_.size())];
    e.op = operation::realloc_;
    e.size = 1 + below(1000);
    e.old_object = slot;
    if (below(10) != 0) slot = e.object = ++last_object_;
    return e;
  }

  event release(event e) {
    constexpr operation ops[] = {operation::free_, operation::delete_, operation::delete_array_};
    e.op = ops[below(3)];
    e.size = below(2) == 0 ? below(500) : 0;
    if (below(30) == 0) return e;  // of an unknown object
    std::swap(live_[below(live_.size())], live_.back());
    e.object = live_.back();
    live_.pop_back();
    return e;
  }

  std::mt19937_64 random_;
  std::uint32_t threads_;
  std::uint32_t seen_ = 0;
  std::uint64_t time_ = 0;
  std::uint64_t last_object_ = 0;
  std::vector<std::uint64_t> live_;
};

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
