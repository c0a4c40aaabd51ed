// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The chunks of an arena: the growth of their sizes, the limit of their bytes, the spare ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/stack/chunk.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The sizes of chunks, in bytes, and the limit of their sum.
struct chunk_limits {
  std::size_t initial_bytes;
  std::size_t max_growth_bytes = max_size;  ///< each chunk is 1.5 times as large as the one before, up to this
  std::size_t max_bytes = max_size;         ///< of all chunks together
};

/// A chunk goes back to the upstream with the size and the alignment of its allocation.
/// Invariant: the bytes of the spare chunks `<= held() <= max_bytes`.
template <resource Upstream>
class chunk_store {
public:
  /// `arena` is the name in reports.
  constexpr chunk_store(const chunk_limits& limits, Upstream upstream, const void* arena = nullptr)
      : limits_(limits), step_(limits.initial_bytes), arena_(arena), upstream_(std::move(upstream)) {}

  /// Returns: a chunk that can hold the block. Throws: `std::bad_alloc` beyond the limit; the exceptions of the
  /// upstream.
  [[nodiscard]] chunk* take(std::size_t bytes, std::size_t alignment) {
    if (chunk* const got = take_gladly(bytes, alignment)) return got;
    if (!has_room_for(bytes, alignment)) throw_bad_alloc(bytes, alignment);
    const std::size_t needed = chunk::bytes_for(bytes);
    return adopt(upstream_.allocate(needed, alignment_for(alignment)), needed, alignment);
  }

  /// As `take`, but null without memory.
  [[nodiscard]] chunk* try_take(std::size_t bytes, std::size_t alignment) noexcept {
    if (chunk* const got = take_gladly(bytes, alignment)) return got;
    if (!has_room_for(bytes, alignment)) return nullptr;
    const std::size_t needed = chunk::bytes_for(bytes);
    return adopt(try_allocate_from(upstream_, needed, alignment_for(alignment)), needed, alignment);
  }

  /// Returns: a spare chunk, or null.
  [[nodiscard]] chunk* take_spare() noexcept {
    chunk* const taken = spares_;
    if (taken != nullptr) spares_ = expect_sound(*taken).below;
    return taken;
  }

  /// Effects: retains a chunk that is no longer in use.
  void keep(chunk* spare) noexcept {
    expect_sound(*spare).clear();
    spare->put_on(std::exchange(spares_, spare), nullptr);
  }

  /// Effects: replaces several spare chunks by one of their total size: frees them and allocates that. If the upstream
  /// refuses, the next request tries again. Expects: no chunk is in use.
  void consolidate() noexcept {
    if (spares_ == nullptr || expect_sound(*spares_).below == nullptr) return;
    const std::size_t total = held_;
    std::size_t alignment = spares_->alignment;
    for (const chunk* each = spares_; each != nullptr; each = each->below)
      alignment = std::max(alignment, expect_sound(*each).alignment);
    if (!is_valid_request(total, alignment)) return;
    give_back_spares();
    step_ = std::max(step_, total);
    if (chunk* const all = adopt(try_allocate_from(upstream_, total, alignment), total, alignment)) keep(all);
  }

  /// Effects: returns a chunk that is no longer in use to the upstream.
  void give_back(chunk* leaving) noexcept {
    const chunk was = expect_sound(*leaving);
    held_ -= was.bytes;
    --count_;
    mark_live(was.begin, was.bytes);
    upstream_.deallocate(was.begin, was.bytes, was.alignment);
  }

  void give_back_spares() noexcept {
    while (chunk* const spare = take_spare()) give_back(spare);
  }

  /// Effects: frees all chunks; the next one has the initial size. Expects: no chunk is in use.
  void release() noexcept {
    give_back_spares();
    step_ = limits_.initial_bytes;
  }

