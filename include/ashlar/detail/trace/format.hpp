// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two headers of a trace file, to and from bytes. docs/trace-format.md specifies the whole format.
//
//     file   = file header, chunk*
//     chunk  = chunk header (80 bytes), payload (stored_bytes)
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/config.hpp>
#include <ashlar/base/trace_source.hpp>
#include <ashlar/detail/trace/varint.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

inline constexpr std::uint64_t xxh_prime_1 = 0x9E3779B185EBCA87;
inline constexpr std::uint64_t xxh_prime_2 = 0xC2B2AE3D27D4EB4F;
inline constexpr std::uint64_t xxh_prime_3 = 0x165667B19E3779F9;
inline constexpr std::uint64_t xxh_prime_4 = 0x85EBCA77C2B2AE63;
inline constexpr std::uint64_t xxh_prime_5 = 0x27D4EB2F165667C5;

[[nodiscard]] constexpr std::uint64_t xxh_round(std::uint64_t lane, std::uint64_t word) noexcept {
  return std::rotl(lane + word * xxh_prime_2, 31) * xxh_prime_1;
}

/// Returns: the four lanes folded into one, after consuming every whole 32-byte stripe at `p`.
[[nodiscard]] constexpr std::uint64_t xxh_stripes(const std::byte*& p, std::size_t n) noexcept {
  std::array<std::uint64_t, 4> lane{xxh_prime_1 + xxh_prime_2, xxh_prime_2, 0, 0 - xxh_prime_1};
  for (; n >= 32; n -= 32)
    for (auto& l : lane) l = xxh_round(l, get_word<std::uint64_t>(p)), p += 8;
  std::uint64_t sum = std::rotl(lane[0], 1) + std::rotl(lane[1], 7) + std::rotl(lane[2], 12) + std::rotl(lane[3], 18);
  for (const auto l : lane) sum = (sum ^ xxh_round(0, l)) * xxh_prime_1 + xxh_prime_4;
  return sum;
}

[[nodiscard]] constexpr std::uint64_t xxh_tail(std::uint64_t sum, const std::byte* p, std::size_t n) noexcept {
  for (; n >= 8; n -= 8, p += 8)
    sum = std::rotl(sum ^ xxh_round(0, get_word<std::uint64_t>(p)), 27) * xxh_prime_1 + xxh_prime_4;
  for (; n >= 4; n -= 4, p += 4)
    sum = std::rotl(sum ^ (get_word<std::uint32_t>(p) * xxh_prime_1), 23) * xxh_prime_2 + xxh_prime_3;
  for (; n != 0; --n, ++p) sum = std::rotl(sum ^ (std::to_integer<std::uint64_t>(*p) * xxh_prime_5), 11) * xxh_prime_1;
  return sum;
}

[[nodiscard]] constexpr std::uint64_t xxh_avalanche(std::uint64_t sum) noexcept {
  sum = (sum ^ (sum >> 33)) * xxh_prime_2;
  sum = (sum ^ (sum >> 29)) * xxh_prime_3;
  return sum ^ (sum >> 32);
}

/// Complexity: linear, several gigabytes a second.
[[nodiscard]] constexpr std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  const std::byte* p = bytes.data();
  const std::size_t n = bytes.size();
  std::uint64_t sum = n >= 32 ? xxh_stripes(p, n) : xxh_prime_5;
  return xxh_avalanche(xxh_tail(sum + n, p, n % 32));
}

inline constexpr std::array<std::uint8_t, 8> file_magic{0x89, 'A', 'S', 'H', 'L', 'R', '\r', '\n'};
inline constexpr std::uint32_t format_version = 1;
inline constexpr std::uint32_t endian_mark = 0x01020304;
inline constexpr std::size_t file_header_bytes = 64;  ///< Without the command line and the checksum.
inline constexpr std::uint32_t max_text_bytes = 1 << 20;

inline constexpr std::uint32_t chunk_magic = 0x4b4e4843;  ///< "CHNK"
inline constexpr std::size_t chunk_header_bytes = 80;
inline constexpr std::uint32_t max_raw_bytes = 4 << 20;  ///< Limit of a chunk that is read; bounds the reader's memory.
inline constexpr std::uint32_t max_chunk_records = 65535;

/// The content of a chunk. Chunks of unknown kinds from `first_skippable` on are skipped, others are refused.
enum class chunk_kind : std::uint8_t {
  events = 1,
  stacks,
  modules,
  end,
  names,
  first_skippable = 128,
  unloads = first_skippable,  ///< Skipped by readers that know none.
  run,                        ///< Of `ashlar record`; readers of events skip it.
  memory                      ///< Skipped by readers that do not know it.
};

enum class clock_kind : std::uint8_t { nanoseconds = 0, ticks = 1 };

/// Replaces an errno in `file_header::write_error`: the file became shorter than its written content.
inline constexpr std::uint16_t cut_by_program = 0xffff;
/// Likewise: the traces of the recording have the size that the user has given it.
inline constexpr std::uint16_t size_was_reached = 0xfffe;

struct file_header {
  clock_kind clock = clock_kind::nanoseconds;
  std::uint8_t pointer_bytes = sizeof(void*);
  std::uint32_t process = 0;
  std::uint32_t page_bytes = 0;
  std::uint16_t write_error = 0;    ///< The errno that ended the writing before the program's end; 0: none.
  std::uint64_t start_ns = 0;       ///< Monotonic clock at time 0, for the chunks' `sync_ns`.
  std::uint64_t start_unix_ns = 0;  ///< Wall clock at time 0.
  std::uint32_t stack_depth = 0;
  std::uint32_t text_bytes = 0;  ///< Size of the command line that follows, each argument with a final 0 byte.
  std::uint64_t session = 0;     ///< Of the recording: its processes share it; 0: unknown.
  std::uint32_t parent = 0;      ///< The parent's process id; 0: the recording began with this process, or unknown.
};

