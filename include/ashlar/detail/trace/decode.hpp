// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Encodes records to the payload of an events chunk and decodes them; refuses every malformed payload.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/record.hpp>
#include <ashlar/detail/trace/varint.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// The flags above the four bits of the opcode: the columns with an entry for this record.
inline constexpr std::uint8_t has_stack = 0x10;      ///< extras: varint
inline constexpr std::uint8_t has_alignment = 0x20;  ///< extras: one byte, before the stack
inline constexpr std::uint8_t has_size = 0x40;       ///< sizes: varint
inline constexpr std::uint8_t is_backward =
    0x80;  ///< addresses: distance to the last record with the same one, in records

inline constexpr std::size_t column_count = 5;

/// Encodes up to `max_chunk_records` records at a time to a payload. Reusable; keeps no state between chunks. One pass
/// for each column keeps each loop short and its position in a register.
class record_encoder {
public:
  /// Returns: the largest size of the payload of `n` records, in bytes.
  [[nodiscard]] static constexpr std::size_t bound(std::size_t n) noexcept {
    return n * record_bound + column_count * sizeof(std::uint32_t) + max_varint_bytes;
  }

  /// Effects: writes the payload to `out`, with times made ascending. Returns: its size. Expects:
  /// `bound(records.size())` bytes at `out`.
  std::size_t encode(std::span<const record> records, std::uint64_t first_time, std::byte* out) noexcept {
    std::byte* to = column(out, [&](std::byte* p) { return put_codes(records, p); });
    to = column(to, [&](std::byte* p) { return put_times(records, first_time, p); });
    std::byte* const codes = out + sizeof(std::uint32_t);
    to = column(to, [&](std::byte* p) { return put_addresses(records, codes, p); });
    to = column(to, [&](std::byte* p) { return put_sizes(records, p); });
    to = column(to, [&](std::byte* p) { return put_extras(records, p); });
    return static_cast<std::size_t>(to - out);
  }

  /// Returns: the number of records that were events.
  [[nodiscard]] std::uint32_t events() const noexcept { return events_; }

  /// Returns: the time of the last record as written.
  [[nodiscard]] std::uint64_t last_time() const noexcept { return last_time_; }

private:
  static constexpr std::size_t record_bound = 1 + max_varint_bytes + (1 + max_varint_bytes) + max_varint_bytes + 6;
  static constexpr std::size_t table_bits = 12;

  template <class Put>
  static std::byte* column(std::byte* to, Put&& put) noexcept {
    std::byte* const begin = to + sizeof(std::uint32_t);
    std::byte* const end = put(begin);
    put_word(to, static_cast<std::uint32_t>(end - begin));
    return end;
  }

  std::byte* put_codes(std::span<const record> records, std::byte* to) noexcept {
    events_ = 0;
    for (const record& r : records) {
      const unsigned flags = (r.size != 0 ? has_size : 0U) | (r.alignment_code != 0 ? has_alignment : 0U) |
                             (r.stack != 0 ? has_stack : 0U);
      *to++ = static_cast<std::byte>(static_cast<unsigned>(r.code) | flags);
      events_ += is_event(r.code) ? 1U : 0U;
    }
    return to;
  }

  std::byte* put_times(std::span<const record> records, std::uint64_t first_time, std::byte* to) noexcept {
    std::uint64_t time = first_time;
    for (const record& r : records) {
      const std::uint64_t step = r.time > time ? r.time - time : 0;
      to = put_varint(to, step);
      time += step;
    }
    last_time_ = time;
    return to;
  }

  /// Encodes a recent address as the distance to its last record, flagged in `codes`. A new address is its distance
  /// from the last new one: in units of 16 bytes plus one, or 0 and then the distance in bytes.
  std::byte* put_addresses(std::span<const record> records, std::byte* codes, std::byte* to) noexcept {
    seen_.fill(0);
    std::uint64_t literal = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (!has_address(records[i].code)) continue;
      const std::uint64_t address = records[i].address;
      const std::uint64_t difference = address - literal;
      const std::size_t last = look_up(address, i);
      const bool seen = last != i && records[last].address == address;
      const bool uneven = difference % 16 != 0;
      const std::uint64_t back = i - last - 1;
      const std::uint64_t ahead = sixteenth(difference);
      codes[i] |= static_cast<std::byte>(seen ? is_backward : 0);
      if (ASHLAR_UNLIKELY(static_cast<int>(uneven) & static_cast<int>(!seen)))
        to = put_varint(put_varint(to, 0), zigzag(difference));
      else to = put_varint(to, seen ? back : ahead);
      literal = seen ? literal : address;
    }
    return to;
  }

  static std::byte* put_sizes(std::span<const record> records, std::byte* to) noexcept {
    for (const record& r : records)
      if (r.size != 0) to = put_varint(to, r.size);
    return to;
  }

  static std::byte* put_extras(std::span<const record> records, std::byte* to) noexcept {
    for (const record& r : records) {
      if (r.alignment_code != 0) *to++ = static_cast<std::byte>(r.alignment_code);
      if (r.stack != 0) to = put_varint(to, r.stack);
    }
    return to;
  }

  /// Effects: makes record `i` the last one with the hash of this address. Returns: the one before it, or `i`.
  std::size_t look_up(std::uint64_t address, std::size_t i) noexcept {
    std::uint16_t& slot = seen_[static_cast<std::size_t>((address * 0x9E3779B97F4A7C15) >> (64 - table_bits))];
    const std::size_t last = slot == 0 ? i : slot - std::size_t{1};
    slot = static_cast<std::uint16_t>(i + 1);
    return last;
  }

  static std::uint64_t sixteenth(std::uint64_t difference) noexcept {
    return zigzag(static_cast<std::uint64_t>(static_cast<std::int64_t>(difference) / 16)) + 1;
  }

  std::uint64_t last_time_ = 0;
  std::uint32_t events_ = 0;
  std::array<std::uint16_t, std::size_t{1} << table_bits> seen_{};  // the record's index plus one; 0 = none
};

