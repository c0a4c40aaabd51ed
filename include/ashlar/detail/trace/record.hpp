// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One record of a stream in a file: like an event, but with addresses instead of object ids.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/event.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// The code of an `operation` in a file, or one of the two that exist only there. Operations up to `thread_end` have
/// their own number.
enum class opcode : std::uint8_t {
  realloc_begin = 11,  ///< The old block of the `realloc_` that follows in this stream goes back now.
  thread_switch,       ///< Later records of this stream are of thread `record::stack`.
  span_begin,
  span_end,
  thread_name,
  count
};

/// The codes that exist only in files, between the codes of operations.
inline constexpr std::uint8_t file_codes = 2;

[[nodiscard]] constexpr opcode code_of(trace::operation op) noexcept {
  const auto number = static_cast<std::uint8_t>(op);
  return static_cast<opcode>(op <= trace::operation::thread_end ? number : number + file_codes);
}

[[nodiscard]] constexpr bool is_event(opcode c) noexcept {
  return c < opcode::count && c != opcode::realloc_begin && c != opcode::thread_switch;
}

/// Expects: `is_event(c)`.
[[nodiscard]] constexpr trace::operation operation_of(opcode c) noexcept {
  const auto number = static_cast<std::uint8_t>(c);
  return static_cast<trace::operation>(c < opcode::realloc_begin ? number : number - file_codes);
}

/// The time is taken before a call that releases, and after a call that allocates. Merged by time, an address is never
/// handed out again before its release.
struct record {
  std::uint64_t time = 0;           ///< Clock ticks; in a file, since the trace's start.
  std::uint64_t address = 0;        ///< The block allocated or released; 0 = the call failed, or an unknown block.
  std::uint64_t size = 0;           ///< As in `event`.
  std::uint32_t stack = 0;          ///< Call-stack id, or the thread of a thread_switch.
  opcode code = opcode::count;      ///<
  std::uint8_t alignment_code = 0;  ///< 0 = default, otherwise log2 of the alignment + 1.
  std::uint16_t reserved = 0;

  friend constexpr bool operator==(const record&, const record&) = default;
};

static_assert(sizeof(record) == 32, "a recorder's buffer is counted in 32-byte records");

/// Returns: whether the address of such a record belongs to a new block, not of a released one.
[[nodiscard]] constexpr bool is_acquisition(opcode c) noexcept { return c <= code_of(trace::operation::new_array_); }

/// Returns: whether records of this code carry an address.
[[nodiscard]] constexpr bool has_address(opcode c) noexcept {
  return c <= code_of(trace::operation::delete_array_) || c == opcode::realloc_begin;
}

/// Returns: the code of an alignment; one that is not a power of two is rounded up, as allocators do.
[[nodiscard]] constexpr std::uint8_t alignment_code_of(std::uint64_t alignment) noexcept {
  if (alignment == 0) return 0;
  return static_cast<std::uint8_t>(std::bit_width(alignment - 1) + 1);
}

/// Returns: the alignment of a code; 2^63 for 2^64, which does not fit.
[[nodiscard]] constexpr std::uint64_t alignment_of(std::uint8_t alignment_code) noexcept {
  if (alignment_code == 0) return 0;
  return std::uint64_t{1} << (alignment_code > 64 ? 63 : alignment_code - 1);
}

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
