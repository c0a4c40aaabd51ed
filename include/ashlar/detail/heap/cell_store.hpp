// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The small blocks of a heap behind its hot cells: slabs by class, the sweep that finds out which are free again.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/heap_faults.hpp>
#include <ashlar/detail/heap/hot_stacks.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/segment_store.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/os/pages.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Cells out of slabs of one class each. A free cell is in one of three places:
///
///   hot: on the stack of its class   word: among the 64 being handed out of the class   bits: in its slab's bitmap
///
/// Frees go on stacks without a look at the slab. A sweep moves the cells of a stack into the bitmaps, and gives slabs
/// back that are all free. It comes when by the milestones 256 KiB are on the stack, as long as they are in the cache;
/// and to all stacks, before the store asks for another segment. Each free is swept once at most, so that costs O(1)
/// amortised. How much a stack has at most bounds what a call can cost.
/// Invariant: a slab is on its class's shelf exactly while a bit is set.
template <resource Upstream>
class cell_store {
public:
  /// `max_cached_cells`: so many free cells may be on a stack, as the milestones tell. `heap`: whom reports name.
  explicit cell_store(segment_store<Upstream>& segments, std::size_t max_cached_cells = 4096,
                      const void* heap = nullptr) noexcept
      : hot_(no_hot_cells(max_cached_cells)), segments_(segments), heap_(heap) {}

  /// Returns: a cell, or null where the upstream has no memory left.
  [[nodiscard]] void* take(std::size_t number, hot_stacks& hot) noexcept {
    if (shelves_[number].word.mask == 0 && !restock(number, hot)) return nullptr;
    return take_some(number, hot);
  }

  /// Where strangers come, words of classes below this one are the owner's alone; others would keep too much from them.
  static constexpr std::size_t first_common_word = size_classes::of(1024) + 1;

  /// As `take`, but null where the word is empty.
  [[nodiscard]] ASHLAR_INLINE void* take_from_word(std::size_t number, hot_stacks& hot) noexcept {
    return ASHLAR_LIKELY(shelves_[number].word.mask != 0) ? take_some(number, hot) : nullptr;
  }

  /// Effects: has the lines fetched of what `take` will hand out next; other threads may have freed it.
  ASHLAR_INLINE void fetch_ahead(std::size_t number) const noexcept {
    shelves_[number].word.fetch_ahead(shelves_[number].cell_bytes, cells_at_once);
  }

  /// Effects: sets the cell's bit; gives its slab back where all are set then. Reports a cell that is free already.
  void give(void* cell) noexcept {
    run_record& slab = segment::slab_of(cell);
    if (ASHLAR_UNLIKELY(!slab_cells(slab).give(cell))) report_twice(cell, heap_);
    free_bytes_ += slab.cell_bytes;
    file(slab);
  }

  /// Effects: as `give`, for cells of one word of a bitmap. Returns: their bytes.
  std::size_t give_mask(run_record& slab, std::size_t word, std::uint64_t cells) noexcept {
    const std::size_t bytes = static_cast<std::size_t>(std::popcount(cells)) * slab.cell_bytes;
    expect_none_twice(slab, word, slab_cells(slab).give_word(word, cells), heap_);
    free_bytes_ += bytes;
    file(slab);
    return bytes;
  }

  /// Effects: empties the stacks into the bitmaps. From level `checked` on reports a cell whose link is none.
  ASHLAR_COLD void sweep(hot_stacks& hot) noexcept {
    for (std::size_t number = 1; number <= size_classes::count; ++number) sweep(number, hot);
    made_bytes_ = 0;
  }

  /// Effects: a milestone of a class came on its stack: sweeps that where it has become too much. Returns: bytes that a
  /// milestone stands for.
  std::size_t count_hot(std::size_t number, hot_stacks& hot) noexcept {
    hot_share& share = hot_[number];
    share.bytes += share.each, add_hot_bytes(share.each);
    if (ASHLAR_UNLIKELY(share.bytes > share.most)) sweep(number, hot);
    return share.each;
  }

  /// Effects: a milestone of a class left its stack.
  void count_taken(std::size_t number) noexcept {
    const std::uint32_t each = std::min(hot_[number].bytes, hot_[number].each);
    hot_[number].bytes -= each;
    add_hot_bytes(std::size_t{0} - each);
  }

  /// Returns: bytes of hot cells, by their milestones. Thread safety: any thread; only their owner changes it.
  [[nodiscard]] std::size_t hot_bytes() const noexcept { return hot_bytes_.load(std::memory_order_relaxed); }
  /// Returns: bytes of pages that were given back, and are in use again since this was asked last.
  [[nodiscard]] std::size_t take_refetched() noexcept { return std::exchange(refetched_, 0); }