/// Decodes a payload in one pass for each column, as it was encoded. Each pass returns whether its column was sound and
/// had an entry for each record that has one, and no more.
class record_decoder {
public:
  record_decoder(std::span<const std::byte> payload, std::span<record> records) noexcept
      : whole_(payload), records_(records) {}

  [[nodiscard]] bool decode(const chunk_header& header) noexcept {
    codes_ = whole_.bytes(whole_.word());
    return codes_.size() == records_.size() && get_codes(header.events) && get_times(header) && get_addresses() &&
           get_sizes() && get_extras() && whole_.ok() && whole_.at_end();
  }

private:
  [[nodiscard]] byte_cursor column() noexcept { return byte_cursor(whole_.bytes(whole_.word())); }
  [[nodiscard]] static bool is_read(const byte_cursor& c) noexcept { return c.ok() && c.at_end(); }
  [[nodiscard]] bool has(std::uint8_t flag, std::size_t i) const noexcept {
    return (std::to_integer<std::uint8_t>(codes_[i]) & flag) != 0;
  }

  [[nodiscard]] bool get_codes(std::uint32_t expected_events) noexcept {
    std::uint32_t events = 0;
    bool sound = true;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const auto code = static_cast<opcode>(std::to_integer<std::uint8_t>(codes_[i]) & 0x0f);
      records_[i] = {.code = code};
      events += is_event(code) ? 1U : 0U;
      sound = sound && code < opcode::count && (has_address(code) || !has(is_backward, i));
    }
    return sound && events == expected_events;
  }

  [[nodiscard]] bool get_times(const chunk_header& header) noexcept {
    byte_cursor from = column();
    std::uint64_t time = header.first_time;
    for (record& r : records_) {
      const std::uint64_t step = from.varint();
      r.time = time += step;
      if (time < step) return false;
    }
    return is_read(from) && time == header.last_time;
  }

  [[nodiscard]] bool get_addresses() noexcept {
    byte_cursor from = column();
    std::uint64_t literal = 0;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!has_address(records_[i].code)) continue;
      const std::uint64_t code = from.varint();
      if (!has(is_backward, i)) {
        records_[i].address = literal += code == 0 ? unzigzag(from.varint()) : unzigzag(code - 1) * 16;
      } else {
        if (code >= i) return false;
        const record& same = records_[i - 1 - static_cast<std::size_t>(code)];
        if (!has_address(same.code)) return false;
        records_[i].address = same.address;
      }
    }
    return is_read(from);
  }

  [[nodiscard]] bool get_sizes() noexcept {
    byte_cursor from = column();
    for (std::size_t i = 0; i < records_.size(); ++i)
      if (has(has_size, i) && (records_[i].size = from.varint()) == 0) return false;
    return is_read(from);
  }

  [[nodiscard]] bool get_extras() noexcept {
    byte_cursor from = column();
    for (std::size_t i = 0; i < records_.size(); ++i) {
      record& r = records_[i];
      if (has(has_alignment, i)) {
        r.alignment_code = from.byte();
        if (r.alignment_code == 0 || r.alignment_code > 65) return false;
      }
      if (!has(has_stack, i)) continue;
      const std::uint64_t stack = from.varint();
      r.stack = static_cast<std::uint32_t>(stack);
      if (stack == 0 || stack != r.stack) return false;
    }
    return is_read(from);
  }

  byte_cursor whole_;
  std::span<record> records_;
  std::span<const std::byte> codes_;
};

/// Effects: replaces `records` by the records of the payload. Returns: whether the payload was sound in every detail.
[[nodiscard]] inline bool decode_records(std::span<const std::byte> payload, const chunk_header& header,
                                         std::vector<record>& records) {
  records.clear();
  if (header.count > max_chunk_records || header.count > payload.size()) return false;
  records.resize(header.count);
  return record_decoder(payload, records).decode(header);
}

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
