// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The purge of a heap: the one place that decides which free memory goes back to the system, when, and how much stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/retention_limit.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/thread_cache.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/os/random_bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Consecutive windows of `decay_ms` at least. The first one begins with the first look at the clock. Thread safety:
/// none.
class decay_window {
public:
  explicit constexpr decay_window(std::uint32_t decay_ms) noexcept : decay_ms_(decay_ms) {}

  /// Returns: whether the window is over; then the next one has begun. Without a duration each look ends one.
  [[nodiscard]] ASHLAR_COLD bool is_over() noexcept {
    if (is_instant()) return true;
    const std::uint32_t now = coarse_ms();
    const bool is_over = has_begun_ && now - start_ >= decay_ms_;
    if (!has_begun_ || is_over) start_ = now;
    has_begun_ = true;
    return is_over;
  }

  /// Effects: changes the duration, of the window that has begun too.
  void set_duration(std::uint32_t decay_ms) noexcept { decay_ms_ = decay_ms; }

  /// Effects: forgets the window: the next look at the clock begins one.
  void restart() noexcept { has_begun_ = false; }

  /// Returns: whether windows have no duration.
  [[nodiscard]] constexpr bool is_instant() const noexcept { return decay_ms_ == 0; }

private:
  std::uint32_t decay_ms_;
  std::uint32_t start_ = 0;
  bool has_begun_ = false;
};

/// The most bytes that were live in this epoch of time and in the one before, by the looks at the clock. Thread safety:
/// none.
class recent_peak {
public:
  explicit constexpr recent_peak(std::uint32_t epoch_ms) noexcept : epoch_(epoch_ms) {}

  void set_duration(std::uint32_t epoch_ms) noexcept { epoch_.set_duration(epoch_ms); }

  /// Effects: counts that `live` bytes are in use.
  void count(std::size_t live) noexcept { peak_ = detail::max(peak_, live); }

  /// Returns: whether an epoch ends now.
  [[nodiscard]] bool ends_epoch(std::size_t live) noexcept {
    if (!epoch_.is_over()) return false;
    last_peak_ = std::exchange(peak_, live);
    return true;
  }

  [[nodiscard]] std::size_t get() const noexcept { return detail::max(peak_, last_peak_); }
  [[nodiscard]] constexpr bool is_instant() const noexcept { return epoch_.is_instant(); }
  void clear() noexcept { peak_ = last_peak_ = 0; }

private:
  decay_window epoch_;
  std::size_t peak_ = 0;       // in this epoch
  std::size_t last_peak_ = 0;  // in the epoch before
};

/// How much free memory of huge blocks stays spare: max(`retain_bytes`, live bytes, min(recent peak - live bytes,
/// 4 * `retain_bytes`)). A program whose use swings finds its pages again, within the limit at the low point. What was
/// spare during a whole epoch of `decay_ms` goes back as the next one begins. Thread safety: none.
class huge_retention {
public:
  explicit constexpr huge_retention(std::size_t retain_bytes, std::uint32_t decay_ms = 0) noexcept
      : retain_bytes_(retain_bytes), peak_(decay_ms) {}

  /// Effects: changes the limits of the constructor.
  void set(std::size_t retain_bytes, std::uint32_t decay_ms) noexcept {
    retain_bytes_ = retain_bytes;
    peak_.set_duration(decay_ms);
  }

  /// Effects: counts that `live` bytes are in use.
  void count(std::size_t live) noexcept { peak_.count(live); }

  /// Returns: the bytes that may stay spare beside `live` bytes.
  [[nodiscard]] std::size_t most(std::size_t live) const noexcept {
    const std::size_t swing = detail::max(peak_.get(), live) - live;
    return detail::max(retain_bytes_, live, detail::min(swing, retain_bytes_ * 4));
  }

  /// Returns: whether an epoch ends now.
  [[nodiscard]] bool ends_epoch(std::size_t live) noexcept { return peak_.ends_epoch(live); }

  void clear() noexcept { peak_.clear(); }

private:
  std::size_t retain_bytes_;
  recent_peak peak_;
};

