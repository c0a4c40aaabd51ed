// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runs of a slab, as marks on its cells, at the levels that check the length of a freed run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bitmap.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// One bit per cell: whether it follows another cell of the same run. A run lies in one word of the slab's bitmap.
///
///   cells | a | run of 4      | b | run of 2 |        bits | 0 | 0 1 1 1 | 0 | 0 1 |
///
/// The slab's owner provides memory for the bits at the slab's first run; a slab without runs has none. If no memory
/// is available, the slab's runs stay unknown.
class run_marks {
public:
  /// Returns: whether `use` must be called before the first `mark`.
  [[nodiscard]] bool needs_memory() const noexcept { return bits_ == nullptr; }
  /// Returns: whether runs are unmarked for lack of memory.
  [[nodiscard]] bool is_unknown() const noexcept { return bits_ == &unknown_; }
  /// Returns: the memory given to `use`, or null.
  [[nodiscard]] std::uint64_t* memory() const noexcept { return is_unknown() ? nullptr : bits_; }

  /// Effects: stores the bits at `memory`, one word for each of the `words` words of the slab's bitmap; null: no
  /// memory.
  void use(void* memory, std::size_t words) noexcept {
    bits_ = memory == nullptr ? &unknown_ : static_cast<std::uint64_t*>(memory);
    if (memory != nullptr) std::memset(memory, 0, words * sizeof(*bits_));
  }

  /// Effects: marks the cells of `mask` in a word as one run. Expects: neighbouring cells, in no run.
  void mark(std::size_t word, std::uint64_t mask) noexcept {
    if (memory() != nullptr) bits_[word] |= without_first(mask);
  }

  /// Effects: removes the marks of the run of the cells in `mask`.
  void unmark(std::size_t word, std::uint64_t mask) noexcept {
    if (memory() != nullptr) bits_[word] &= ~mask;
  }

  /// Returns: whether a cell follows another one of its run.
  [[nodiscard]] bool is_inside(std::uint32_t cell) const noexcept {
    return memory() != nullptr && (bits_[cell / 64] & bit_of(cell)) != 0;
  }

  /// Returns: the length of the run from `cell` on; 1 if it is not a run, or is unknown.
  [[nodiscard]] std::size_t length_at(std::uint32_t cell) const noexcept {
    if (memory() == nullptr) return 1;
    return 1 + run_from(bits_[cell / 64], cell % 64 + 1);
  }

private:
  static inline std::uint64_t unknown_ = 0;  // its address marks this state, at no extra bytes in a slab's header

  std::uint64_t* bits_ = nullptr;
};

/// The counterpart at `fast`: no bytes and no code.
struct no_run_marks {
  [[nodiscard]] static bool needs_memory() noexcept { return false; }
  [[nodiscard]] static bool is_unknown() noexcept { return true; }
  [[nodiscard]] static std::uint64_t* memory() noexcept { return nullptr; }
  static void use(void*, std::size_t) noexcept {}
  static void mark(std::size_t, std::uint64_t) noexcept {}
  static void unmark(std::size_t, std::uint64_t) noexcept {}
  [[nodiscard]] static bool is_inside(std::uint32_t) noexcept { return false; }
  [[nodiscard]] static std::size_t length_at(std::uint32_t) noexcept { return 1; }
};

using run_marks_if_checked = std::conditional_t<checking_level >= checking::checked, run_marks, no_run_marks>;

}  // namespace ashlar::ASHLAR_ABI::detail
