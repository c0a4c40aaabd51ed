// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A piece of memory that carries what must be known of it at its end, so that its start is as aligned as it came.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/poison.hpp>

namespace ashlar::inline ASHLAR_ABI {

///   |         usable          | chunk |
///   begin                     end()     begin + bytes
///
/// Chunks lie on each other in a stack, by `below`.
struct chunk {
  chunk* below = nullptr;
  std::byte* below_top = nullptr;  ///< how far the one below was filled when this came on it
  std::byte* begin = nullptr;
  std::size_t bytes = 0;  ///< in all
  std::size_t alignment = 0;

  /// Returns: how many bytes a chunk takes that can hold a block of `size`, if it is aligned for it.
  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t size) noexcept {
    return align_up(size != 0 ? size : 1, alignof(chunk)) + sizeof(chunk);
  }

  /// Effects: makes a chunk of given memory; its usable bytes are free.
  /// Expects: `p` is aligned for a chunk, `bytes` a multiple of that and larger than a chunk.
  [[nodiscard]] static chunk* build(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    auto* const begin = static_cast<std::byte*>(p);
    auto* const made = new (begin + bytes - sizeof(chunk))
        chunk{.below = nullptr, .below_top = nullptr, .begin = begin, .bytes = bytes, .alignment = alignment};
    made->clear();
    return made;
  }

  [[nodiscard]] std::byte* end() const noexcept { return begin + usable(); }
  [[nodiscard]] std::size_t usable() const noexcept { return bytes - sizeof(chunk); }  ///< bytes

  /// Expects: `at_alignment` is a power of two.
  [[nodiscard]] bool can_hold(std::size_t size, std::size_t at_alignment) const noexcept {
    const std::size_t padding = (0 - address_of(begin)) & (at_alignment - 1);
    return padding < usable() && size <= usable() - padding;
  }

  void clear() const noexcept { mark_free(begin, usable()); }
};

}  // namespace ashlar::inline ASHLAR_ABI
