// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The segments of a heap, cut into spans of slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/segment_table.hpp>
#include <ashlar/detail/heap/span_guards.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/os/random_bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Segments come whole from the upstream, or shorter when memory is short. The first one begins short and becomes
/// longer in place where memory of the upstream does so: so a thread with few blocks takes little, also of address
/// space and of memory that is locked. A new span is the lowest fit in the oldest segment with room, preferably at the
/// start of a former span, where the first pages are resident; on huge pages the lowest in the fullest one (`gather`).
/// A block reuses a recently freed one of its length. Thread safety: none; the upstream is called under the lock of the
/// caller. Nothing is allocated before it is needed.
template <resource Upstream>
class span_store : public segment_table<segment_slices> {
  using pages = page_discard<Upstream>;
  using guards = span_guards<Upstream>;

public:
  /// `owner`: in the heads of the segments.
  ASHLAR_INLINE_FOR_SIZE explicit constexpr span_store(extent_map<Upstream>& space,
                                                       segment_owner* owner = nullptr) noexcept
      : space_(space), owner_(owner), lane_(segment::no_lane) {}

  span_store(const span_store&) = delete;
  span_store& operator=(const span_store&) = delete;
  ~span_store() { clear(); }

  /// Effects: sets the lane in segments to come. Heaps with close numbers get different ones.
  void set_number(std::uint32_t number) noexcept { lane_ = number % segment::lanes; }
  /// Effects: from now on the store takes no memory of the upstream beyond its first segment's beginning.
  void set_waits_to_grow(bool waits) noexcept { waits_to_grow_.store(waits, memory_order_relaxed); }
  [[nodiscard]] bool waits_to_grow() const noexcept { return waits_to_grow_.load(memory_order_relaxed); }

  /// Returns: a span of slices out of a segment that is there, or null. `step`: slices its start is a multiple of.
  [[nodiscard]] fresh_block take(std::size_t length, std::size_t step = 1) noexcept {
    fresh_block span = take_free(length, step);
    if (span.data == nullptr && free_spans_.slices() != 0) {
      join_spare();
      span = take_free(length, step);
    }
    return span;
  }

  /// As `take`, of used slices only, whose pages may be resident.
  [[nodiscard]] fresh_block take_used(std::size_t length) noexcept {
    if (free_spans_.slices() != 0) join_spare();
    if (dirty_slices_ < length) return {};
    for (std::size_t i = 0; i < count_; ++i) {
      if (longest_[i] < length) continue;
      const slice_mask starts = starts_of_runs(spaces_[i].used(), length);
      if (starts != 0) return carve(i, first_bit(starts), length);
      if (starts_of_runs(spaces_[i].free, length) == 0) longest_[i] = static_cast<std::uint8_t>(length - 1);
    }
    return {};
  }

  /// Returns: a recently freed block, at most half longer (else spans are split and joined more often), or null. Its
  /// span header holds the length. From level `checked` on, which checks sizes, the length is exact.
  [[nodiscard]] ASHLAR_INLINE std::byte* take_free_span(std::size_t length) noexcept {
    span_header* const span = free_spans_.take(length, segment::live_cells::is_there ? 0 : length / 2);
    if (ASHLAR_UNLIKELY(span == nullptr)) return nullptr;
    verify_poison(segment::of(span)->head.index, ones(span->first, span->length));
    mark_live(span->cells, span->length * slice_bytes);
    return span->cells;
  }

