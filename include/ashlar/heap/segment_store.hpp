// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The address space of a heap: segments cut into slices, huge blocks of their own, and whose an address is.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/poison.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/heap/grown_array.hpp>
#include <ashlar/heap/page_discard.hpp>
#include <ashlar/part/segment.hpp>
#include <ashlar/part/slice_map.hpp>
#include <ashlar/part/window_map.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct segment_limits {
  std::size_t max_bytes = max_size;                ///< held of the upstream at once
  std::size_t keep_bytes = std::size_t{16} << 20;  ///< free memory that is kept, and as much again as is in use
};

/// A run of slices. `is_zero`: all of its bytes are, as it has not been used since it came from the system.
struct slice_run {
  std::byte* data = nullptr;
  bool is_zero = false;
};

/// Segments come from the upstream whole as long as there is that much, then as much as there is. A run of slices is
/// the lowest that fits in the oldest segment that has one; a block is one that was freed lately, if it is as long.
/// Huge blocks have windows of their own and start at one.
///
/// What was free for a whole epoch, of 1024 blocks freed, goes back to the system unless less than `keep_bytes`
/// or than is in use would stay free: so memory that a program swings through stays, and what it left goes.
/// Invariant: `held_bytes` is the sum of the segments and the huge blocks; the tables are not counted.
/// Thread safety: none. Nothing is allocated before it is needed.
template <resource Upstream>
class segment_store {
  using pages = page_discard<Upstream>;

public:
  segment_store(const segment_limits& limits, Upstream upstream) : limits_(limits), upstream_(std::move(upstream)) {
    map_.move_to(inside_, std::size(inside_));
  }

  segment_store(const segment_store&) = delete;
  segment_store& operator=(const segment_store&) = delete;
  ~segment_store() { release(); }

  /// Returns: a run of slices out of a segment that is there, or null. `step`: slices its start is a multiple of.
  [[nodiscard]] slice_run take(std::size_t length, std::size_t step = 1) noexcept {
    slice_run run = take_free(length, step);
    if (run.data == nullptr && spare_slices_ != 0) {
      join_spare();
      run = take_free(length, step);
    }
    return run;
  }

  /// As `take`, for a block: one of the same length that was freed lately, or a new one. Its record says what it is.
  [[nodiscard]] slice_run take_block(std::size_t length) noexcept {
    run_record* const top = spare_[length];
    if (ASHLAR_UNLIKELY(top == nullptr)) return made_block(take(length), length);
    spare_[length] = top->next;
    spare_slices_ -= length;
    top->is_shelved = false;
    segment* const home = segment::of(top);
    std::byte* const data = home->slice(home->slice_of_record(*top));
    mark_live(data, length * slice_bytes);
    return {data, false};
  }

  /// Effects: makes a run a block. Returns: it.
  static slice_run made_block(slice_run run, std::size_t length) noexcept {
    if (run.data != nullptr) segment::of(run.data)->set_block(segment::slice_of(run.data), length);
    return run;
  }

  /// Effects: takes a block back. It stays whole, for the next of its length, until a run is wanted that is not there.
  void give_block(void* p) noexcept {
    run_record& run = segment::of(p)->record(segment::slice_of(p));
    mark_free(p, run.length * slice_bytes);
    run.is_shelved = true;
    run.next = spare_[run.length];
    spare_[run.length] = &run;
    spare_slices_ += run.length;
    if (ASHLAR_UNLIKELY(--until_epoch_ == 0)) end_epoch();
  }

  /// Effects: joins the blocks that were freed lately with the free slices around them.
  ASHLAR_COLD void join_spare() noexcept {
    for (run_record*& top : spare_)
      while (top != nullptr) {
        run_record& run = *std::exchange(top, top->next);
        run.is_shelved = false;
        segment* const home = segment::of(&run);
        give(home->slice(home->slice_of_record(run)), run.length);
      }
    spare_slices_ = 0;
  }

  /// Effects: takes a segment from the upstream with room for a run. Returns: whether it had that much.
  [[nodiscard]] ASHLAR_COLD bool grow(std::size_t length, std::size_t step = 1) noexcept {
    const std::size_t least = (std::max(first_slice, step) + length) * slice_bytes;
    if (least > segment_bytes || !make_room()) return false;
    for (std::size_t wish = segment_bytes; wish != 0; wish = next_wish(wish, least))
      if (void* const memory = request(wish, segment_bytes)) return add_segment(memory, wish), true;
    return false;
  }