/// Returns: the bytes of free segments that stay between the heaps over one map of address space: within their common
/// limit, of which `retained` bytes are left, at most two segments; and one for each request under way, so that a
/// parked heap can hand it over.
[[nodiscard]] constexpr std::size_t most_cached_segments(std::size_t retained, std::size_t requests) noexcept {
  return detail::max(detail::min(2 * segment_bytes, retained), requests * segment_bytes);
}

/// Effects: as another heap grows, takes of a parked one an empty segment; once it has been parked for `decay_ms`, all
/// free memory. Returns: whether it was its turn; otherwise it is the turn of the next one.
template <class Engine>
[[nodiscard]] bool scavenge_parked(Engine& parked, std::uint32_t since_ms, std::uint32_t decay_ms) noexcept {
  if (parked.try_give_segment()) return true;
  if (coarse_ms() - since_ms < decay_ms) return false;
  static_cast<void>(parked.try_trim_remote());
  return true;
}

/// The bytes above a limit that are spare throughout a window. Thread safety: none.
class idle_window {
public:
  explicit constexpr idle_window(std::uint32_t decay_ms) noexcept : window_(decay_ms) {}

  /// Returns: the bytes of `spare` above `most` that have been spare throughout the window that ends now; 0 before its
  /// end. `freed`: bytes freed since the last call: it was that much less at some time since.
  [[nodiscard]] std::size_t excess(std::size_t spare, std::size_t most, std::size_t freed) noexcept {
    if (spare <= most) return clear(), 0;  // without a look at the clock, as in most steady states
    least_ = detail::min(least_, spare - (is_instant() ? 0 : detail::min(spare, freed)));
    if (!window_.is_over()) return 0;
    const std::size_t idle = std::exchange(least_, max_size), above = idle - detail::min(idle, most);
    stuck_ = detail::min(stuck_, above);
    return above;
  }

  /// Effects: a purge of `excess` bytes begins. / It has purged `bytes` bytes.
  void begin_purge(std::size_t excess) noexcept { stuck_ = excess; }
  void count_purged(std::size_t bytes) noexcept { stuck_ -= detail::min(stuck_, bytes); }
  /// Returns: of the last excess: the bytes that the purge left behind.
  [[nodiscard]] std::size_t stuck() const noexcept { return stuck_; }

  [[nodiscard]] bool is_instant() const noexcept { return window_.is_instant(); }

  /// Effects: changes the duration of windows.
  void set_duration(std::uint32_t decay_ms) noexcept { window_.set_duration(decay_ms); }

  /// Effects: the next window begins with the next excess.
  void clear() noexcept {
    window_.restart();
    least_ = max_size;
    stuck_ = 0;
  }

private:
  decay_window window_;
  std::size_t least_ = max_size;  // spare in the window
  std::size_t stuck_ = 0;
};

