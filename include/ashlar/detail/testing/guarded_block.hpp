// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block between two guards, filled so that reads of unwritten data and writes to freed data show.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace ashlar::ASHLAR_ABI::detail {

///     memory -> [ guard, as wide as the alignment ][ data: bytes ][ guard ]
///
/// Contents: fresh data 0xCD, freed data 0xDD, guards 0xFB. Under AddressSanitizer and Valgrind, guards and freed data
/// are out of bounds as well, so that the tool names the line that touches them.
struct guarded_block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t alignment = 1;

  static constexpr std::size_t guard_bytes = 16;
  static constexpr int fresh = 0xCD;
  static constexpr int freed = 0xDD;
  static constexpr int guard = 0xFB;

  /// Throws: `std::bad_alloc`. Expects: `alignment` is a power of two.
  [[nodiscard]] static guarded_block make(std::size_t bytes, std::size_t alignment) {
    if (bytes > max_block_bytes - 2 * std::max(guard_bytes, alignment)) throw_bad_alloc(bytes, alignment);
    guarded_block made{nullptr, bytes, alignment};
    made.data = static_cast<std::byte*>(new_delete_resource().allocate(made.whole_bytes(), made.front_bytes()));
    std::memset(made.data, guard, made.whole_bytes());
    made.data += made.front_bytes();
    std::memset(made.data, fresh, bytes);
    made.fence();
    return made;
  }

  /// Effects: closes the block: every later access is an error.
  void retire() const noexcept {
    std::memset(data, freed, bytes);
    mark_free(data, bytes);
  }

  /// Effects: frees the memory.
  void end() const noexcept {
    mark_readable(memory(), whole_bytes());
    new_delete_resource().deallocate(memory(), whole_bytes(), front_bytes());
  }

  /// Returns: whether the bytes beside the data are unchanged.
  [[nodiscard]] bool has_intact_guards() const noexcept {
    unfence();
    const bool intact = is_filled(memory(), front_bytes(), guard) && is_filled(data + bytes, guard_bytes, guard);
    fence();
    return intact;
  }

  /// Returns: whether the data is unchanged since `retire`.
  [[nodiscard]] bool is_untouched() const noexcept {
    mark_readable(data, bytes);
    const bool untouched = is_filled(data, bytes, freed);
    mark_free(data, bytes);
    return untouched;
  }

private:
  [[nodiscard]] std::size_t front_bytes() const noexcept { return std::max(guard_bytes, alignment); }
  [[nodiscard]] std::size_t whole_bytes() const noexcept { return front_bytes() + bytes + guard_bytes; }
  [[nodiscard]] std::byte* memory() const noexcept { return data - front_bytes(); }

  void fence() const noexcept {
    mark_free(memory(), front_bytes());
    mark_free(data + bytes, guard_bytes);
  }
  void unfence() const noexcept {
    mark_readable(memory(), front_bytes());
    mark_readable(data + bytes, guard_bytes);
  }

  [[nodiscard]] static bool is_filled(const std::byte* p, std::size_t bytes, int value) noexcept {
    return std::all_of(p, p + bytes, [value](std::byte b) { return b == static_cast<std::byte>(value); });
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
