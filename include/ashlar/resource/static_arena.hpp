// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory laid out in advance: one block, and every buffer at its planned offset in it.
//
//   base                                      base + height
//   +-------+------------+---+---------------+
//   | 0, 2  |     1      |   |       3       |     buffers 0 and 2 share bytes: they are never live together
//   +-------+------------+---+---------------+
//
// With checking on and the lives given, the arena follows the clock of the plan: `get` of a buffer that is not live is
// misuse, and memory tools are told which bytes belong to nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/poison.hpp>
#include <ashlar/plan/buffer.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Hands out addresses, owns nothing. `Layout` has `offsets`, indexed by the position of the buffer in the problem, and
/// `height`: `plan::layout` and `plan::static_layout` do. The layout must outlive the arena.
/// Thread safety: `get` may be called by many threads at once, `advance` by one, with nothing else.
template <class Layout>
class static_arena {
public:
  /// Expects: `bytes` at `base` hold the layout; `base` has the greatest alignment that was planned with.
  static_arena(void* base, std::size_t bytes, const Layout& layout) noexcept
      : base_(static_cast<std::byte*>(base)), layout_(&layout) {
    ASHLAR_EXPECTS(layout.height <= bytes, "gave a static_arena less memory than its layout needs");
    static_cast<void>(bytes);
  }

  /// The same, and `get` checks lives where checking is on. Expects: `lives` are the buffers of the planned problem.
  static_arena(void* base, std::size_t bytes, const Layout& layout, std::span<const plan::buffer> lives) noexcept
      : static_arena(base, bytes, layout) {
    ASHLAR_EXPECTS(lives.size() == layout.offsets.size(), "gave a static_arena the lives of another problem");
    for (const plan::buffer& b : lives)
      ASHLAR_EXPECTS(is_aligned(base, static_cast<std::size_t>(b.alignment)), "misaligned the base of a static_arena");
    if constexpr (checking_level >= checking::checked) lives_ = lives;
  }

  static_arena(const static_arena&) = delete;
  static_arena& operator=(const static_arena&) = delete;
  ~static_arena() {
    if (!lives_.empty()) mark_live(base_, static_cast<std::size_t>(layout_->height));
  }

  /// Returns: the address of a buffer, by its position in the problem; one load and one addition, and only the
  /// addition where the compiler knows layout and position. Expects: it is live now, if lives were given.
  [[nodiscard]] ASHLAR_INLINE std::byte* get(std::size_t position) const noexcept {
    if constexpr (checking_level >= checking::checked) check(position);
    return base_ + static_cast<std::size_t>(layout_->offsets[position]);
  }

  /// Returns: the same, as storage for `T`; nothing is constructed.
  template <class T>
  [[nodiscard]] ASHLAR_INLINE T* get(std::size_t position) const noexcept {
    std::byte* const p = get(position);
    ASHLAR_EXPECTS(is_aligned(p, alignof(T)), "asked a static_arena for a type its plan does not align");
    return static_cast<T*>(static_cast<void*>(p));
  }

  /// Effects: sets the clock of the plan. Where checking is on and lives were given, the bytes of buffers that are not
  /// live any more are marked as free, those of buffers that are now live as theirs.
  void advance([[maybe_unused]] std::uint64_t moment) noexcept {
    if constexpr (checking_level >= checking::checked) {
      for (std::size_t i = 0; i < lives_.size(); ++i)
        if (live(i, now_) && !live(i, moment)) mark_free(address(i), bytes(i));
      // Born after the dead are gone: they may take the same bytes.
      for (std::size_t i = 0; i < lives_.size(); ++i)
        if (!live(i, now_) && live(i, moment)) mark_live(address(i), bytes(i));
      now_ = moment;
    }
  }

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return static_cast<std::size_t>(layout_->height); }
  [[nodiscard]] bool owns(const void* p) const noexcept {
    return address_of(p) >= address_of(base_) && address_of(p) - address_of(base_) < capacity();
  }

private:
  [[nodiscard]] bool live(std::size_t i, std::uint64_t moment) const noexcept {
    return lives_[i].birth <= moment && moment < lives_[i].death;
  }
  [[nodiscard]] std::byte* address(std::size_t i) const noexcept {
    return base_ + static_cast<std::size_t>(layout_->offsets[i]);
  }
  [[nodiscard]] std::size_t bytes(std::size_t i) const noexcept { return static_cast<std::size_t>(lives_[i].size); }

  void check(std::size_t position) const noexcept {
    ASHLAR_REQUIRE(position < layout_->offsets.size(), "asked a static_arena for a buffer that was not planned");
    ASHLAR_REQUIRE(lives_.empty() || live(position, now_), "asked a static_arena for a buffer that is not live");
  }

  std::byte* base_;
  const Layout* layout_;
  std::span<const plan::buffer> lives_;  // empty: lives are not checked
  std::uint64_t now_ = 0;
};

}  // namespace ashlar::inline ASHLAR_ABI
