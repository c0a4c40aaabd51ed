// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a heap does, without being asked, about memory that its blocks have left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/cell_store.hpp>
#include <ashlar/detail/heap/retention_limit.hpp>
#include <ashlar/detail/heap/segment_store.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// A heap may keep as much free memory as its blocks use, and `retain_bytes` in any case; and more, where what it gave
/// back was wanted again, until that much has been free all along for a while: so memory that a program swings through
/// stays, and what it has left goes. Whoever frees says how much. Where that has become too much, a round begins: hot
/// cells are swept into their bitmaps, free slices lose their pages, and then the whole free pages inside slabs. Each
/// free that is told does a part of it, of the last one segment. The next round waits until more is spare than ever
/// since, or until four times what the heap has was freed: in a steady state there is nothing new to find.
///
/// Where the upstream has a budget, `retain_bytes` is of all heaps over it together: each counts there what it keeps
/// beyond what its blocks use, and looks each MiB. Then so much more may be kept by each, since others learn of it then
/// only. Thread safety: none. Never allocates.
template <resource Upstream>
class purge_policy {
  static constexpr bool has_budget = requires(Upstream& upstream) { upstream.budget(); };
  using share = std::conditional_t<has_budget, retention_share, own_retention>;

public:
  purge_policy(segment_store<Upstream>& segments, cell_store<Upstream>& cells, std::size_t retain_bytes) noexcept
      : segments_(segments), cells_(cells), kept_(share_of(segments, retain_bytes)), until_evaluation_(first_wait()),
        waited_(until_evaluation_) {}

  /// Effects: `bytes` have become free. Complexity: O(1), and seldom a part of a round.
  ASHLAR_INLINE void on_freed(std::size_t bytes, free_lists& lists) noexcept {
    if (ASHLAR_UNLIKELY(bytes >= until_evaluation_)) return evaluate(lists);
    until_evaluation_ -= bytes;
  }

  /// Effects: as good as new. Expects: so are the segments and the cells.
  void clear() noexcept {
    refaulted_bytes_ = lowest_ = freed_ = freed_since_ = segment_ = 0;
    low_water_ = max_size;
    kept_.count(0);
    until_evaluation_ = waited_ = first_wait();
    next_ = part::none;
  }

  /// Returns: how much may be kept whatever is in use.
  [[nodiscard]] std::size_t retention_left() const noexcept { return kept_.most(); }

  /// Effects: free slices lose their pages where too much is spare, and more than `least`, whatever was freed since the
  /// last round. For what comes from elsewhere, without a evaluate at the hot cells.
  void discard_slices(std::size_t least) noexcept {
    const shares have = now();
    const std::size_t most = detail::max(have.most, least);
    if (have.spare > most) segments_.discard_some(have.spare - most);
  }

  /// Effects: others learn what is kept here. Whoever gives something back without being asked by `on_freed` calls it.
  void recount() noexcept {
    if constexpr (has_budget) static_cast<void>(now());
  }

private:
  static constexpr std::size_t least_wait = std::size_t{1} << 20;

  [[nodiscard]] static share share_of(segment_store<Upstream>& segments, std::size_t retain_bytes) noexcept {
    if constexpr (has_budget) return share(segments.space().upstream().budget());
    else return share(retain_bytes);
  }

  [[nodiscard]] std::size_t first_wait() const noexcept {
    return has_budget ? detail::min(least_wait, kept_.most()) : kept_.most();
  }

  enum class part { none, slices, slabs };

  // What the heap has, in bytes.
  struct shares {
    std::size_t spare;  ///< free and resident, as far as is known
    std::size_t live;
    std::size_t most;  ///< may be spare

    [[nodiscard]] std::size_t all() const noexcept { return spare + live; }
    [[nodiscard]] std::size_t too_much() const noexcept { return spare - detail::min(spare, most); }
  };

  [[nodiscard]] shares now() noexcept {
    refaulted_bytes_ += segments_.take_refetched() + cells_.take_refetched();
    const std::size_t in_cells = cells_.free_bytes() + cells_.hot_bytes();
    const std::size_t spare = segments_.dirty_bytes() + segments_.spare_bytes() + in_cells;
    const std::size_t used = segments_.used_bytes() - segments_.spare_bytes();
    const std::size_t live = used - detail::min(used, in_cells + cells_.dropped_bytes());
    kept_.count(spare - detail::min(spare, live));
    const std::size_t kept = detail::max(kept_.most(), live);
    refaulted_bytes_ = detail::min(refaulted_bytes_, spare + live);
    return {spare, live, kept + detail::min(refaulted_bytes_, max_size - kept)};
  }

  ASHLAR_COLD void evaluate(free_lists& lists) noexcept {
    const shares have = now();
    until_evaluation_ = 0;  // the next free goes on
    if (next_ != part::none) return step(have);
    count_freed(have);
    lowest_ = detail::min(lowest_, have.spare + have.most);
    const bool is_new = have.spare > lowest_ + have.all() / 16 || freed_ / 4 >= have.all();
    if (have.too_much() == 0 || !is_new) return wait(have);
    next_ = part::slices;
    if (cells_.hot_bytes() > have.too_much() / 4) cells_.sweep(lists);
  }

  void step(const shares& have) noexcept {
    if (next_ == part::slices) {
      segments_.discard_some(have.too_much());
      next_ = part::slabs;
    } else if (!drop_some_pages()) {
      next_ = part::none;
      segment_ = freed_ = 0;
      lowest_ = have.spare;
      until_evaluation_ = waited_ = least_wait;
    }
  }

  // Effects: drops the free pages inside the slabs of the next segment that has such. Returns: whether there is one.
  [[nodiscard]] bool drop_some_pages() noexcept {
    while (segment_ < segments_.segments())
      if (cells_.discard_free_pages(segment_++) != 0) return true;
    return false;
  }

  // What was freed while nobody looked. Regret wears off by a quarter of what nobody has needed while twice as much was
  // freed as the heap has.
  void count_freed(const shares& have) noexcept {
    freed_ += waited_;
    segments_.space().count_freed(waited_);
    low_water_ = detail::min(low_water_, have.spare - detail::min(have.spare, waited_));
    if (freed_since_ += waited_; freed_since_ / 2 < have.all()) return;
    refaulted_bytes_ -= detail::min(refaulted_bytes_, low_water_) / 4;
    low_water_ = max_size;
    freed_since_ = 0;
  }

  void wait(const shares& have) noexcept {
    const std::size_t until_too_much = has_budget ? 0 : (have.most - detail::min(have.most, have.spare)) / 2;
    until_evaluation_ = waited_ = detail::max(least_wait, until_too_much, have.all() / 32);
  }

  segment_store<Upstream>& segments_;
  cell_store<Upstream>& cells_;
  share kept_;
  std::size_t until_evaluation_;      // so many bytes may become free before there can be too much
  std::size_t waited_;                // what that was when it was set
  std::size_t freed_ = 0;             // since the last round
  std::size_t lowest_ = 0;            // that was spare since, with some room above it
  std::size_t refaulted_bytes_ = 0;   // bytes that were given back and wanted again
  std::size_t low_water_ = max_size;  // that was spare at least since regret wore off
  std::size_t freed_since_ = 0;       // that wearing off
  part next_ = part::none;            // of the round that is going on
  std::size_t segment_ = 0;           // the next one whose slabs are looked through
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