  /// Effects: takes a run back. Expects: it is one that `take` gave, shortened by `give_tail` or not.
  void give(void* p, std::size_t length) noexcept {
    segment* const home = segment::of(p);
    const std::size_t i = home->head.index, first = segment::slice_of(p);
    mark_free(p, length * slice_bytes);
    spaces_[i].free |= slices(first, length);
    used_slices_ -= length;
    longest_[i] = std::max(longest_[i], static_cast<std::uint8_t>(run_around(spaces_[i].free, first)));
  }

  /// Effects: makes a run longer where the slices behind it are free. Returns: whether it is.
  [[nodiscard]] bool extend(void* p, std::size_t length, std::size_t wanted) noexcept {
    const std::size_t i = segment::of(p)->head.index, next = segment::slice_of(p) + length;
    if (run_from(spaces_[i].free, next) < wanted - length) join_spare();
    if (run_from(spaces_[i].free, next) < wanted - length) return false;
    static_cast<void>(carve(i, next, wanted - length));
    return true;
  }

  /// Returns: whole windows for a block alone, or null.
  [[nodiscard]] ASHLAR_COLD void* map_huge(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > max_block_bytes - window_bytes) return nullptr;
    const std::size_t whole = align_up(std::max<std::size_t>(bytes, 1), huge_step);
    const std::size_t windows = (whole + window_bytes - 1) / window_bytes;
    const std::size_t aligned = std::max(alignment, window_bytes);
    if (aligned > max_block_bytes - whole) return nullptr;
    auto* const p = static_cast<std::byte*>(request(whole, aligned));
    if (p == nullptr) return nullptr;  // only now a table, which for a block that nobody has could take all memory
    if (!make_room_for_windows(windows)) return give_up(window::of(p, 0, whole, aligned, false)), nullptr;
    for (std::size_t i = 0; i < windows; ++i) map_.insert(window::of(p, i, whole, aligned, false));
    ++huge_count_;
    huge_bytes_ += whole;
    return p;
  }

  /// Expects: `p` is the start of a huge block. That is looked at, whatever the level: what is no block is no window.
  ASHLAR_COLD void unmap_huge(void* p) noexcept {
    const window* const found = map_.find(p);
    ASHLAR_REQUIRE(found != nullptr && found->start == p && !found->is_segment(),
                   "freed a pointer that is not of this heap");
    const window block = *found;
    for (std::size_t at = 0; at < block.bytes(); at += window_bytes) map_.erase(block.at + at);
    --huge_count_;
    huge_bytes_ -= block.bytes();
    give_up(block);
  }

  /// Returns: what holds the address, or null. `p` is not read.
  [[nodiscard]] const window* find(const void* p) const noexcept { return map_.find(p); }

  /// Returns: whether a slice is part of a run. Expects: `p` lies in a segment of the store.
  [[nodiscard]] bool is_taken(const void* p) const noexcept {
    const std::size_t slice = segment::slice_of(p);
    segment* const home = segment::of(const_cast<void*>(p));
    return slice >= first_slice && ((spaces_[home->head.index].free >> slice) & 1) == 0;
  }

  /// Calls `f(segment&, first slice, slices)` for each run, slab or block, by segments, the lowest slice first.
  /// `f` may not take or give runs.
  template <class F>
  void for_each_run(F f) const {
    for (std::size_t i = 0; i < count_; ++i) {
      segment& home = *spaces_[i].home;
      for (std::size_t slice = first_slice; slice < home.slices_held();) {
        const std::size_t free = run_from(spaces_[i].free, slice);
        if (free == 0) f(home, slice, std::size_t{home.record(slice).length});
        slice += free != 0 ? free : home.record(slice).length;
      }
    }
  }

  template <class F>
  void for_each_huge(F f) const {
    map_.for_each([&](const window& each) {
      if (!each.is_segment() && each.is_first()) f(each.start, each.bytes());
    });
  }

  /// Effects: drops the contents of free slices, all but `keep` bytes of the oldest, and gives segments back that
  /// have nothing but free ones. Returns: bytes that may have been resident and are not.
  std::size_t trim(std::size_t keep) noexcept {
    join_spare();
    std::size_t given = 0;
    const std::size_t most = dirty_bytes();
    for (std::size_t i = count_; i-- != 0;) {
      const slice_mask used = spaces_[i].free & ~spaces_[i].fresh;
      const std::size_t bytes = static_cast<std::size_t>(std::popcount(used)) * slice_bytes;
      if (most - given < bytes || most - given - bytes < keep) continue;
      given += is_unused(i) ? remove_segment(i), bytes : discard(i, used);
    }
    return given;
  }

  /// Effects: gives everything back, blocks that are live too.
  void release() noexcept {
    map_.for_each([&](const window& each) {
      if (each.is_first()) give_up(each);
    });
    spaces_.give_back(upstream_);
    longest_.give_back(upstream_);
    if (slots_ != inside_) upstream_.deallocate(slots_, map_.capacity() * sizeof(window), alignof(window));
    slots_ = inside_;
    map_ = {};
    map_.move_to(inside_, std::size(inside_));
    spare_ = {};
    spare_slices_ = count_ = used_slices_ = held_bytes_ = huge_count_ = huge_bytes_ = 0;
  }

  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }
  [[nodiscard]] std::size_t segments() const noexcept { return count_; }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_slices_ * slice_bytes; }
  [[nodiscard]] std::size_t huge_count() const noexcept { return huge_count_; }
  [[nodiscard]] std::size_t huge_bytes() const noexcept { return huge_bytes_; }

  /// Returns: bytes of free slices that have been used.
  [[nodiscard]] std::size_t dirty_bytes() const noexcept {
    std::size_t slices = 0;
    for (std::size_t i = 0; i < count_; ++i)
      slices += static_cast<std::size_t>(std::popcount(spaces_[i].free & ~spaces_[i].fresh));
    return slices * slice_bytes;
  }

  /// Complexity: O(slices).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t held = huge_bytes_, used = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const space& each = spaces_[i];
      held += each.home->head.bytes;
      used += each.home->slices_held() - first_slice - static_cast<std::size_t>(std::popcount(each.free));
      if (each.home->head.index != i || longest_[i] < longest_run_in(each.free)) return false;
      if ((each.free & ~all_of(each.home->head.bytes)) != 0 || (each.fresh & ~each.free) != 0) return false;
      const window* const found = map_.find(each.home);
      if (found == nullptr || !found->is_segment()) return false;
    }
    return held == held_bytes_ && used == used_slices_ && map_.invariant();
  }