  [[nodiscard]] bool has_spares() const noexcept { return spares_ != nullptr; }
  [[nodiscard]] const chunk* spares() const noexcept { return spares_; }
  [[nodiscard]] std::size_t held() const noexcept { return held_; }                             ///< bytes
  [[nodiscard]] std::size_t usable() const noexcept { return held_ - count_ * sizeof(chunk); }  ///< bytes
  [[nodiscard]] std::size_t count() const noexcept { return count_; }                           ///< chunks
  [[nodiscard]] const chunk_limits& limits() const noexcept { return limits_; }
  [[nodiscard]] Upstream& upstream_resource() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

private:
  // Stored as a pointer from the first level that reports it.
  struct known_arena {
    const void* arena;
    constexpr explicit known_arena(const void* p) noexcept : arena(p) {}
  };
  struct unknown_arena {
    static constexpr const void* arena = nullptr;
    constexpr explicit unknown_arena(const void* /*p*/) noexcept {}
  };

  [[nodiscard]] const chunk& expect_sound(const chunk& seen) const noexcept {
    return seen.expect_sound(arena_.arena), seen;
  }

  [[nodiscard]] static constexpr std::size_t alignment_for(std::size_t alignment) noexcept {
    return std::max(alignment, alignof(std::max_align_t));
  }

  [[nodiscard]] bool fits(std::size_t bytes) const noexcept { return bytes <= limits_.max_bytes - held_; }

  // Returns: the first spare chunk that can hold the block, or null.
  [[nodiscard]] chunk* take_spare_for(std::size_t bytes, std::size_t alignment) noexcept {
    chunk* before = nullptr;
    for (chunk* each = spares_; each != nullptr; before = each, each = each->below) {
      if (!expect_sound(*each).can_hold(bytes, alignment)) continue;
      before != nullptr ? before->put_on(each->below, nullptr) : static_cast<void>(spares_ = each->below);
      return each;
    }
    return nullptr;
  }

  /// Returns: a spare chunk, or a new one with room for more than this block; null if the upstream refuses. Each
  /// attempt requests half as much. Without a spare chunk, the caller makes the last attempt.
  [[nodiscard]] chunk* take_gladly(std::size_t bytes, std::size_t alignment) noexcept {
    if (chunk* const spare = take_spare_for(bytes, alignment)) return spare;
    if (!is_valid_request(bytes, alignment)) return nullptr;
    const std::size_t needed = chunk::bytes_for(bytes);
    std::size_t wanted = align_down(std::min(step_, limits_.max_bytes - held_), alignof(chunk));
    for (; wanted > needed; wanted = align_down(wanted / 2, alignof(chunk)))
      if (is_valid_request(wanted, alignment_for(alignment)))
        if (void* const p = try_allocate_from(upstream_, wanted, alignment_for(alignment)))
          return adopt(p, wanted, alignment);
    if (spares_ == nullptr || !fits(needed) || !is_valid_request(needed, alignment_for(alignment))) return nullptr;
    return adopt(try_allocate_from(upstream_, needed, alignment_for(alignment)), needed, alignment);
  }

  /// Returns: whether a chunk for this block alone is within the limit. Effects: frees spare chunks, which are all too
  /// small for it, to make room.
  [[nodiscard]] bool has_room_for(std::size_t bytes, std::size_t alignment) noexcept {
    if (!is_valid_request(bytes, alignment)) return false;
    const std::size_t needed = chunk::bytes_for(bytes);
    if (!is_valid_request(needed, alignment_for(alignment))) return false;
    give_back_spares();
    return fits(needed);
  }

  /// Returns: a chunk of the memory at `p`, or null if `p` is null.
  [[nodiscard]] chunk* adopt(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (p == nullptr) return nullptr;
    held_ += bytes;
    ++count_;
    step_ = std::min(step_ + std::min(step_ / 2, max_size - step_), limits_.max_growth_bytes);
    return chunk::build(p, bytes, alignment_for(alignment));
  }

  chunk_limits limits_;
  std::size_t step_;
  std::size_t held_ = 0;
  std::size_t count_ = 0;
  chunk* spares_ = nullptr;
  ASHLAR_NO_UNIQUE_ADDRESS std::conditional_t<chunk::is_sealed, known_arena, unknown_arena> arena_;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