/// Free memory goes back
///
///     from                          when                                                   by
///     slices, pages inside slabs    the owner has freed a MiB, and a window shows excess   on_freed, on_slow_call
///     these, and empty segments     less than an eighth of a recent peak is live           on_freed, on_slow_call
///     the same                      other threads have freed a MiB, and a window shows it  on_arrived
///     these, and empty segments     of a heap that is left, or drained, without a window   on_arrived
///     huge blocks                   above the limit; after an epoch                        huge_retention
///     all of these                  the caller asks                                        trim
///     empty segments                a request is refused                                   give_segments
///     segments between heaps        above the limit                                        most_cached_segments
///     a parked heap                 another heap of the same grows                         scavenge_parked
///
/// A heap retains as much free memory as its live blocks take, and at least `retain_bytes`; one of several over a
/// common budget a part of that, and `retention_share::own`. It retains more when purged bytes fault in again, until
/// that much was free for a while: memory that a program swings through stays, memory that it has left goes. With
/// neither a limit nor windows it learns nothing from them. Frees report their bytes, and look at the clock once a MiB
/// while there is an excess. If the least free memory in a window of `decay_ms` exceeds the limit, a round begins: free
/// lists are swept into the bitmaps, that excess is decommitted, of free slices, then of whole free pages inside slabs.
/// Each further free does one step, of two segments at most; so does a slow allocation of a cell, which looks at the
/// clock too while there is an excess. The next round waits for an excess above the bytes that the last one could not
/// purge, without windows for a new maximum of free memory, or for frees of four times the heap's size: a steady state
/// has nothing new to purge.
///
/// A drained heap has less than an eighth of a peak of the last 16 to 32 `decay_ms`, and the peak was above
/// `retain_bytes`. It retains an eighth of its live bytes, and what faulted in again, without a window: the frees that
/// drain it purge it too, so that a program which then sleeps holds little. With windows above a second it waits for
/// them.
///
/// Huge pages go back whole: a heap whose upstream wishes for them decommits the second half of a segment, or gives all
/// of it, or nothing; `trim` to nothing alone splits them. While there is an excess, it moves free cells to their slabs
/// and sorts these by the live bytes of their segments, once a MiB of frees or a 32nd of the heap: so the fullest
/// segments serve, and the others become empty.
///
/// An upstream with a budget shares `retain_bytes` between all heaps over it. Each heap counts its memory there once
/// per MiB of frees; so the total may exceed the budget by 1 MiB for each heap. Thread safety: none. Never allocates.
template <resource Upstream>
class purge {
  static constexpr bool has_budget = requires(Upstream& upstream) { upstream.get().budget(); };
  using share = std::conditional_t<has_budget, retention_share, own_retention>;
  using pages = page_discard<Upstream>;

public:
  constexpr purge(span_store<Upstream>& spans, small_store<Upstream>& cells, huge_store<Upstream>& huge,
                  std::size_t retain_bytes, std::uint32_t decay_ms = 0) noexcept
      : spans_(spans), small_(cells), huge_(huge), kept_(share_of(spans, retain_bytes)), window_(decay_ms),
        arrivals_window_(decay_ms), peak_(peak_epoch(decay_ms)), until_evaluation_(first_wait()),
        waited_(until_evaluation_) {}

  /// Effects: `bytes` have become free. Complexity: O(1), and seldom a part of a round.
  ASHLAR_INLINE void on_freed(std::size_t bytes, thread_cache& cache) noexcept {
    if (ASHLAR_UNLIKELY(!try_count_freed(bytes))) evaluate(cache);
  }

  /// Effects: a part of a round, or while there is an excess a look whether one is due.
  ASHLAR_INLINE void on_slow_call(thread_cache& cache) noexcept {
    if (ASHLAR_UNLIKELY(has_excess_)) evaluate_early(cache);
  }

  /// As `on_freed`, without a part of a round: false, without an effect, when one is due. Thread safety: as the other;
  /// the rest of the policy may be in use.
  [[nodiscard]] ASHLAR_INLINE bool try_count_freed(std::size_t bytes) noexcept {
    if (ASHLAR_UNLIKELY(bytes >= until_evaluation_)) return false;
    until_evaluation_ -= bytes;
    return true;
  }

  /// Effects: `bytes` were freed by other threads, which leave the free lists to an owner: slices and pages inside
  /// slabs go back as far as they exceeded the limit throughout a window; of a heap that is left or drained at once.
  void on_arrived(std::size_t bytes, thread_cache& cache, cached which = cached::excluded) noexcept {
    arrived_bytes_ += bytes;
    if (ASHLAR_LIKELY(arrived_bytes_ < least_wait)) return;
    const std::size_t arrived = std::exchange(arrived_bytes_, 0);
    const bool is_left = which == cached::included;
    if (is_left) flush_cells(cache);
    const shares have = now(cache);
    count_peak(have.live);
    if (is_to_gather(have, arrived)) small_.gather();
    const std::size_t idle = arrivals_window_.excess(have.spare, have.most, arrived);
    const std::size_t excess = is_left || have.is_drained() ? have.too_much() : idle;
    if (excess == 0) return;
    const std::size_t left = excess - detail::min(excess, discard_slices(excess, have));
    for (std::size_t i = 0, given = 0; given < left && i < spans_.segments(); ++i)
      given += small_.discard_free_pages(i);
    recount(cache);
  }

