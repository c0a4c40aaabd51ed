// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One operation of a compiled trace, in 16 bytes: its kind, its size, and the slot of its block.
#pragma once

#include <cstdint>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// `deallocate_sized`: the free has the size of the block. `end_thread`: later operations of the lane belong to another
/// thread.
enum class replay_kind : std::uint8_t {
  allocate,
  allocate_zeroed,
  reallocate,
  deallocate,
  deallocate_sized,
  end_thread
};

/// Size, alignment and kind of a request in one word.
///
///     63       58 57       52 51                            0
///     |  kind   | | log2 al | |            size             |
class replay_request {
public:
  /// No address space holds a block this large.
  static constexpr std::uint64_t size_limit = std::uint64_t{1} << 48;
  static constexpr std::uint64_t alignment_limit = std::uint64_t{1} << 48;

  constexpr replay_request() = default;
  /// `alignment` 0 is the default of the allocator. Expects: `size < size_limit`; `alignment < alignment_limit`, and 0
  /// or a power of two.
  constexpr replay_request(replay_kind kind, std::uint64_t size, std::uint64_t alignment) noexcept
      : word_(size | std::uint64_t(alignment == 0 ? 0 : log2_of(alignment)) << 52 |
              std::uint64_t(static_cast<std::uint8_t>(kind)) << 58) {}

  [[nodiscard]] constexpr replay_kind kind() const noexcept { return static_cast<replay_kind>(word_ >> 58); }
  [[nodiscard]] constexpr std::uint64_t size() const noexcept { return word_ & ((std::uint64_t{1} << 52) - 1); }
  /// Returns: the alignment in bytes; 1 if the program requested none.
  [[nodiscard]] constexpr std::uint64_t alignment() const noexcept { return std::uint64_t{1} << (word_ >> 52 & 63); }

private:
  std::uint64_t word_ = 0;
};

/// A free has the slot that it empties; a reallocation empties `old_slot` and fills `slot`.
struct replay_op {
  std::uint32_t slot = 0;
  std::uint32_t old_slot = 0;
  replay_request request;
};
static_assert(sizeof(replay_op) == 16, "compiled traces are read and written as arrays of operations");

}  // namespace ashlar::ASHLAR_ABI::detail
