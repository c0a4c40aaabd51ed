// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The book of live blocks: every block enters once, leaves once, and overlaps no other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The number of live blocks and their bytes.
struct holdings {
  std::size_t blocks = 0;
  std::size_t bytes = 0;

  [[nodiscard]] friend bool operator==(const holdings&, const holdings&) noexcept = default;
  friend std::ostream& operator<<(std::ostream& out, const holdings& held) {
    return out << held.blocks << " blocks, " << held.bytes << " bytes";
  }
};

/// The defect of a block that enters a book.
enum class book_error { none, null_block, misaligned, overlapping };

/// No note beside the size and alignment of a block.
struct no_note {
  [[nodiscard]] friend bool operator==(const no_note&, const no_note&) noexcept = default;
};

/// Keeps a `Note` with each live block. Moving leaves an empty book. Thread safety: none.
/// Complexity: O(log blocks) a call. Invariant: `live()` is the sum over `blocks()`.
template <class Note = no_note>
class live_block_book {
public:
  struct entry {
    std::size_t bytes = 0;
    std::size_t alignment = 0;
    ASHLAR_NO_UNIQUE_ADDRESS Note note = {};
    [[nodiscard]] friend bool operator==(const entry&, const entry&) noexcept = default;
  };

  live_block_book() = default;
  live_block_book(live_block_book&& other) noexcept
      : live_(std::move(other.live_)), held_(std::exchange(other.held_, {})), peak_(std::exchange(other.peak_, {})) {
    other.live_.clear();
  }
  live_block_book& operator=(live_block_book&&) = delete;
  ~live_block_book() = default;

  /// Effects: enters a block, defective or not. Returns: its first defect.
  book_error add(const void* p, const entry& e) {
    const book_error wrong = wrong_with(p, e);
    const auto [at, is_new] = live_.insert_or_assign(address_of(p), e);
    if (is_new) ++held_.blocks;
    held_.bytes += at->second.bytes;
    peak_ = {std::max(peak_.blocks, held_.blocks), std::max(peak_.bytes, held_.bytes)};
    return wrong;
  }

  /// Returns: the block as it was added, or nothing if none is live at `p`.
  std::optional<entry> remove(const void* p) {
    const auto found = live_.find(address_of(p));
    if (found == live_.end()) return std::nullopt;
    const entry was = found->second;
    held_ = {held_.blocks - 1, held_.bytes - was.bytes};
    live_.erase(found);
    return was;
  }

  /// Returns: whether a block of `bytes` at `at` would share a byte, or its address, with a live block.
  [[nodiscard]] bool overlaps(std::uintptr_t at, std::size_t bytes) const {
    const auto above = live_.lower_bound(at);
    if (above != live_.end() && above->first - at < std::max(bytes, std::size_t{1})) return true;
    return above != live_.begin() && at - std::prev(above)->first < std::prev(above)->second.bytes;
  }

  [[nodiscard]] holdings live() const noexcept { return held_; }
  [[nodiscard]] holdings peak() const noexcept { return peak_; }
  /// Returns: the live blocks by address.
  [[nodiscard]] const std::map<std::uintptr_t, entry>& blocks() const noexcept { return live_; }

private:
  [[nodiscard]] book_error wrong_with(const void* p, const entry& e) const {
    if (p == nullptr) return book_error::null_block;
    if (!is_aligned(p, e.alignment)) return book_error::misaligned;
    return overlaps(address_of(p), e.bytes) ? book_error::overlapping : book_error::none;
  }

  std::map<std::uintptr_t, entry> live_;
  holdings held_;
  holdings peak_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
