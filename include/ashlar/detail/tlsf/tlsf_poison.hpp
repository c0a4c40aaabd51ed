// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Poison in the free blocks of a tlsf_resource at level hardened, and the record of the bytes without it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/tlsf/tlsf_block.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Poison with a record. Every byte of a free block is metadata, poison, or one of its bare bytes, which form one
/// range. Bare bytes were never used, or were the middle of a block too large to be poisoned whole. When two free
/// blocks merge, all bytes from the first bare one to the last are bare.
///
///       | header | next | previous | record | poison ... | bare ... | poison ... | stride | header of the next
///                                  begin and end of the bare bytes, sealed; only from `least_recorded` bytes on
///
/// An object holds the bare bytes of a block that is being merged. Complexity: O(bytes poisoned or verified); a free
/// poisons at most `most_at_start + most_at_end` bytes. Where none is kept it has no bytes and no code. Thread safety:
/// none.
template <bool IsKept>
class basic_tlsf_poison {
public:
  static constexpr std::size_t most_at_start = std::size_t{64} * 1024;  ///< bytes of a freed block that are poisoned
  static constexpr std::size_t most_at_end = 4096;                      ///< the same, of a larger one
  static constexpr std::size_t least_recorded = 128;  ///< the smallest stride of a block with a record
  static constexpr std::size_t links_bytes = 2 * sizeof(void*);
  static constexpr std::size_t record_bytes = 3 * sizeof(void*);
  static constexpr std::size_t start_bytes = IsKept ? links_bytes + record_bytes : 0;  ///< of a free block: no poison

  basic_tlsf_poison() = default;

  /// Returns: the state of a region that was never used: no poison.
  [[nodiscard]] static basic_tlsf_poison of_region(const tlsf_block& block, std::size_t stride) noexcept {
    return basic_tlsf_poison(begin_of(block), end_of(block, stride));
  }

  /// Effects: poisons freed bytes. A block that is too large keeps the content of its middle.
  [[nodiscard]] static basic_tlsf_poison of_freed(std::byte* begin, std::byte* end) noexcept {
    const auto bytes = static_cast<std::size_t>(end - begin);
    if (bytes <= most_at_start + most_at_end) {
      poison(begin, end);
      return {};
    }
    poison(begin, begin + most_at_start);
    poison(end - most_at_end, end);
    return basic_tlsf_poison(begin + most_at_start, end - most_at_end);
  }

  /// Returns: whether the record of a free block is unchanged.
  [[nodiscard]] static bool is_record_sound(const tlsf_block& block, std::size_t stride) noexcept {
    return !IsKept || !is_recorded(stride) || is_sound(block, read(block));
  }

  /// Returns: whether the record and all poison of a free block are unchanged.
  [[nodiscard]] static bool is_intact(const tlsf_block& block, std::size_t stride) noexcept {
    if (!IsKept || !is_record_sound(block, stride)) return !IsKept;
    const poisoned_parts parts = parts_of(block, stride, begin_of(block), end_of(block, stride));
    return parts.front.first_changed() == nullptr && parts.back.first_changed() == nullptr;
  }

  /// Effects: reports a free block that was written to. Expects: its record is sound.
  static void verify(const tlsf_block& block, std::size_t stride, const void* resource) noexcept {
    verify_part(block, stride, begin_of(block), end_of(block, stride), resource);
  }

  /// The same for a block too small for a record, which a block that merges with it gives one, over the poison.
  static void verify_small(const tlsf_block& block, std::size_t stride, const void* resource) noexcept {
    if (!is_recorded(stride)) verify(block, stride, resource);
  }

  /// The same for its bytes from `begin` up to `end`, without metadata.
  static void verify_part(const tlsf_block& block, std::size_t stride, std::byte* begin, std::byte* end,
                          const void* resource) noexcept {
    if constexpr (!IsKept) return;
    const poisoned_parts parts = parts_of(block, stride, begin, end);
    const std::size_t held = stride - tlsf_block::header_bytes;
    parts.front.verify(held, resource);
    parts.back.verify(held, resource);
  }

  /// Effects: poisons the header of a block and the footer of the free one in front, which merge.
  static void poison_seam(const tlsf_block& block) noexcept {
    poison(block.data() - tlsf_block::header_bytes - tlsf_block::footer_bytes, block.data());
  }