  /// Returns: bytes of pages that were given back out of slabs.
  [[nodiscard]] std::size_t dropped_bytes() const noexcept { return dropped_bytes_; }
  /// Returns: bytes of cells whose bit is set, all but those of pages that were given back.
  [[nodiscard]] std::size_t free_bytes() const noexcept { return free_bytes_ - dropped_bytes_; }

  /// Effects: puts every free cell into its bitmap.
  ASHLAR_COLD void settle(hot_stacks& hot) noexcept {
    sweep(hot);
    settle_words();
  }

  /// Effects: puts what is left of the words being handed out into the bitmaps: of classes from `first` on.
  ASHLAR_COLD void settle_words(std::size_t first = 0) noexcept {
    for (std::size_t number = first; number < shelves_.size(); ++number) {
      const taken_cells word = std::exchange(shelves_[number].word, {});
      if (word.mask == 0) continue;
      run_record& slab = segment::slab_of(word.base);
      give_mask(slab, slab.index_of(word.base) / 64, word.mask);
    }
  }

  /// Calls `f(record)` for each slab.
  template <class F>
  void for_each_slab(F f) const {
    segments_.for_each_run([&](segment& home, std::size_t first, std::size_t) {
      if (home.record(first).number != size_classes::none) f(home.record(first));
    });
  }

  /// Effects: counts in each slab's record the free cells that have no bit: on stacks, in words, in the pocket.
  /// Of words: those of classes from `first` on. Complexity: O(slices and cells on stacks).
  void count_waiting(const hot_stacks& hot, void* pocket, std::size_t first = 0) const noexcept {
    const auto count = [](void* cell, int cells) { segment::slab_of(cell).waiting += static_cast<unsigned>(cells); };
    for_each_slab([](run_record& slab) { slab.waiting = 0; });
    for (std::size_t number = 1; number <= size_classes::count; ++number)
      hot.for_each(number, [&](void* cell) { count(cell, 1); });
    for (std::size_t number = first; number < shelves_.size(); ++number)
      if (const taken_cells& word = shelves_[number].word; word.mask != 0) count(word.base, std::popcount(word.mask));
    if (pocket != nullptr) count(pocket, 1);
  }

  /// Calls `f(cell, bytes)` for each cell that a caller has. Expects: the store is settled.
  template <class F>
  void for_each_live(F f) const {
    for_each_slab([&](run_record& slab) {
      slab_cells(slab).for_each_taken([&](std::byte* cell) { f(cell, std::size_t{slab.cell_bytes}); });
    });
  }

  /// Whether nobody but a caller or a stack can have the cell. Expects: it is a cell of one of the slabs.
  [[nodiscard]] bool is_at_large(void* cell) const noexcept {
    run_record& slab = segment::slab_of(cell);
    const slab_cells cells(slab);
    if (cells.is_free(slab.index_of(cell))) return false;
    if constexpr (segment::live_cells::is_kept)
      if (segment::is_live(cell)) return false;
    const taken_cells& word = shelves_[slab.number].word;
    const std::size_t behind = address_of(cell) - address_of(word.base);
    const std::size_t place = behind / slab.cell_bytes;
    return place >= 64 || ((word.mask >> place) & 1) == 0;
  }

  /// Effects: drops the contents of whole free pages inside slabs. Returns: their bytes.
  /// Complexity: O(words of bitmaps), and a system call for each run of such pages.
  std::size_t discard_free_pages() noexcept {
    std::size_t given = 0;
    for_each_slab([&](run_record& slab) { given += discard_free_pages_of(slab); });
    return given;
  }

  /// As above, for the slabs of one segment, and not again for slabs that have given as long as three quarters of the
  /// cells live that were so then: it is the last cells of a page that free it.
  std::size_t discard_free_pages(std::size_t segment_number) noexcept {
    std::size_t given = 0;
    segments_.for_each_run_of(segment_number, [&](segment& home, std::size_t first, std::size_t) {
      run_record& slab = home.record(first);
      if (slab.number == size_classes::none) return;
      const std::size_t live = slab.capacity - slab.free, were = slab.capacity - slab.free_when_dropped;
      const bool has_given = slab.free_when_dropped != 0 && live * 4 > were * 3;
      if (!has_given) given += discard_free_pages_of(slab);
    });
    return given;
  }

  /// Returns: cells of a class that wait in its word.
  [[nodiscard]] std::size_t in_word(std::size_t number) const noexcept {
    return static_cast<std::size_t>(std::popcount(shelves_[number].word.mask));
  }

  [[nodiscard]] std::size_t slabs() const noexcept { return slabs_; }