  /// Effects: purges free memory down to `retain_bytes`, which slices get first; to nothing also parts of huge pages,
  /// if it may split them. Returns: bytes given back. Expects: free cells are in their bitmaps.
  ASHLAR_INLINE_FOR_SIZE std::size_t
  trim(std::size_t retain_bytes, const thread_cache& cache, bool splits = true, function_ref<> pause = [] {}) noexcept {
    const std::size_t held = spans_.space().held_bytes();
    splits = !pages::are_huge() || (splits && retain_bytes == 0);
    std::size_t given = spans_.trim(retain_bytes, splits, pause);
    if (splits && retain_bytes == 0) given += small_.discard_free_pages(pause);
    recount(cache);
    given += huge_.trim(retain_bytes - detail::min(retain_bytes, spans_.dirty_bytes()));
    return detail::max(given, held - detail::min(held, spans_.space().held_bytes()));  // heads of segments go too
  }

  /// Effects: gives empty segments back, with their pages. Returns: whether there was one.
  [[nodiscard]] bool give_segments(const thread_cache& cache) noexcept {
    return spans_.give_unused() && (recount(cache), true);
  }
  /// As above, for one segment, for another heap.
  [[nodiscard]] bool give_segment(const thread_cache& cache) noexcept {
    return spans_.give_unused_one() && (recount(cache), true);
  }

  /// Effects: gives all empty segments and kept huge blocks back. Pages of segments in use stay.
  void give_unused(const thread_cache& cache) noexcept {
    static_cast<void>(huge_.trim(0));
    if (!give_segments(cache)) recount(cache);
  }

  /// Effects: changes the duration of windows.
  void set_decay(std::uint32_t decay_ms) noexcept {
    window_.set_duration(decay_ms);
    arrivals_window_.set_duration(decay_ms);
    peak_.set_duration(peak_epoch(decay_ms));
  }

  /// Effects: forgets all counts. Expects: the segments and the cells are reset.
  void clear() noexcept {
    refaulted_bytes_ = lowest_ = freed_ = freed_since_ = segment_ = arrived_bytes_ = ungathered_ = 0;
    low_water_ = max_size;
    window_.clear(), arrivals_window_.clear(), peak_.clear();
    kept_.count(0, 0);
    until_evaluation_ = waited_ = first_wait();
    next_ = part::none;
    has_excess_ = false;
  }

  /// Effects: updates the share of the common budget. Called after a purge outside of `on_freed`.
  void recount(const thread_cache& cache) noexcept {
    if constexpr (has_budget) static_cast<void>(now(cache));
  }

private:
  static constexpr std::size_t least_wait = std::size_t{1} << 20;
  static constexpr std::size_t most_at_once = segment_bytes;  // which bounds the pause of a call
  static constexpr int small_round = 3;                       // steps: slices, pages inside slabs, the end

  [[nodiscard]] static constexpr decltype(auto) share_of(span_store<Upstream>& spans,
                                                         std::size_t retain_bytes) noexcept {
    if constexpr (has_budget) return spans.space().upstream().get().budget();
    else return retain_bytes;
  }

  // Returns: the duration of epochs of a peak; none, where memory goes without a window or is wished to stay long.
  [[nodiscard]] static constexpr std::uint32_t peak_epoch(std::uint32_t decay_ms) noexcept {
    return decay_ms <= 1000 ? decay_ms * 16 : 0;
  }

  [[nodiscard]] constexpr std::size_t first_wait() const noexcept {
    return has_budget ? detail::min(least_wait, kept_.least()) : kept_.least();
  }

  enum class part { none, slices, slabs };

  // The memory of the heap, in bytes.
  struct shares {
    std::size_t spare;  ///< free and resident, by the heap's own accounts
    std::size_t live;
    std::size_t most;  ///< may be spare
    std::size_t few;   ///< less than an eighth of the recent peak; 0 if that was small

    [[nodiscard]] bool is_drained() const noexcept { return few != 0 && live <= few; }
    /// Returns: whether it will be drained as soon as it frees what it has: half of the peak is spare.
    [[nodiscard]] bool is_draining() const noexcept { return few != 0 && live > few && spare / 4 > few; }
    /// Returns: the excess that is worth a round.
    [[nodiscard]] std::size_t worth() const noexcept {
      return is_drained() ? detail::max(live / 8, slice_bytes) : all() / 64;
    }

