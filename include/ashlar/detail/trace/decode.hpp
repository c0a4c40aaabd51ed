// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decodes the payload of an events chunk to records, and refuses every malformed payload.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/encode.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/record.hpp>
#include <ashlar/detail/trace/varint.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

class record_decoder {
public:
  record_decoder(std::span<const std::byte> payload, std::uint64_t first_time) noexcept : time_(first_time) {
    byte_cursor whole(payload);
    for (auto& column : columns_) column = byte_cursor(whole.bytes(whole.word()));
    framed_ = whole.ok() && whole.at_end();
  }

  /// Returns: whether the next record was sound; it is then the last of `done`.
  bool next(std::vector<record>& done) noexcept {
    const std::uint8_t code = codes().byte();
    record r{.code = static_cast<opcode>(code & 0x0f)};
    if (!framed_ || r.code >= opcode::count || !step_time(r)) return false;
    if (has_address(r.code) ? !find_address(r, (code & is_backward) != 0, done) : (code & is_backward) != 0)
      return false;
    if ((code & has_size) != 0 && (r.size = sizes().varint()) == 0) return false;
    if ((code & has_alignment) != 0 && !get_alignment(r)) return false;
    if ((code & has_stack) != 0 && !get_stack(r)) return false;
    if (!ok()) return false;
    done.push_back(r);
    return true;
  }

  /// Returns: whether the payload was consumed exactly and the last record has the time `last_time`.
  [[nodiscard]] bool finished(std::uint64_t last_time) const noexcept {
    bool empty = framed_ && time_ == last_time;
    for (const auto& column : columns_) empty = empty && column.ok() && column.at_end();
    return empty;
  }

private:
  byte_cursor& codes() noexcept { return columns_[0]; }
  byte_cursor& times() noexcept { return columns_[1]; }
  byte_cursor& addresses() noexcept { return columns_[2]; }
  byte_cursor& sizes() noexcept { return columns_[3]; }
  byte_cursor& extras() noexcept { return columns_[4]; }

  [[nodiscard]] bool ok() const noexcept {
    for (const auto& column : columns_)
      if (!column.ok()) return false;
    return true;
  }

  bool step_time(record& r) noexcept {
    const std::uint64_t step = times().varint();
    time_ += step;
    r.time = time_;
    return time_ >= step;
  }

  bool find_address(record& r, bool backward, const std::vector<record>& done) noexcept {
    const std::uint64_t code = addresses().varint();
    if (!backward) return r.address = literal_ += get_difference(code), true;
    if (code >= done.size()) return false;
    const record& same = done[done.size() - 1 - static_cast<std::size_t>(code)];
    r.address = same.address;
    return has_address(same.code);
  }

  std::uint64_t get_difference(std::uint64_t code) noexcept {
    return code == 0 ? unzigzag(addresses().varint()) : unzigzag(code - 1) * 16;
  }

  bool get_alignment(record& r) noexcept {
    r.alignment_code = extras().byte();
    return r.alignment_code != 0 && r.alignment_code <= 65;
  }

  bool get_stack(record& r) noexcept {
    const std::uint64_t stack = extras().varint();
    r.stack = static_cast<std::uint32_t>(stack);
    return stack != 0 && stack == r.stack;
  }

  std::array<byte_cursor, column_count> columns_;
  std::uint64_t time_;
  std::uint64_t literal_ = 0;
  bool framed_ = false;
};

/// Effects: replaces `records` by the records of the payload. Returns: whether the payload was sound in every detail.
[[nodiscard]] inline bool decode_records(std::span<const std::byte> payload, const chunk_header& header,
                                         std::vector<record>& records) {
  records.clear();
  if (header.count > max_chunk_records || header.count > payload.size()) return false;
  records.reserve(header.count);
  record_decoder decoder(payload, header.first_time);
  std::uint32_t events = 0;
  for (std::uint32_t i = 0; i < header.count; ++i) {
    if (!decoder.next(records)) return false;
    events += is_event(records.back().code) ? 1U : 0U;
  }
  return events == header.events && decoder.finished(header.last_time);
}

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