  /// Returns: how many bytes of a class a milestone stands for.
  [[nodiscard]] static std::size_t milestone_bytes(std::size_t number) noexcept { return milestone_bytes_of[number]; }

  /// Effects: forgets all slabs. Expects: so do the segments.
  void clear() noexcept {
    if constexpr (keeps_canaries) for_each_slab([&](run_record& slab) { dig(slab, 0, slab.capacity); });
    shelves_ = {};
    for (hot_share& each : hot_) each.bytes = 0;
    slabs_ = slab_bytes_ = free_bytes_ = dropped_bytes_ = refetched_ = made_bytes_ = 0;
    hot_bytes_.store(0, std::memory_order_relaxed);
  }

  /// Complexity: O(slices and words of bitmaps).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t slabs = 0, shelved = 0, on_shelves = 0, bytes = 0, free = 0, dropped = 0;
    bool right = true;
    for_each_slab([&](run_record& slab) {
      ++slabs;
      bytes += slab.length * slice_bytes;
      free += std::size_t{slab.free} * slab.cell_bytes;
      dropped += slab.dropped_bytes;
      shelved += slab.is_shelved ? 1 : 0;
      right = right && slab.is_shelved == (slab.free != 0) && slab.free < slab.capacity && slab_cells(slab).invariant();
    });
    for (std::size_t number = 0; number <= size_classes::count; ++number)
      for (const run_record* slab = shelves_[number].slabs; slab != nullptr; slab = slab->next, ++on_shelves)
        right = right && slab->number == number && (slab->next == nullptr || slab->next->previous == slab);
    return right && slabs == slabs_ && shelved == on_shelves && bytes == slab_bytes_ && free == free_bytes_ &&
           dropped == dropped_bytes_;
  }