  /// Effects: poisons the header and the links of a free block that merges with the one in front.
  static void poison_start(const tlsf_block& block) noexcept {
    poison(block.data() - tlsf_block::header_bytes, begin_of(block));
  }

  /// Effects: adds the bare bytes of a free block. Its record has become poison.
  void add_block(const tlsf_block& block, std::size_t stride) noexcept {
    if (!IsKept || !is_recorded(stride)) return;
    const record of = read(block);
    add(basic_tlsf_poison(of.begin, of.end));
    poison(begin_of(block), begin_of(block) + record_bytes);
  }

  /// Effects: adds bare bytes, and the bytes between them.
  void add(const basic_tlsf_poison& other) noexcept {
    if (!bare_ || other.bare_->is_empty()) return;
    if (bare_->is_empty()) *bare_ = *other.bare_;
    else *bare_ = {std::min(bare_->begin, other.bare_->begin), std::max(bare_->end, other.bare_->end)};
  }

  /// Effects: writes the bare bytes to the record of a free block; a block too small for a record has them poisoned.
  void keep_in(const tlsf_block& block, std::size_t stride) const noexcept {
    if (!bare_) return;
    std::byte* const begin = begin_of(block);
    if (!is_recorded(stride)) return bare_->within(begin, end_of(block, stride)).poison();
    const range kept = bare_->within(begin + record_bytes, end_of(block, stride));
    write(block, {kept.begin, kept.end, right_seal(block, kept)});
  }

private:
  using range = poison_range;

  struct record {
    std::byte* begin;
    std::byte* end;
    std::uintptr_t seal;
  };

  struct poisoned_parts {
    range front, back;
  };

  static_assert(sizeof(record) == record_bytes);
  static_assert(tlsf_block::header_bytes + start_bytes + tlsf_block::footer_bytes <= least_recorded);
  static_assert(!IsKept || tlsf_block::least <= start_bytes + tlsf_block::granule,
                "checked with the start of the remainder if no block is split off");

  basic_tlsf_poison([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::byte* end) noexcept {
    if (bare_) *bare_ = {begin, end};
  }

  [[nodiscard]] static constexpr bool is_recorded(std::size_t stride) noexcept { return stride >= least_recorded; }

  [[nodiscard]] static std::byte* begin_of(const tlsf_block& block) noexcept { return block.data() + links_bytes; }
  [[nodiscard]] static std::byte* end_of(const tlsf_block& block, std::size_t stride) noexcept {
    return block.data() + stride - tlsf_block::header_bytes - tlsf_block::footer_bytes;
  }

  // The poisoned parts between `begin` and `end`: in front of the bare bytes, and after them.
  [[nodiscard]] static poisoned_parts parts_of(const tlsf_block& block, std::size_t stride, std::byte* begin,
                                               std::byte* end) noexcept {
    const range asked = {begin, end};
    const range poisoned =
        asked.within(begin_of(block) + (is_recorded(stride) ? record_bytes : 0), end_of(block, stride));
    if (!is_recorded(stride)) return {poisoned, {}};
    const record bare = read(block);
    if (bare.begin == bare.end) return {poisoned, {}};
    return {poisoned.within(poisoned.begin, bare.begin), poisoned.within(bare.end, poisoned.end)};
  }

  static void poison(std::byte* begin, std::byte* end) noexcept {
    if constexpr (IsKept) range{begin, end}.poison();
  }

  [[nodiscard]] static std::uintptr_t right_seal(const tlsf_block& block, const range& bare) noexcept {
    return seal_of(block.data(), bare.begin, bare.end);
  }
  [[nodiscard]] static bool is_sound(const tlsf_block& block, const record& read) noexcept {
    return read.seal == right_seal(block, {read.begin, read.end});
  }

  [[nodiscard]] static record read(const tlsf_block& block) noexcept {
    record value;
    mark_readable(begin_of(block), record_bytes);
    std::memcpy(&value, begin_of(block), record_bytes);
    mark_free(begin_of(block), record_bytes);
    return value;
  }

  static void write(const tlsf_block& block, const record& value) noexcept {
    mark_readable(begin_of(block), record_bytes);
    std::memcpy(begin_of(block), &value, record_bytes);
    mark_free(begin_of(block), record_bytes);
  }

  ASHLAR_NO_UNIQUE_ADDRESS part_if<IsKept, range> bare_;
};

using tlsf_poison = basic_tlsf_poison<keeps_canaries>;

}  // namespace ashlar::ASHLAR_ABI::detail
