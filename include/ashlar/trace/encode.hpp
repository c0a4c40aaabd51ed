// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Records of one stream to the payload of an events chunk: five columns, small differences, no allocation.
//
//     payload = { varint bytes, column }*      columns: codes, times, addresses, sizes, extras
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <ashlar/base/config.hpp>
#include <ashlar/trace/format.hpp>
#include <ashlar/trace/record.hpp>
#include <ashlar/trace/varint.hpp>

namespace ashlar::inline ASHLAR_ABI::trace {

/// The flags above the four bits of the opcode: which columns this record has an entry in.
inline constexpr std::uint8_t has_stack = 0x10;      ///< extras: varint
inline constexpr std::uint8_t has_alignment = 0x20;  ///< extras: one byte, before the stack
inline constexpr std::uint8_t has_size = 0x40;       ///< sizes: varint
inline constexpr std::uint8_t is_backward = 0x80;    ///< addresses: how many records ago the same one stood

inline constexpr std::size_t column_count = 5;

/// Turns up to `max_chunk_records` records at a time into a payload. Reusable; keeps nothing from chunk to chunk.
class record_encoder {
public:
  /// Returns: the room that `n` records need at most, in the scratch space and in the payload alike.
  [[nodiscard]] static constexpr std::size_t bound(std::size_t n) noexcept { return n * record_bound + column_count * 4; }

  /// Effects: writes the payload to `out`. Times are made to never go back.
  /// Returns: its size. Expects: `bound(records.size())` bytes in `scratch` and in `out`.
  std::size_t encode(std::span<const record> records, std::uint64_t first_time, std::byte* scratch, std::byte* out) noexcept {
    reset(records.size(), first_time, scratch);
    for (std::size_t i = 0; i < records.size(); ++i) put(records, i);
    std::byte* to = out;
    std::byte* column = scratch;
    for (std::size_t c = 0; c < column_count; column += widths[c] * records.size(), ++c) {
      const auto bytes = static_cast<std::size_t>(end_[c] - column);
      to = put_varint(to, bytes);
      std::memcpy(to, column, bytes);
      to += bytes;
    }
    return static_cast<std::size_t>(to - out);
  }

  /// Returns: the time of the last record as it was written.
  [[nodiscard]] std::uint64_t last_time() const noexcept { return time_; }

private:
  enum : std::size_t { codes, times, addresses, sizes, extras };

  static constexpr std::array<std::size_t, column_count> widths{1, max_varint_bytes, max_varint_bytes + 1,
                                                                max_varint_bytes, 6};
  static constexpr std::size_t record_bound = 1 + max_varint_bytes + max_varint_bytes + 1 + max_varint_bytes + 6;
  static constexpr std::size_t table_bits = 12;

  void reset(std::size_t n, std::uint64_t first_time, std::byte* scratch) noexcept {
    for (std::size_t c = 0; c < column_count; scratch += widths[c] * n, ++c) end_[c] = scratch;
    time_ = first_time;
    literal_ = 0;
    seen_.fill(0);
  }

  void put(std::span<const record> records, std::size_t i) noexcept {
    const record& r = records[i];
    auto code = static_cast<std::uint8_t>(r.code);
    put_time(r.time);
    if (has_address(r.code) && put_address(records, i)) code |= is_backward;
    if (r.size != 0) code |= has_size, end_[sizes] = put_varint(end_[sizes], r.size);
    if (r.alignment_code != 0) code |= has_alignment, *end_[extras]++ = static_cast<std::byte>(r.alignment_code);
    if (r.stack != 0) code |= has_stack, end_[extras] = put_varint(end_[extras], r.stack);
    *end_[codes]++ = static_cast<std::byte>(code);
  }

  void put_time(std::uint64_t time) noexcept {
    const std::uint64_t step = time > time_ ? time - time_ : 0;
    end_[times] = put_varint(end_[times], step);
    time_ += step;
  }

  /// An address seen a short while ago is told by how many records ago, a new one by its distance from the last new
  /// one: in units of 16 bytes plus one, or 0 and then the distance in bytes. Returns: whether it was seen.
  bool put_address(std::span<const record> records, std::size_t i) noexcept {
    const std::uint64_t address = records[i].address;
    std::uint16_t& slot = seen_[(address * 0x9E3779B97F4A7C15) >> (64 - table_bits)];
    const std::size_t last = slot;  // one more than the index of a record, 0 = none
    slot = static_cast<std::uint16_t>(i + 1);
    const bool seen = last != 0 && records[last - 1].address == address;
    end_[addresses] = seen ? put_varint(end_[addresses], i - last) : put_literal(address);
    return seen;
  }

  std::byte* put_literal(std::uint64_t address) noexcept {
    const std::uint64_t difference = address - literal_;
    literal_ = address;
    if (difference % 16 == 0) return put_varint(end_[addresses], zigzag(sixteenth(difference)) + 1);
    return put_varint(put_varint(end_[addresses], 0), zigzag(difference));
  }

  static std::uint64_t sixteenth(std::uint64_t difference) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(difference) / 16);
  }

  std::array<std::byte*, column_count> end_{};
  std::uint64_t time_ = 0;
  std::uint64_t literal_ = 0;
  std::array<std::uint16_t, std::size_t{1} << table_bits> seen_{};
};

}  // namespace ashlar::inline ASHLAR_ABI::trace