private:
  struct shelf {
    taken_cells word;
    std::size_t cell_bytes = 0;
    run_record* slabs = nullptr;  // those with a bit set
  };

  void add_hot_bytes(std::size_t bytes) noexcept { hot_bytes_.store(hot_bytes() + bytes, std::memory_order_relaxed); }

  void sweep(std::size_t number, hot_stacks& hot) noexcept {
    while (void* const cell = hot.top_of(number)) {
      expect_link(cell, number, heap_);
      hot.pop_top(number, cell);
      mark_free(cell, hot_stacks::link_bytes);
      give(cell);
    }
    add_hot_bytes(std::size_t{0} - std::exchange(hot_[number].bytes, 0));
  }

  [[nodiscard]] std::size_t discard_free_pages_of(run_record& slab) noexcept {
    using pages = page_discard<Upstream>;
    const std::size_t page = os::pages::page_bytes();
    if (!pages::is_possible || slab.free * std::size_t{slab.cell_bytes} < page) return 0;
    std::size_t dropped = 0;
    slab_cells(slab).for_each_free_run([&](std::size_t first, std::size_t last) {
      if constexpr (keeps_canaries) dig(slab, first, last);
      std::byte* const begin = align_up(slab.cell(first), page);
      std::byte* const end = align_down(slab.cell(last), page);
      if (begin < end && pages::discard(begin, static_cast<std::size_t>(end - begin)))
        dropped += static_cast<std::size_t>(end - begin);
    });
    const std::size_t before = slab.dropped_bytes;
    keep_dropped(slab, slab.free, dropped);
    return dropped - std::min(dropped, before);
  }

  void keep_dropped(run_record& slab, std::size_t free, std::size_t bytes) noexcept {
    dropped_bytes_ += bytes - slab.dropped_bytes;
    slab.free_when_dropped = static_cast<std::uint32_t>(free);
    slab.dropped_bytes = static_cast<std::uint32_t>(bytes);
  }

  // Returns: a cell of a word, of which the next ones become hot: so of eight requests one comes here. Not one that
  // counts, for it would have to be counted, and none of what strangers may look for in the word.
  // Expects: the word is not empty, the stack is.
  [[nodiscard]] ASHLAR_INLINE std::byte* take_some(std::size_t number, hot_stacks& hot) noexcept {
    shelf& from = shelves_[number];
    std::byte* const cell = from.word.take(from.cell_bytes);
    if constexpr (checking_level < checking::hardened)
      if (number < first_common_word && hot.is_empty(number)) heat(from.word, from.cell_bytes, number, hot);
    return cell;
  }

  // Effects: fills the word of a class. Expects: it is empty.
  [[nodiscard]] ASHLAR_COLD bool restock(std::size_t number, hot_stacks& hot) noexcept {
    shelf& at = shelves_[number];
    if (at.slabs == nullptr && !add_slab(number, hot)) return false;
    run_record& slab = *at.slabs;
    at.word = slab_cells(slab).take_word();
    free_bytes_ -= static_cast<std::size_t>(std::popcount(at.word.mask)) * slab.cell_bytes;
    refetched_ += slab.dropped_bytes;
    if (slab.dropped_bytes != 0) keep_dropped(slab, 0, 0);
    at.cell_bytes = slab.cell_bytes;
    if (slab.free == 0) unshelve(slab);
    return true;
  }

  // Effects: puts a slab on an empty shelf: one that the sweep has found, or a new one. Memory that has been used comes
  // first, and what the sweep may free of it, as long as slabs were made for a quarter of what it has to go through.
  [[nodiscard]] bool add_slab(std::size_t number, hot_stacks& hot) noexcept {
    const std::size_t length = cell_layout::of(number).slices;
    const auto is_found = [&] { return shelves_[number].slabs != nullptr; };
    slice_run run = segments_.take_used(length);
    if (run.data == nullptr && made_bytes_ * 4 >= hot_bytes()) {
      if (sweep(hot); is_found()) return true;
      run = segments_.take_used(length);
    }
    if (run.data == nullptr) run = segments_.take(length);
    if (run.data == nullptr) {
      if (sweep(hot); is_found()) return true;
      run = segments_.take(length);
    }
    if (run.data == nullptr && segments_.grow(length)) run = segments_.take(length);
    if (run.data == nullptr) return false;
    make_slab(number, run.data);
    return true;
  }

  void make_slab(std::size_t number, std::byte* memory) noexcept {
    run_record& slab = segment::of(memory)->record(segment::slice_of(memory));
    slab_cells cells(slab);
    cells.format(number, 2 * number + slabs_made_[number]++);
    if constexpr (keeps_canaries) bury_front(slab);
    mark_free(memory, slab.length * slice_bytes);
    ++slabs_;
    slab_bytes_ += slab.length * slice_bytes;
    made_bytes_ += slab.length * slice_bytes;
    free_bytes_ += std::size_t{slab.free} * slab.cell_bytes;
    shelve(slab);
  }

  // Effects: puts a slab that has got a bit more where it belongs now.
  void file(run_record& slab) noexcept {
    if (slab.free == slab.capacity) return remove_slab(slab);
    if (!slab.is_shelved) shelve(slab);
  }

  // Looks at dead cells before they are gone. Nothing below level `hardened`.
  void dig([[maybe_unused]] run_record& slab, [[maybe_unused]] std::size_t first,
           [[maybe_unused]] std::size_t last) const noexcept {
    if constexpr (keeps_canaries) dig_cells(slab, first, last, heap_);
  }

  void remove_slab(run_record& slab) noexcept {
    dig(slab, 0, slab.capacity);
    if (slab.is_shelved) unshelve(slab);
    segment& home = *segment::of(&slab);
    const std::size_t first = slab.first;
    home.set_owner(first, slab.length, size_classes::none);
    for (std::size_t i = 1; i < slab.length; ++i) home.record(first + i).is_shelved = true;  // as a block that is free
    --slabs_;
    slab_bytes_ -= slab.length * slice_bytes;
    free_bytes_ -= std::size_t{slab.free} * slab.cell_bytes;
    if (slab.dropped_bytes != 0) keep_dropped(slab, 0, 0);
    segments_.give(home.slice(first), slab.length);
  }

  void shelve(run_record& slab) noexcept {
    run_record*& front = shelves_[slab.number].slabs;
    slab.previous = nullptr;
    slab.next = front;
    if (front != nullptr) front->previous = &slab;
    front = &slab;
    slab.is_shelved = true;
  }

  void unshelve(run_record& slab) noexcept {
    (slab.previous != nullptr ? slab.previous->next : shelves_[slab.number].slabs) = slab.next;
    if (slab.next != nullptr) slab.next->previous = slab.previous;
    slab.is_shelved = false;
  }

  std::array<shelf, size_classes::count + 1> shelves_ = {};
  std::size_t slabs_ = 0;
  // By class: one that took turns with others would have the same few colours always, and may be no milestone at all.
  // A class begins at an even turn: in the half that is further in, where small cells are no milestones.
  std::array<std::uint16_t, size_classes::count + 1> slabs_made_ = {};
  std::size_t slab_bytes_ = 0;
  std::size_t free_bytes_ = 0;              // of cells whose bit is set
  std::size_t dropped_bytes_ = 0;           // of pages given back out of slabs
  std::size_t refetched_ = 0;               // of these, in use again
  std::size_t made_bytes_ = 0;              // of slabs since all stacks were swept
  std::atomic<std::size_t> hot_bytes_ = 0;  // of cells on stacks, by their milestones; others may ask how many
  hot_shares hot_;
  segment_store<Upstream>& segments_;
  const void* heap_;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
