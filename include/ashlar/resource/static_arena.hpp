// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory laid out in advance: one block, with every buffer at its planned offset.
//
//   base                                      base + height
//   +-------+------------+---+---------------+
//   | 0, 2  |     1      |   |       3       |     buffers 0 and 2 share bytes: they are never live together
//   +-------+------------+---+---------------+
//
// With checks on and lifetimes given, the arena follows the clock of the plan. `get` of a dead buffer is misuse, dead
// bytes are overwritten, and memory tools learn which bytes are free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI {

/// Hands out addresses in memory that the caller provides, or in one block of a resource. `Layout` has `offsets`,
/// indexed by the position of the buffer in the problem, and `height`, as in `plan::layout`, `plan::static_layout` and
/// the tables of `ashlar plan --header`. Lifetime: the layout outlives the arena. Thread safety: many threads may call
/// `get` at once; `advance` runs alone.
template <class Layout>
class static_arena {
public:
  /// Expects: `bytes` bytes at `base` hold the layout; `base` has the largest planned alignment.
  static_arena(void* base, std::size_t bytes, const Layout& layout) noexcept
      : base_(static_cast<std::byte*>(base)), layout_(&layout) {
    ASHLAR_EXPECTS(layout.height <= bytes, "gave a static_arena less memory than its layout needs");
    static_cast<void>(bytes);
  }

  /// As above, for any buffer.
  static_arena(std::span<std::byte> buffer, const Layout& layout) noexcept
      : static_arena(buffer.data(), buffer.size(), layout) {}

  /// As above; with checks on, `get` also checks lifetimes. Expects: `lives` are the buffers of the planned problem.
  static_arena(void* base, std::size_t bytes, const Layout& layout, std::span<const plan::buffer> lives) noexcept
      : static_arena(base, bytes, layout) {
    follow(lives);
  }

  /// Effects: takes one block of `upstream`, which the destructor gives back; checks lifetimes as above if given.
  /// Throws: `std::bad_alloc`. Expects: `upstream` outlives the arena; `alignment` is the largest planned one.
  template <resource Upstream>
  static_arena(Upstream& upstream, const Layout& layout, std::size_t alignment = alignof(std::max_align_t),
               std::span<const plan::buffer> lives = {})
      : base_(static_cast<std::byte*>(upstream.allocate(static_cast<std::size_t>(layout.height), alignment))),
        layout_(&layout), upstream_(&upstream), alignment_(alignment),
        give_back_([](void* to, void* p, std::size_t bytes, std::size_t aligned) noexcept {
          static_cast<Upstream*>(to)->deallocate(p, bytes, aligned);
        }) {
    if (!lives.empty()) follow(lives);
  }

  static_arena(const static_arena&) = delete;
  static_arena& operator=(const static_arena&) = delete;
  ~static_arena() {
    if (!lives_.empty()) detail::mark_live(base_, capacity());
    if (give_back_ != nullptr) give_back_(upstream_, base_, capacity(), alignment_);
  }

  /// Returns: the address of a buffer, by its position in the problem: one load and one addition, or the addition
  /// alone if layout and position are constants. Expects: the buffer is live now, if lifetimes were given.
  [[nodiscard]] ASHLAR_INLINE std::byte* get(std::size_t position) const noexcept {
    ASHLAR_EXPECTS(position < layout_->offsets.size(), "asked a static_arena for a buffer that was not planned");
    ASHLAR_EXPECTS(lives_.empty() || live(position, now_), "asked a static_arena for a buffer that is not live");
    return base_ + static_cast<std::size_t>(layout_->offsets[position]);
  }

  /// As above, as storage for `T`; no object is constructed.
  template <class T>
  [[nodiscard]] ASHLAR_INLINE T* get(std::size_t position) const noexcept {
    std::byte* const p = get(position);
    ASHLAR_EXPECTS(is_aligned(p, alignof(T)), "asked a static_arena for a type with a larger alignment than planned");
    return static_cast<T*>(static_cast<void*>(p));
  }

  /// Effects: sets the clock of the plan. With checks on and lifetimes given, overwrites the bytes of dead buffers and
  /// marks them as free, and marks the bytes of live buffers as live.
  /// Complexity: constant without checks, else quadratic at worst.
  void advance([[maybe_unused]] std::uint64_t moment) noexcept {
    if constexpr (checking_level >= checking::checked) {
      for (std::size_t i = 0; i < lives_.size(); ++i)
        if (live(i, now_) && !live(i, moment)) poison(i, moment);
      // After the loop above, since new buffers may take the bytes of dead ones, and aliases and gaps share bytes.
      for (std::size_t i = 0; i < lives_.size(); ++i)
        if (live(i, moment)) detail::mark_live(address(i), bytes(i));
      now_ = moment;
    }
  }

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return static_cast<std::size_t>(layout_->height); }
  [[nodiscard]] bool owns(const void* p) const noexcept {
    return address_of(p) >= address_of(base_) && address_of(p) - address_of(base_) < capacity();
  }

  /// Fill value of a dead buffer's bytes.
  static constexpr unsigned char dead_byte = 0xDB;

private:
  void follow([[maybe_unused]] std::span<const plan::buffer> lives) noexcept {
    ASHLAR_EXPECTS(lives.size() == layout_->offsets.size(), "gave a static_arena the lifetimes of another problem");
    for ([[maybe_unused]] const plan::buffer& b : lives)
      ASHLAR_EXPECTS(is_aligned(base_, static_cast<std::size_t>(b.alignment)), "misaligned the base of a static_arena");
    if constexpr (checking_level >= checking::checked) {
      lives_ = lives;
      detail::mark_free(base_, capacity());
      advance(0);
    }
  }

  void poison(std::size_t i, std::uint64_t moment) noexcept {
    bool shared = false;
    for (std::size_t j = 0; j < lives_.size(); ++j)
      shared = shared || (j != i && live(j, now_) && live(j, moment) && address(j) < address(i) + bytes(i) &&
                          address(i) < address(j) + bytes(j));
    if (!shared) std::memset(address(i), dead_byte, bytes(i));
    detail::mark_free(address(i), bytes(i));
  }

  [[nodiscard]] bool live(std::size_t i, std::uint64_t moment) const noexcept {
    return lives_[i].birth <= moment && moment < lives_[i].death;
  }
  [[nodiscard]] std::byte* address(std::size_t i) const noexcept {
    return base_ + static_cast<std::size_t>(layout_->offsets[i]);
  }
  [[nodiscard]] std::size_t bytes(std::size_t i) const noexcept { return static_cast<std::size_t>(lives_[i].size); }

  std::byte* base_;
  const Layout* layout_;
  std::span<const plan::buffer> lives_;  // empty: lifetimes are not checked
  std::uint64_t now_ = 0;
  void* upstream_ = nullptr;  // null if the caller provided the memory
  std::size_t alignment_ = 1;
  void (*give_back_)(void*, void*, std::size_t, std::size_t) noexcept = nullptr;
};

}  // namespace ashlar::ASHLAR_ABI