  /// Returns: a new block, the head of a longer free one, or a span after free blocks are joined.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE fresh_block take_block(std::size_t length) noexcept {
    if (const fresh_block span = take_free(length, 1); span.data != nullptr) return made_block(span, length);
    span_header* const span = free_spans_.take(length, slices_per_segment - 1 - length);
    if (span == nullptr) return made_block(take(length), length);
    verify_poison(segment::of(span)->head.index, ones(span->first, span->length));
    const std::size_t held = std::exchange(span->length, static_cast<std::uint8_t>(length));
    reused_slices_ -= held - length;  // the bins count the whole
    if (held != length) give(span->cells + length * slice_bytes, held - length);
    mark_live(span->cells, length * slice_bytes);
    return {span->cells, false};
  }

  /// Effects: makes a span of slices one block. Returns: the span.
  fresh_block made_block(fresh_block span, std::size_t length) noexcept {
    if (span.data == nullptr) return span;
    segment::of(span.data)->set_block(segment::slice_of(span.data), length);
    mend(*segment::of(span.data));
    return span;
  }

  /// Effects: takes a block back. It stays whole, for the next of its length, until a span finds no other room.
  /// Returns: its slices. Expects: it is live.
  std::size_t give_block(void* p) noexcept {
    span_header& span = segment::of(p)->record(segment::slice_of(p));
    const std::size_t length = span.length;
    if constexpr (guards::are_kept) return put_in_quarantine(span), length;
    if constexpr (keeps_canaries) poison_span(span);
    mark_free(p, length * slice_bytes);
    free_spans_.put(span);
    return length;
  }

  /// Effects: shortens a block of `length` slices to `wanted`. Expects: its record has the new length.
  void give_tail(void* p, std::size_t length, std::size_t wanted) noexcept {
    segment& home = *segment::of(p);
    const std::size_t end = segment::slice_of(p) + wanted;
    guards::drop_tail(home, end, length - wanted);
    if constexpr (guards::are_kept) give_zero(home, end, length - wanted, true);
    else give(home.slice(end), length - wanted);
  }

  /// Effects: ends the quarantine of freed blocks.
  void end_quarantine() noexcept {
    if (quarantine_) quarantine_->clear([this](span_header& span) { give_span(span); });
  }
  /// Effects: calls `f(span)` for each block in quarantine.
  template <class F>
  void for_each_quarantined(F f) const noexcept {
    if (quarantine_) quarantine_->for_each(f);
  }

  /// Effects: joins the binned blocks with the free slices around them.
  ASHLAR_COLD void join_spare() noexcept {
    free_spans_.clear([&](span_header& span) { give(span.cells, span.length); });
  }

  /// Effects: takes a segment with room for a span from the upstream. Returns: whether the upstream had the memory.
  [[nodiscard]] ASHLAR_COLD bool grow(std::size_t length, std::size_t step = 1) noexcept {
    const std::size_t least = (first_slice_at(step) + length) * slice_bytes;
    const unlocked_calls::locked_scope calls(space_.unlocked());
    if (waits_to_grow() || least > segment_bytes || !space_.retry_after_purge([&] { return make_room(space_); }))
      return false;
    const std::size_t first = growing_.wish(least, count_ == 0);
    if (first != segment_bytes)
      if (const block kept = space_.take_kept_segment(first)) return add_segment(kept.data, kept.size), true;
    for (std::size_t wish = first; wish != 0; wish = next_wish(wish, least))
      if (void* const memory = space_.take(wish, segment_bytes, true)) return add_segment(memory, wish), true;
    return false;
  }

  /// Effects: takes a span back. Expects: a span of `take`, or a part of one.
  void give(void* p, std::size_t length) noexcept {
    segment& home = *segment::of(p);
    guards::close(home, segment::slice_of(p), length);
    give_zero(home, segment::slice_of(p), length, false);
  }

  /// Effects: makes a span longer if the slices after it are free. Returns: whether it is.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE bool extend(void* p, std::size_t length, std::size_t wanted) noexcept {
    const std::size_t i = segment::of(p)->head.index, next = segment::slice_of(p) + length, more = wanted - length;
    if (run_from(spaces_[i].free, next) < more) join_spare();
    const std::size_t room = run_from(spaces_[i].free, next);
    const bool is_last = next + room == spaces_[i].home->slices_held();
    if (room < more && (!is_last || !lengthen(i, next + more))) return false;
    return guards::join(*spaces_[i].home, next) && carve(i, next, more).data != nullptr;
  }

  /// Returns: whether a slice is part of a span. Expects: `p` lies in a segment of the store.
  [[nodiscard]] bool is_taken(const void* p) const noexcept {
    const std::size_t slice = segment::slice_of(p), home = segment::of(const_cast<void*>(p))->head.index;
    return slice >= first_slice && ((spaces_[home].free >> slice) & 1) == 0;
  }

  /// Effects: decommits free slices, except `keep` bytes in the oldest segments, and gives empty segments back. Between
  /// segments `pause()`, in which others may use the store. `splits`: parts of huge pages go too.
  /// Returns: bytes that may have been resident and no longer are.
  ASHLAR_INLINE_FOR_SIZE std::size_t trim(std::size_t keep, bool splits = true, function_ref<> pause = [] {}) noexcept {
    join_spare();
    end_quarantine();
    std::size_t given = 0;
    const std::size_t most = dirty_bytes();
    for (std::size_t i = count_; i-- != 0; pause(), i = detail::min(i, count_)) {
      const std::size_t bytes = spaces_[i].dirty() * slice_bytes;
      if (keep > most - detail::min(most, given + bytes)) continue;
      given += pages::takes_back && spaces_[i].is_unused() ? remove_segment(i), bytes : discard(i, splits);
    }
    return given;
  }

  /// Effects: decommits `too_much` bytes of free slices, the youngest segment first. `gives_empty`: empty segments go
  /// back too, with their heads; without it of huge pages, and to an upstream that cannot decommit, alone.
  ASHLAR_COLD void discard_some(std::size_t too_much, bool gives_empty = false) noexcept {
    join_spare();
    const std::size_t dirty = dirty_bytes();
    for (std::size_t i = count_; i-- != 0 && dirty - dirty_bytes() < too_much;) {
      if (pages::is_possible && spaces_[i].used() != 0) discard(i, !pages::are_huge());
      if (pages::takes_back && (gives_empty || !pages::is_possible || pages::are_huge()) && spaces_[i].is_unused())
        remove_segment(i), ++missing_segments_;
    }
  }

  /// Effects: sorts the segments, so that new spans lie in the fullest ones, and the others get empty.
  ASHLAR_COLD void gather() noexcept {
    join_spare();
    this->sort();
  }

  /// Effects: makes huge pages of a segment whole again that have been split, if three quarters are live.
  void mend(segment& home) noexcept {
    if (pages::are_huge() && ASHLAR_UNLIKELY(home.head.split != 0)) mend_split(home);
  }

  /// Effects: gives empty segments back. Returns: whether there was one.
  [[nodiscard]] ASHLAR_COLD_FOR_SPEED bool give_unused() noexcept {
    bool has_given = false;
    while (give_unused_one()) has_given = true;
    return has_given;
  }

  /// As above, for one: the one with most used slices: its pages save another heap page faults.
  [[nodiscard]] ASHLAR_COLD bool give_unused_one() noexcept {
    std::size_t best = count_;
    for (std::size_t i = 0; pages::takes_back && i < count_; ++i)
      if (spaces_[i].is_unused() && (best == count_ || spaces_[i].dirty() > spaces_[best].dirty())) best = i;
    return best != count_ && (remove_segment(best), true);
  }

  /// Effects: forgets all segments and gives the tables back. Expects: the space forgets them too.
  void clear() noexcept {
    for (std::size_t i = 0; keeps_canaries && i < count_; ++i) {
      verify_poison(i, ~slice_mask{0});
      guards::end(*spaces_[i].home);
    }
    if (quarantine_) quarantine_->forget();
    if constexpr (pages::has_store)
      if (const segment* const home = growing_.get()) spaces_[home->head.index].hand_over();
    space_.uncharge(table_bytes());
    give_tables(space_.upstream());
    free_spans_.forget();
    growing_.clear();
    used_slices_ = dirty_slices_ = refetched_slices_ = missing_segments_ = 0;
  }

  [[nodiscard]] constexpr extent_map<Upstream>& space() noexcept { return space_; }
  [[nodiscard]] const extent_map<Upstream>& space() const noexcept { return space_; }
  [[nodiscard]] span_bins<span_header>& free_spans() noexcept { return free_spans_; }
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_slices_ * slice_bytes; }
  /// Returns: bytes of binned blocks, which count as used.
  [[nodiscard]] std::size_t spare_bytes() const noexcept { return free_spans_.slices() * slice_bytes; }
  /// Returns: bytes of decommitted slices that came into use again since the last call.
  [[nodiscard]] std::size_t take_refetched() noexcept { return std::exchange(refetched_slices_, 0) * slice_bytes; }
  /// Returns: bytes of free slices that have been used.
  [[nodiscard]] std::size_t dirty_bytes() const noexcept { return dirty_slices_ * slice_bytes; }

  /// Returns: bytes of slices reused without a decommit in between. 0 over an upstream other than system pages, whose
  /// memory may have been used before.
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept {
    return pages::gives_zeroes ? (reused_slices_ + free_spans_.taken_slices()) * slice_bytes : 0;
  }

  /// Complexity: O(slices).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t used = 0, dirty = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const segment_slices& each = spaces_[i];
      used += each.home->slices_held() - first_slice - count_bits(each.free);
      dirty += each.dirty();
      const window* const found = space_.find(each.home);
      if (found == nullptr || !found->is_segment() || each.home->head.index != i) return false;
      if (!each.invariant() || longest_[i] < longest_run_in(each.free)) return false;
    }
    return free_spans_.invariant() && used == used_slices_ && dirty == dirty_slices_;
  }