/// Expects: `file_header_bytes` at `to`. The caller appends the text and the checksum of everything before it.
constexpr void put_header(std::byte* to, const file_header& h) noexcept {
  for (const auto c : file_magic) *to++ = static_cast<std::byte>(c);
  to = put_word(to, format_version);
  to = put_word(to, endian_mark);
  to = put_word(to, static_cast<std::uint8_t>(h.clock));
  to = put_word(to, h.pointer_bytes);
  to = put_word(to, h.write_error);
  to = put_word(to, h.process);
  to = put_word(to, h.page_bytes);
  to = put_word(to, h.stack_depth);
  to = put_word(to, h.session);
  to = put_word(to, h.start_ns);
  to = put_word(to, h.start_unix_ns);
  to = put_word(to, h.text_bytes);
  put_word(to, h.parent);
}

/// Returns: whether a trace may begin with these bytes, as far as they go.
[[nodiscard]] constexpr bool begins_as_trace(std::span<const std::byte> bytes) noexcept {
  for (std::size_t i = 0; i < file_magic.size() && i < bytes.size(); ++i)
    if (bytes[i] != static_cast<std::byte>(file_magic[i])) return false;
  return true;
}

/// Returns: the reason why the 64 bytes at `from` are not a header of a readable trace, or null.
[[nodiscard]] constexpr const char* refuse_file_header(const std::byte* from) noexcept {
  if (!begins_as_trace({from, file_magic.size()})) return "not an ashlar trace";
  if (get_word<std::uint32_t>(from + 12) == 0x04030201) return "written by a machine of the other byte order";
  if (get_word<std::uint32_t>(from + 12) != endian_mark) return "the file header is damaged";
  if (get_word<std::uint32_t>(from + 8) != format_version) return "a format version this ashlar does not read";
  if (std::to_integer<int>(from[16]) > 1) return "the file header is damaged";
  return get_word<std::uint32_t>(from + 56) > max_text_bytes ? "the file header is damaged" : nullptr;
}

/// Expects: `refuse_file_header(from)` is null.
[[nodiscard]] constexpr file_header get_file_header(const std::byte* from) noexcept {
  return {.clock = static_cast<clock_kind>(from[16]),
          .pointer_bytes = get_word<std::uint8_t>(from + 17),
          .process = get_word<std::uint32_t>(from + 20),
          .page_bytes = get_word<std::uint32_t>(from + 24),
          .write_error = get_word<std::uint16_t>(from + 18),
          .start_ns = get_word<std::uint64_t>(from + 40),
          .start_unix_ns = get_word<std::uint64_t>(from + 48),
          .stack_depth = get_word<std::uint32_t>(from + 28),
          .text_bytes = get_word<std::uint32_t>(from + 56),
          .session = get_word<std::uint64_t>(from + 32),
          .parent = get_word<std::uint32_t>(from + 60)};
}

struct chunk_header {
  chunk_kind kind = chunk_kind::events;
  trace::codec_id codec = trace::codec_id::raw;
  std::uint32_t stream = 0;    ///< Of events: the stream, which is the thread of its first record.
  std::uint32_t sequence = 0;  ///< 0, 1, 2 … within the kind and stream.
  std::uint32_t count = 0;     ///< Records, stacks, modules or names.
  std::uint32_t raw_bytes = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t events = 0;      ///< The number of records that are events.
  std::uint64_t first_time = 0;  ///< Ticks since the start of the trace.
  std::uint64_t last_time = 0;
  std::uint64_t sync_ticks = 0;  ///< Both clocks at the time of writing: the last chunk calibrates all.
  std::uint64_t sync_ns = 0;
  std::uint64_t payload_sum = 0;  ///< Checksum of the payload as stored.
};

constexpr void put_header(std::byte* to, const chunk_header& h) noexcept {
  std::byte* const start = to;
  to = put_word(to, chunk_magic);
  to = put_word(to, static_cast<std::uint8_t>(h.kind));
  to = put_word(to, static_cast<std::uint8_t>(h.codec));
  to = put_word(to, std::uint16_t{0});
  for (const auto word : {h.stream, h.sequence, h.count, h.raw_bytes, h.stored_bytes, h.events})
    to = put_word(to, word);
  for (const auto word : {h.first_time, h.last_time, h.sync_ticks, h.sync_ns, h.payload_sum}) to = put_word(to, word);
  put_word(to, checksum({start, chunk_header_bytes - 8}));
}

/// Returns: whether the 80 bytes at `from` are a whole chunk header.
[[nodiscard]] constexpr bool get_header(const std::byte* from, chunk_header& h) noexcept {
  const auto word = [from](std::size_t at) { return get_word<std::uint32_t>(from + at); };
  const auto wide = [from](std::size_t at) { return get_word<std::uint64_t>(from + at); };
  if (word(0) != chunk_magic || wide(72) != checksum({from, chunk_header_bytes - 8})) return false;
  h = {.kind = static_cast<chunk_kind>(from[4]),
       .codec = static_cast<trace::codec_id>(from[5]),
       .stream = word(8),
       .sequence = word(12),
       .count = word(16),
       .raw_bytes = word(20),
       .stored_bytes = word(24),
       .events = word(28),
       .first_time = wide(32),
       .last_time = wide(40),
       .sync_ticks = wide(48),
       .sync_ns = wide(56),
       .payload_sum = wide(64)};
  return h.first_time <= h.last_time;
}

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
