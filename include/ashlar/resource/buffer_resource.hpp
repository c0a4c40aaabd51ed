// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bump resource inside a buffer that the caller owns; only the block on top can be reused one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI {

/// Bump allocation in a buffer; a full buffer has no memory left, since there is no upstream.
///
///   | block | pad | block | block |      free      |
///   begin_                        top_             end_
///
/// Freeing the block on top makes its bytes available at once, without its padding; other blocks wait for `release()`.
/// Invariant: `begin_ <= top_ <= end_`. Complexity: O(1). Thread safety: none.
class buffer_resource {
public:
  /// Lifetime: the buffer outlives the resource and every block.
  explicit buffer_resource(std::span<std::byte> buffer) noexcept
      : begin_(buffer.data()), top_(begin_), end_(begin_ + buffer.size()) {
    detail::mark_free(begin_, buffer.size());
  }

  buffer_resource(const buffer_resource&) = delete;  // blocks belong to one instance
  buffer_resource& operator=(const buffer_resource&) = delete;
  ~buffer_resource() { detail::mark_live(begin_, capacity()); }

  /// Throws: `std::bad_alloc` if the free part of the buffer is too small. Expects: `alignment` is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return ashlar::allocate_or_throw(*this, bytes, alignment);
  }

  /// Returns: a block, or null. A block of 0 bytes takes one byte, so that its address is unique.
  /// Expects: `alignment` is a power of two.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const std::size_t padding = (0 - address_of(top_)) & (alignment - 1);
    const std::size_t rest = capacity() - used();
    const std::size_t taken = occupied(bytes);
    if (padding > rest || taken > rest - padding) return nullptr;
    std::byte* const p = top_ + padding;
    top_ = p + taken;
    detail::mark_live(p, bytes);
    return p;
  }

  /// Expects: `p` was allocated here with the same `bytes`.
  void deallocate(void* p, std::size_t bytes, std::size_t /*alignment*/) noexcept {
    ASHLAR_EXPECTS(owns(p), "freed a pointer that is not of this buffer");
    auto* const block = static_cast<std::byte*>(p);
    if (block + occupied(bytes) == top_) top_ = block;
    detail::mark_free(block, bytes);
  }

  [[nodiscard]] bool owns(const void* p) const noexcept { return block{begin_, capacity()}.contains(p); }

  /// Effects: takes all blocks back.
  void release() noexcept {
    top_ = begin_;
    detail::mark_free(begin_, capacity());
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return static_cast<std::size_t>(end_ - begin_); }  ///< bytes
  [[nodiscard]] std::size_t used() const noexcept { return static_cast<std::size_t>(top_ - begin_); }      ///< bytes
  [[nodiscard]] bool invariant() const noexcept { return begin_ <= top_ && top_ <= end_; }

  [[nodiscard]] friend bool operator==(const buffer_resource& a, const buffer_resource& b) noexcept { return &a == &b; }

private:
  [[nodiscard]] static std::size_t occupied(std::size_t bytes) noexcept { return bytes != 0 ? bytes : 1; }

  std::byte* begin_;
  std::byte* top_;
  std::byte* end_;
};

static_assert(try_resource<buffer_resource> && owning_resource<buffer_resource>);
static_assert(releasable_resource<buffer_resource>);

}  // namespace ashlar::ASHLAR_ABI