private:
  void add_segment(void* memory, std::size_t bytes) noexcept {
    const slice_mask all = segment_slices::all_of(bytes), fresh = detail::fresh_slices_of<pages>(memory, all);
    if (lane_ == segment::no_lane) lane_ = segment::next_lane();
    segment* const home = segment::format(memory, count_, bytes, owner_, lane_);
    space_.set_owner(home, owner_);
    mark_free(home->slice(first_slice), bytes - first_slice * slice_bytes);
    guards::begin(*home);
    spaces_[count_] = {home, all, fresh};
    if (missing_segments_ != 0) --missing_segments_, spaces_[count_].dropped = fresh;
    dirty_slices_ += spaces_[count_].dirty();
    longest_[count_++] = static_cast<std::uint8_t>(home->slices_held() - first_slice);
    if (count_ == 1) growing_.begin(*home);
    if (pages::are_huge() && bytes < unit_bytes) home->head.split = 1;  // small pages, until it has grown
  }

  // Effects: makes segment `i` at least `wanted` slices long, if it is the one that grows. Returns: whether it is.
  [[nodiscard]] ASHLAR_COLD bool lengthen(std::size_t i, std::size_t wanted) noexcept {
    if (waits_to_grow()) return false;
    const unlocked_calls::locked_scope calls(space_.unlocked());
    const std::size_t were = growing_.lengthen(space_, spaces_[i], wanted);
    if (were == 0) return false;
    dirty_slices_ += pages::gives_zeroes ? 0 : spaces_[i].home->slices_held() - were;
    longest_[i] = detail::max(longest_[i], static_cast<std::uint8_t>(run_around(spaces_[i].free, were)));
    return true;
  }

  ASHLAR_COLD void mend_split(segment& home) noexcept {
    const auto live = spaces_[home.head.index].live();
    for (unsigned unit = 0; unit != 2; ++unit) {
      const bool is_whole = home.head.bytes >= (unit + 1) * unit_bytes;  // it has grown
      if ((home.head.split >> unit & 1) == 0 || !is_whole || live.of[unit] < unit_bytes / 4 * 3) continue;
      home.head.split = static_cast<std::uint8_t>(home.head.split ^ 1U << unit);
      pages::collapse(home.slice(unit * slices_per_unit), unit_bytes);
    }
  }

  void verify_poison([[maybe_unused]] std::size_t i, [[maybe_unused]] slice_mask which) const noexcept {
    if constexpr (keeps_canaries) verify_poison_of_spans(*spaces_[i].home, which, space_.heap());
  }

  void remove_segment(std::size_t i) noexcept {
    verify_poison(i, ~slice_mask{0});
    guards::end(*spaces_[i].home);
    growing_.end(*spaces_[i].home);
    dirty_slices_ -= spaces_[i].dirty();
    spaces_[i].hand_over();
    const unlocked_calls::locked_scope calls(space_.unlocked());
    space_.give(spaces_[i].home);
    remove(i);
  }

  // As `take_free`, of slices that the growing segment has not had yet.
  [[nodiscard]] ASHLAR_COLD fresh_block take_behind(std::size_t length, std::size_t step) noexcept {
    const std::size_t i = growing_.get()->head.index;
    return lengthen(i, growing_.needed(spaces_[i], length, step)) ? take_free(length, step) : fresh_block{};
  }

  [[nodiscard]] fresh_block take_free(std::size_t length, std::size_t step) noexcept {
    for (std::size_t eight = 0; eight < count_; eight += 8)
      for (std::uint64_t some = long_enough(&longest_[eight], length); some != 0; some = without_first(some)) {
        const std::size_t i = eight + first_bit(some) / 8;
        if (i >= count_) break;
        const slice_mask starts = starts_of_runs(spaces_[i].free, length) & multiples_of(step);
        if (starts != 0) return carve(i, start_of(spaces_[i], starts), length);
        if (step == 1) longest_[i] = static_cast<std::uint8_t>(length - 1);
      }
    return growing_.get() != nullptr ? take_behind(length, step) : fresh_block{};
  }

  [[nodiscard]] fresh_block carve(std::size_t i, std::size_t first, std::size_t length) noexcept {
    segment_slices& from = spaces_[i];
    const slice_mask taken = ones(first, length);
    if (!guards::open(*from.home, first, length)) return {};
    verify_poison(i, taken);
    const bool is_zero = guards::has(*from.home) || (from.fresh & taken) == taken;
    const std::size_t dirty = count_bits(taken & ~from.fresh);
    dirty_slices_ -= dirty;
    reused_slices_ += dirty;
    refetched_slices_ += count_bits(taken & from.dropped);
    from.take(first, length);
    used_slices_ += length;
    std::byte* const data = from.home->slice(first);
    mark_live(data, length * slice_bytes);
    return {data, is_zero};
  }

  // Expects: the slices are closed, and zero if there are guards. `is_fresh`: no page of them is resident.
  void give_zero(segment& home, std::size_t first, std::size_t length, bool is_fresh) noexcept {
    const std::size_t i = home.head.index;
    mark_free(home.slice(first), length * slice_bytes);
    home.record(first).is_available = true;  // until a span starts there: a double free is reported
    spaces_[i].free |= ones(first, length);
    spaces_[i].fresh |= is_fresh ? ones(first, length) : 0;
    dirty_slices_ += is_fresh ? 0 : length;
    used_slices_ -= length;
    longest_[i] = detail::max(longest_[i], static_cast<std::uint8_t>(run_around(spaces_[i].free, first)));
  }

  void put_in_quarantine(span_header& span) noexcept {
    guards::drop(*segment::of(&span), segment::slice_of(span.cells), span.length);
    quarantine_->put(span, [this](span_header& old) { give_span(old); });
  }
  void give_span(span_header& span) noexcept {
    give_zero(*segment::of(&span), segment::slice_of(span.cells), span.length, true);
  }

  // By chance where there are guards.
  [[nodiscard]] std::size_t start_of(const segment_slices& from, slice_mask starts) noexcept {
    if constexpr (guards::are_kept) return any_bit(starts, random_->next());
    return pages::are_huge() ? first_bit(starts) : from.first_of(starts);
  }

  // Effects: decommits the free slices of segment `i`; a whole huge page or nothing, unless it `splits` them. Returns:
  // bytes that may have been resident.
  std::size_t discard(std::size_t i, bool splits) noexcept {
    std::size_t given = 0;
    segment_slices& in = spaces_[i];
    const slice_mask which = splits ? in.used() : in.idle_unit();
    verify_poison(i, which);
    if (!splits && (which == 0 || !pages::discard(in.home->slice(slices_per_unit), unit_bytes))) return 0;
    if (splits && which != 0) in.home->head.split = 3;
    ashlar::detail::for_each_run(which, [&](std::size_t first, std::size_t length) {
      if (splits && !pages::discard(in.home->slice(first), length * slice_bytes)) return;
      in.drop(first, length);
      dirty_slices_ -= length;
      given += length * slice_bytes;
    });
    return given;
  }

  std::size_t used_slices_ = 0;
  std::size_t dirty_slices_ = 0;       // free, and used since the system mapped them
  std::size_t refetched_slices_ = 0;   // decommitted, and in use again
  std::size_t missing_segments_ = 0;   // purged: the next ones count as decommitted
  std::uint64_t reused_slices_ = 0;    // reused without a decommit; the bins count their own; sums may wrap
  span_bins<span_header> free_spans_;  // recently freed blocks
  ASHLAR_NO_UNIQUE_ADDRESS part_if<guards::are_kept, span_quarantine<span_header>> quarantine_;
  ASHLAR_NO_UNIQUE_ADDRESS part_if<guards::are_kept, random_bits> random_;
  growing_segment<Upstream, guards> growing_;
  extent_map<Upstream>& space_;
  segment_owner* owner_;
  std::uint32_t lane_;
  atomic<bool> waits_to_grow_ = false;
};

}  // namespace ashlar::ASHLAR_ABI::detail
