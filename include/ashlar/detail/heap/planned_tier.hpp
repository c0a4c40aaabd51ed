// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The planned tier of a heap: a plan as a type, and the memory of its buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/plan/buffer.hpp>
#include <ashlar/resource/static_arena.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The memory of a plan, and its use.
struct planned_statistics {
  std::size_t buffers = 0;        ///< in the plan
  std::size_t planned_bytes = 0;  ///< held for all buffers
  std::size_t live_buffers = 0;   ///< at the present moment; 0 if the plan has no lifetimes
  std::size_t live_bytes = 0;     ///< of the live buffers
};

/// The report texts for one kind of use of a planned address.
struct planned_use {
  const char* inside;
  const char* dead;
  const char* size;
};
inline constexpr planned_use freeing_planned = {.inside = "freed a pointer into the middle of a planned buffer",
                                                .dead = "freed a planned buffer that is not live",
                                                .size = "freed a planned buffer with a larger size than was planned"};
inline constexpr planned_use resizing_planned = {.inside = "resized at a pointer into the middle of a planned buffer",
                                                 .dead = "resized a planned buffer that is not live",
                                                 .size =
                                                     "resized a planned buffer with a larger size than was planned"};

/// Blocks with addresses known in advance: the memory of a `static_arena`, and its clock. Thread safety: as that of
/// `static_arena`: any thread; `advance` by one, concurrent only with `has` and `statistics`.
template <class Plan>
class planned_tier {
  using layout = typename Plan::layout_type;
  using arena = static_arena<layout>;

public:
  /// Effects: takes one block of `upstream`. Throws: `std::bad_alloc`. Expects: `upstream` outlives the tier.
  template <resource Upstream>
  explicit planned_tier(Upstream& upstream) : arena_(upstream, addressable(), Plan::alignment(), Plan::lives()) {}

  /// The same in given memory. Expects: the memory has the bytes and the alignment of the plan.
  explicit planned_tier(std::span<std::byte> memory) noexcept : arena_(arena_in(memory)) {}

  /// Returns: the address of a buffer, by one addition. Expects: as `static_arena::get`.
  [[nodiscard]] ASHLAR_INLINE std::byte* resolve(std::size_t position) const noexcept {
    if constexpr (checking_level >= checking::checked) return arena_.get(position);
    else return base() + Plan::offset_of(position);
  }

  /// Effects: as `static_arena::advance`.
  void advance(std::uint64_t moment) noexcept {
    arena_.advance(moment);
    now_.store(moment, memory_order_relaxed);
  }

  /// Returns: whether the address lies in the plan's memory, by a subtraction and a comparison. `p` is not read.
  [[nodiscard]] ASHLAR_INLINE bool has(const void* p) const noexcept {
    return address_of(p) - address_of(base()) < Plan::bytes();
  }

  [[nodiscard]] std::byte* base() const noexcept { return arena_.base(); }

  /// Effects: reports, as misuse of `resource`, a pointer other than the start of a live buffer of at least `bytes`
  /// bytes. Expects: it lies in the plan's memory. Complexity: O(buffers).
  ASHLAR_COLD void expect_live(const void* p, std::size_t bytes, const void* resource,
                               const planned_use& use = freeing_planned) const noexcept {
    const starting_at found = buffers_at(p);
    violation wrong{.pointer = p, .resource = resource, .size = bytes};
    if (found.planned == 0) {
      wrong.kind = fault::misaligned_free;
      wrong.what = use.inside;
    } else if (found.live == 0) {
      wrong.kind = fault::double_free;
      wrong.what = use.dead;
    } else if (bytes > found.bytes) {
      wrong.kind = fault::size_mismatch;
      wrong.what = use.size;
      wrong.expected = found.bytes;
      wrong.got = bytes;
    } else {
      return;
    }
    report(wrong);
  }

  /// Thread safety: any thread, also during `advance`. Complexity: O(buffers).
  [[nodiscard]] planned_statistics statistics() const noexcept {
    planned_statistics sums{.buffers = Plan::count(), .planned_bytes = Plan::bytes()};
    const std::uint64_t now = now_.load(memory_order_relaxed);
    for (std::size_t i = 0; Plan::has_lives && i < Plan::count(); ++i) {
      if (!Plan::is_live(i, now)) continue;
      ++sums.live_buffers;
      sums.live_bytes += Plan::size_of(i);
    }
    return sums;
  }

private:
  // The buffers that start at an address, and the bytes of the largest live one.
  struct starting_at {
    std::size_t planned = 0, live = 0, bytes = 0;
  };

  [[nodiscard]] starting_at buffers_at(const void* p) const noexcept {
    starting_at found;
    const std::uint64_t now = now_.load(memory_order_relaxed);
    for (std::size_t i = 0; i < Plan::count(); ++i) {
      if (base() + Plan::offset_of(i) != p) continue;
      ++found.planned;
      if (!Plan::is_live(i, now)) continue;
      ++found.live;
      found.bytes = std::max(found.bytes, Plan::size_of(i));
    }
    return found;
  }

  // Returns: the layout. Throws: `std::bad_alloc` if its size exceeds `std::size_t` or any block.
  [[nodiscard]] static const layout& addressable() {
    if (ASHLAR_UNLIKELY(Plan::layout().height > max_size)) throw_bad_alloc(max_size, Plan::alignment());
    return Plan::layout();
  }

  [[nodiscard]] static arena arena_in(std::span<std::byte> memory) noexcept {
    ASHLAR_EXPECTS(is_aligned(memory.data(), Plan::alignment()),
                   "gave a plan memory without the alignment of its layout");
    if constexpr (Plan::has_lives) return arena(memory.data(), memory.size(), Plan::layout(), Plan::lives());
    else return arena(memory, Plan::layout());
  }

  arena arena_;
  atomic<std::uint64_t> now_ = 0;  // moment of the plan; kept at every level, for statistics
};

}  // namespace ashlar::ASHLAR_ABI::detail