private:
  struct space {
    segment* home;
    slice_mask free;
    slice_mask fresh;  ///< of the free ones: untouched since they came from the system, all zero
    slice_mask idle;   ///< of the free ones: were free when the epoch began
  };

  static constexpr std::size_t huge_step = 4096;  // the upstream rounds to its own pages where they are larger
  static constexpr unsigned epoch = 1024;

  [[nodiscard]] static constexpr slice_mask all_of(std::size_t bytes) noexcept {
    return slices(first_slice, bytes / slice_bytes - first_slice);
  }

  // A refused segment is asked for again by an eighth less, down to what is needed.
  [[nodiscard]] static constexpr std::size_t next_wish(std::size_t wish, std::size_t least) noexcept {
    const std::size_t eighth = std::max(slice_bytes, align_down(wish / 8, slice_bytes));
    return wish != least ? std::max(least, wish - eighth) : 0;
  }

  [[nodiscard]] void* request(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > limits_.max_bytes || held_bytes_ > limits_.max_bytes - bytes) return nullptr;
    void* const p = try_allocate_from(upstream_, bytes, alignment);
    if (p != nullptr) held_bytes_ += bytes;
    return p;
  }

  void give_up(const window& extent) noexcept {
    mark_live(extent.start, extent.bytes());
    held_bytes_ -= extent.bytes();
    upstream_.deallocate(extent.start, extent.bytes(), extent.alignment());
  }

  void add_segment(void* memory, std::size_t bytes) noexcept {
    segment* const home = segment::format(memory, count_, bytes);
    mark_free(home->slice(first_slice), bytes - first_slice * slice_bytes);
    const slice_mask all = all_of(bytes);
    spaces_[count_] = {home, all, pages::gives_zeroes ? all : 0, 0};
    longest_[count_++] = static_cast<std::uint8_t>(std::popcount(all));
    map_.insert(window::of(static_cast<std::byte*>(memory), 0, bytes, segment_bytes, true));
  }

  [[nodiscard]] bool is_unused(std::size_t i) const noexcept {
    return spaces_[i].free == all_of(spaces_[i].home->head.bytes);
  }

  void remove_segment(std::size_t i) noexcept {
    const window gone = *map_.find(spaces_[i].home);
    map_.erase(gone.at);
    give_up(gone);
    spaces_[i] = spaces_[--count_];
    longest_[i] = longest_[count_];
    if (i != count_) spaces_[i].home->head.index = i;
  }

  [[nodiscard]] slice_run take_free(std::size_t length, std::size_t step) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (longest_[i] < length) continue;
      const slice_mask starts = starts_of_runs(spaces_[i].free, length) & multiples_of(step);
      if (starts != 0) return carve(i, static_cast<std::size_t>(std::countr_zero(starts)), length);
      if (step == 1) longest_[i] = static_cast<std::uint8_t>(length - 1);
    }
    return {};
  }

  [[nodiscard]] slice_run carve(std::size_t i, std::size_t first, std::size_t length) noexcept {
    space& from = spaces_[i];
    const slice_mask taken = slices(first, length);
    const bool is_zero = (from.fresh & taken) == taken;
    from.free &= ~taken;
    from.fresh &= ~taken;
    from.idle &= ~taken;
    used_slices_ += length;
    std::byte* const data = from.home->slice(first);
    mark_live(data, length * slice_bytes);
    return {data, is_zero};
  }

  // Room in the tables for one segment more.
  [[nodiscard]] bool make_room() noexcept {
    if (count_ == spaces_.capacity() && !spaces_.grow(upstream_)) return false;
    if (count_ == longest_.capacity() && !longest_.grow(upstream_)) return false;
    return make_room_for_windows(1);
  }

  [[nodiscard]] bool make_room_for_windows(std::size_t more) noexcept {
    if (map_.has_room_for(more)) return true;
    const std::size_t capacity = std::bit_ceil((map_.count() + more) * 2);
    const std::size_t were = map_.capacity() * sizeof(window);
    void* const wide = try_allocate_from(upstream_, capacity * sizeof(window), alignof(window));
    if (wide == nullptr) return false;
    window* const before = map_.move_to(static_cast<window*>(wide), capacity);
    if (before != inside_) upstream_.deallocate(before, were, alignof(window));
    slots_ = static_cast<window*>(wide);
    return true;
  }

  // Returns: bytes whose contents were dropped.
  std::size_t discard(std::size_t i, slice_mask which) noexcept {
    std::size_t given = 0;
    ashlar::for_each_run(which, [&](std::size_t first, std::size_t length) {
      if (!pages::discard(spaces_[i].home->slice(first), length * slice_bytes)) return;
      spaces_[i].fresh |= slices(first, length);
      given += length * slice_bytes;
    });
    spaces_[i].idle &= ~spaces_[i].fresh;
    return given;
  }

  ASHLAR_COLD void end_epoch() noexcept {
    until_epoch_ = epoch;
    join_spare();
    std::size_t spare = dirty_bytes();
    const std::size_t keep = std::max(limits_.keep_bytes, used_bytes());
    for (std::size_t i = count_; i-- != 0;) {
      const std::size_t idle = static_cast<std::size_t>(std::popcount(spaces_[i].idle)) * slice_bytes;
      if (spare - idle < keep) continue;
      if (pages::is_possible) spare -= discard(i, spaces_[i].idle);
      else if (is_unused(i) && spaces_[i].idle == spaces_[i].free) remove_segment(i), spare -= idle;
    }
    for (std::size_t i = 0; i < count_; ++i) spaces_[i].idle = spaces_[i].free & ~spaces_[i].fresh;
  }

  grown_array<space, 4> spaces_;
  grown_array<std::uint8_t, 16> longest_;  // no run of free slices is longer; may be too large
  std::size_t count_ = 0;
  std::size_t used_slices_ = 0;
  std::array<run_record*, slices_per_segment> spare_ = {};  // blocks freed lately, by their length
  std::size_t spare_slices_ = 0;                            // of these
  unsigned until_epoch_ = epoch;
  window inside_[8] = {};
  window* slots_ = inside_;
  window_map map_;
  std::size_t held_bytes_ = 0;
  std::size_t huge_count_ = 0;
  std::size_t huge_bytes_ = 0;
  segment_limits limits_;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::inline ASHLAR_ABI