    [[nodiscard]] std::size_t all() const noexcept { return spare + live; }
    [[nodiscard]] std::size_t too_much() const noexcept { return spare - detail::min(spare, most); }
  };

  [[nodiscard]] ASHLAR_COLD shares now(const thread_cache& cache) noexcept {
    refaulted_bytes_ += spans_.take_refetched() + small_.take_refetched();
    const std::size_t in_cells = small_.free_bytes() + cache.bytes();
    const std::size_t spare = spans_.dirty_bytes() + spans_.spare_bytes() + in_cells;
    const std::size_t used = spans_.used_bytes() - spans_.spare_bytes();
    const std::size_t live = used - detail::min(used, in_cells + small_.dropped_bytes());
    const std::size_t own = kept_.own(live);
    kept_.count(spare - detail::min(spare, own), live);
    const std::size_t left = kept_.left(), least = kept_.least(), peak = peak_.get();
    const std::size_t few = peak_.is_instant() || peak <= detail::max(least, segment_bytes) ? 0 : (peak - 1) / 8;
    shares have = {spare, live, own + detail::min(left, max_size - own), few};
    if (have.is_drained()) have.most = detail::min(least, live / 8);
    refaulted_bytes_ = is_prompt() ? 0 : detail::min(refaulted_bytes_, spare + live);
    have.most += detail::min(refaulted_bytes_, max_size - have.most);
    return have;
  }

  // Without a window and a limit, what faults in again goes back again.
  [[nodiscard]] bool is_prompt() const noexcept { return window_.is_instant() && kept_.least() == 0; }

  ASHLAR_COLD void evaluate(thread_cache& cache) noexcept {
    shares have = now(cache);
    until_evaluation_ = 0;  // the next free continues
    if (next_ == part::none && have.is_draining() && waited_ >= least_wait && refaulted_bytes_ < have.spare / 2) {
      flush_cells(cache);  // which are counted by samples
      have = now(cache);
    }
    if (next_ == part::none && (!begins_round(have, cache) || !have.is_drained())) return;
    for (int left = have.is_drained() ? small_round : 1; left != 0 && next_ != part::none; --left) step(have);
  }

