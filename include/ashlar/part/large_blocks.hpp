// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks that are too large for a pool: each has a note behind it, by which all of them can be given back at once.
#pragma once

#include <array>
#include <cstddef>
#include <new>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/part/list.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// What lies behind a large block.
struct large_block : list_node<large_block> {
  void* start;
  std::size_t bytes;      ///< as they were asked for
  std::size_t alignment;  ///< the same
};

/// A list of them, in the order in which they were made. The owner asks its upstream for `extent`, with the note's
/// place included, and gives the same back.
///
///   block of the upstream   | the caller's bytes | rounding | note |
///
/// Thread safety: none. All operations are O(1) where nothing else is said.
class large_blocks {
public:
  /// Size and alignment of what is asked of the upstream.
  struct extent {
    std::size_t bytes;
    std::size_t alignment;
  };

  /// Returns: what a request comes to. Expects: the request is valid (`is_valid_request`), so nothing overflows.
  [[nodiscard]] static constexpr extent extent_of(std::size_t bytes, std::size_t alignment) noexcept {
    return {note_offset(bytes) + sizeof(large_block),
            alignment < alignof(large_block) ? alignof(large_block) : alignment};
  }

  /// Effects: takes a block of `extent_of(bytes, alignment)` into the list. Returns: the caller's part of it.
  void* add(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    void* const place = static_cast<std::byte*>(p) + note_offset(bytes);
    blocks_.push_back(::new (place) large_block{{}, p, bytes, alignment});
    ++count_, bytes_ += bytes;
    return p;
  }

  /// Effects: takes a block out of the list. Expects: it was added with the same size.
  void remove(void* p, std::size_t bytes) noexcept {
    remove(static_cast<large_block*>(static_cast<void*>(static_cast<std::byte*>(p) + note_offset(bytes))));
  }

  /// Effects: as `remove`. Returns: the first block, or what is nothing where the list is empty.
  [[nodiscard]] large_block remove_first() noexcept {
    if (blocks_.empty()) return {{}, nullptr, 0, 1};
    const large_block first = *blocks_.front();
    remove(blocks_.front());
    return first;
  }

  /// Returns: the note of the block that `p` points into, its start included, or null. Complexity: O(blocks).
  [[nodiscard]] const large_block* find(const void* p) const noexcept {
    for (const large_block* each = blocks_.front(); each != nullptr; each = each->next)
      if (address_of(p) - address_of(each->start) < each->bytes || p == each->start) return each;
    return nullptr;
  }

  /// Effects: reports a free that is none of a live block with this size and alignment. Complexity: O(blocks).
  void check(const void* p, std::size_t bytes, std::size_t alignment, const void* resource) const noexcept {
    const large_block* known = blocks_.front();
    while (known != nullptr && known->start != p) known = known->next;
    if (known == nullptr)
      report({.kind = fault::invalid_free,
              .what = "freed a large block that is not live here",
              .pointer = p,
              .resource = resource,
              .size = bytes});
    if (known->bytes != bytes || known->alignment != alignment)
      report({.kind = fault::size_mismatch,
              .what = "freed a large block with another size or alignment than it was allocated with",
              .pointer = p,
              .resource = resource,
              .size = known->bytes,
              .expected = known->bytes,
              .got = bytes});
  }

  /// Effects: reports the blocks as a leak, if there are any.
  ASHLAR_COLD void report_leaks(const void* resource) const noexcept {
    if (count_ == 0) return;
    const std::array<const void*, 1> first = {blocks_.front()->start};
    report_leak({.resource = resource,
                 .count = count_,
                 .block_bytes = blocks_.front()->bytes,
                 .bytes = bytes_,
                 .first = first});
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Returns: the bytes of all blocks, as they were asked for.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Complexity: O(blocks).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t blocks = 0;
    std::size_t bytes = 0;
    for (const large_block* each = blocks_.front(); each != nullptr; each = each->next) ++blocks, bytes += each->bytes;
    return blocks_.invariant() && blocks == count_ && bytes == bytes_;
  }

private:
  [[nodiscard]] static constexpr std::size_t note_offset(std::size_t bytes) noexcept {
    return align_up(bytes, alignof(large_block));
  }

  void remove(large_block* note) noexcept {
    blocks_.erase(note);
    --count_, bytes_ -= note->bytes;
  }

  list<large_block> blocks_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace ashlar::inline ASHLAR_ABI
