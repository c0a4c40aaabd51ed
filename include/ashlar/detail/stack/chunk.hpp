// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chunk of memory with its header at the end, so that its start keeps the alignment of the allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

///       |         usable          | chunk |
///       begin                     end()     begin + bytes
///
/// Chunks form a stack, linked by `below`. Blocks of this chunk lie in front of this header, and foreign memory lies
/// after it. So from level `checked` on the header is sealed. Code that changes it seals it again; code that follows
/// its link or frees its memory verifies it first.
struct chunk {
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<0> front;  ///< one at each end, to tell the side of a write
  chunk* below = nullptr;
  std::byte* below_top = nullptr;  ///< top of the chunk below when this one was put on it
  std::byte* begin = nullptr;
  std::size_t bytes = 0;  ///< header included
  std::size_t alignment = 0;
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<1> back;

  /// Returns: the size of a chunk that can hold a block of `size`, if it is aligned for the block.
  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t size) noexcept {
    return align_up(size != 0 ? size : 1, alignof(chunk)) + sizeof(chunk);
  }

  /// Effects: makes a chunk of the memory at `p`; its usable bytes are free. Expects: `p` is aligned for a chunk,
  /// `bytes` a multiple of that and larger than a chunk.
  [[nodiscard]] static chunk* build(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    auto* const begin = static_cast<std::byte*>(p);
    auto* const made = new (begin + bytes - sizeof(chunk)) chunk;
    made->begin = begin;
    made->bytes = bytes;
    made->alignment = alignment;
    made->set_seal();
    made->clear();
    return made;
  }

  /// Effects: puts it on another chunk, which is filled up to `top`.
  void put_on(chunk* other, std::byte* top) noexcept {
    below = other;
    below_top = top;
    set_seal();
  }

  [[nodiscard]] std::byte* end() const noexcept { return begin + usable(); }
  [[nodiscard]] std::size_t usable() const noexcept { return bytes - sizeof(chunk); }  ///< bytes

  /// Expects: `at_alignment` is a power of two.
  [[nodiscard]] bool can_hold(std::size_t size, std::size_t at_alignment) const noexcept {
    const std::size_t padding = (0 - address_of(begin)) & (at_alignment - 1);
    return padding < usable() && size <= usable() - padding;
  }

  void clear() const noexcept { mark_free(begin, usable()); }

  /// Returns: whether the header still has its seal; always true at level `fast`.
  [[nodiscard]] bool is_sound() const noexcept { return front.is(right_front()) && back.is(right_back()); }

  /// Effects: reports a header that was overwritten. `arena` is the owner of the chunk.
  void expect_sound(const void* arena) const noexcept {
    if (ASHLAR_UNLIKELY(!is_sound())) report_damage(arena);
  }

private:
  void set_seal() noexcept {
    front.set(right_front());
    back.set(right_back());
  }

  [[nodiscard]] std::uintptr_t right_front() const noexcept { return seal_of(this); }
  [[nodiscard]] std::uintptr_t right_back() const noexcept {
    return seal_of(this, below, below_top, begin, bytes, alignment);
  }

  [[noreturn]] ASHLAR_COLD void report_damage(const void* arena) const noexcept {
    const bool is_from_behind = front.is(right_front());
    report(is_from_behind ? fault::underflow : fault::overflow,
           is_from_behind ? "bytes before the first block of a chunk were written to, over the chunk's header"
                          : "bytes past the end of the last block of a chunk were written to, over the chunk's header",
           this, arena);
  }
};

static_assert(sizeof(chunk) == (5 + 2 * if_checked<chunk>::is_there) * sizeof(void*));

}  // namespace ashlar::ASHLAR_ABI::detail