  // Returns: whether a round begins; otherwise the next evaluation is set.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE bool begins_round(const shares& have, thread_cache& cache) noexcept {
    count_freed(have);
    if (is_to_gather(have, waited_)) flush_cells(cache), small_.gather();
    lowest_ = detail::min(lowest_, have.spare + have.most);
    excess_ = window_.excess(have.spare, have.most, waited_);
    if (have.is_drained()) excess_ = have.too_much();
    has_excess_ = !window_.is_instant() && have.too_much() > window_.stuck() + have.worth();
    if (excess_ == 0 || !is_new(have)) return wait(have), false;
    next_ = part::slices;
    window_.begin_purge(excess_);
    if (have.is_drained() || cache.bytes() > excess_ / 4) flush_cells(cache);
    return true;
  }

  // Returns: whether free memory of huge pages is to be gathered, after `freed` bytes more.
  [[nodiscard]] bool is_to_gather(const shares& have, std::size_t freed) noexcept {
    if (!pages::are_huge() || have.spare <= have.most) return false;
    ungathered_ += freed;
    return ungathered_ >= detail::max(least_wait, have.all() / 32) && (ungathered_ = 0, true);
  }

  void flush_cells(thread_cache& cache) noexcept {
    small_.sweep(cache);
    small_.return_batches();
  }

  ASHLAR_COLD void evaluate_early(thread_cache& cache) noexcept {
    waited_ -= until_evaluation_;
    evaluate(cache);
  }

  // Returns: whether the excess is more than the last round left behind. A round purges what was spare throughout its
  // window; memory freed meanwhile has its own window, the next one.
  [[nodiscard]] bool is_new(const shares& have) const noexcept {
    if (pages::are_huge() || freed_ / 4 >= have.all()) return true;  // of these any may have become free
    return window_.is_instant() ? have.spare > lowest_ + have.all() / 16 : excess_ > window_.stuck() + have.worth();
  }

  ASHLAR_INLINE_FOR_SIZE void step(const shares& have) noexcept {
    if (next_ == part::slices) {
      const std::size_t purged = discard_slices(detail::min(excess_, have.too_much(), most_at_once), have);
      window_.count_purged(purged);
      excess_ -= detail::min(excess_, purged);
      if (excess_ == 0 || purged == 0) next_ = part::slabs;
    } else if (excess_ == 0 || !drop_some_pages()) {
      next_ = part::none;
      segment_ = freed_ = 0;
      lowest_ = have.spare;
      has_excess_ = false;
      until_evaluation_ = waited_ = have.is_drained() ? have.worth() : least_wait;
    }
  }

  std::size_t discard_slices(std::size_t bytes, const shares& have) noexcept {
    const std::size_t before = spans_.dirty_bytes() + spans_.spare_bytes();
    spans_.discard_some(bytes, have.is_drained());
    return before - spans_.dirty_bytes();
  }

  // Effects: decommits the free pages inside the slabs of the next segments. Returns: whether there were any.
  [[nodiscard]] bool drop_some_pages() noexcept {
    std::size_t bytes = 0;
    while (segment_ < spans_.segments() && bytes < most_at_once) bytes += small_.discard_free_pages(segment_++);
    window_.count_purged(bytes);
    excess_ -= detail::min(excess_, bytes);
    return bytes != 0;
  }

  void count_peak(std::size_t live) noexcept {
    peak_.count(live);
    static_cast<void>(peak_.ends_epoch(live));
  }

  // Adds the frees since the last evaluation. Refaulted bytes decay by a quarter of the low water each time twice the
  // heap's size was freed.
  ASHLAR_INLINE_FOR_SIZE void count_freed(const shares& have) noexcept {
    freed_ += waited_;
    if (spans_.space().spare_bytes() != 0) huge_.age();
    low_water_ = detail::min(low_water_, have.spare - detail::min(have.spare, waited_));
    count_peak(have.live);
    if (freed_since_ += waited_; freed_since_ / 2 < have.all()) return;
    refaulted_bytes_ -= detail::min(refaulted_bytes_, low_water_) / 4;
    low_water_ = max_size;
    freed_since_ = 0;
  }

  ASHLAR_COLD void wait(const shares& have) noexcept {
    if (have.is_drained()) return static_cast<void>(until_evaluation_ = waited_ = have.worth());
    const std::size_t limit = has_budget ? 0 : have.most;  // what all have is counted once a MiB
    const std::size_t until_too_much = (limit - detail::min(limit, have.spare)) / 2;
    const std::size_t until_drained = have.few == 0 ? max_size : have.live - have.few;
    until_evaluation_ = waited_ =
        detail::max(least_wait, detail::min(until_drained, detail::max(until_too_much, have.all() / 32)));
  }

  span_store<Upstream>& spans_;
  small_store<Upstream>& small_;
  huge_store<Upstream>& huge_;
  share kept_;
  idle_window window_;
  idle_window arrivals_window_;       // apart: frees by others neither end the window of the owner nor restart it
  recent_peak peak_;                  // of the live bytes
  std::size_t excess_ = 0;            // to be purged in the current round
  std::size_t until_evaluation_;      // frees until the next evaluation
  std::size_t waited_;                // the initial value of that
  std::size_t freed_ = 0;             // since the last round
  std::size_t lowest_ = 0;            // the least spare since then, with some room
  std::size_t refaulted_bytes_ = 0;   // purged, and faulted in again
  std::size_t low_water_ = max_size;  // the least spare since the last decay
  std::size_t freed_since_ = 0;       // since the last decay
  std::size_t arrived_bytes_ = 0;     // freed by other threads since the last look at free slices
  std::size_t ungathered_ = 0;        // freed since huge pages were gathered
  part next_ = part::none;            // of the current round
  std::size_t segment_ = 0;           // the next one to purge
  bool has_excess_ = false;           // at the last evaluation; slow calls look then too
};

}  // namespace ashlar::ASHLAR_ABI::detail
