// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The small blocks of a heap behind its hot cells: slabs by class, the sweep that finds out which are free again.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/poison.hpp>
#include <ashlar/heap/heap_faults.hpp>
#include <ashlar/heap/page_discard.hpp>
#include <ashlar/heap/segment_store.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/part/pair_stack.hpp>
#include <ashlar/part/segment.hpp>
#include <ashlar/part/size_classes.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// One stack of hot cells for each class; number 0 stays empty.
using hot_stacks = pair_stacks<size_classes::count + 1>;

/// Cells out of slabs of one class each. A free cell is in one of three places:
///
///   hot: on the stack of its class   word: among the 64 being handed out of the class   bits: in its slab's bitmap
///
/// Frees go on stacks without a look at the slab. The sweep empties the stacks into the bitmaps and gives empty slabs
/// back; it comes before the heap has grown by an eighth, and before it asks the upstream for more. Each free is swept
/// once at most, so that costs O(1) amortised; one sweep costs O(hot cells).
/// Invariant: a slab is on its class's shelf exactly while a bit is set.
template <resource Upstream>
class cell_store {
public:
  /// `heap`: whom reports name.
  explicit cell_store(segment_store<Upstream>& segments, const void* heap = nullptr) noexcept
      : segments_(segments), heap_(heap) {}

  /// Returns: a cell, or null where the upstream has no memory left.
  [[nodiscard]] void* take(std::size_t number, hot_stacks& hot) noexcept {
    shelf& from = shelves_[number];
    if (from.word.mask == 0 && !restock(number, hot)) return nullptr;
    const auto lowest = static_cast<std::size_t>(std::countr_zero(from.word.mask));
    from.word.mask &= from.word.mask - 1;
    return from.word.base + lowest * from.cell_bytes;
  }

  /// Effects: sets the cell's bit; gives its slab back where all are set then.
  void give(void* cell) noexcept {
    run_record& slab = segment::slab_of(cell);
    slab_cells(slab).give(cell);
    file(slab);
  }

  /// Effects: empties the stacks into the bitmaps. At level `hardened` reports a free cell that was written to.
  ASHLAR_COLD void sweep(hot_stacks& hot) noexcept {
    for (std::size_t number = 1; number <= size_classes::count; ++number)
      while (void* const cell = hot.pop(number)) {
        if constexpr (checking_level >= checking::hardened)
          block_check<Upstream>(segments_, heap_, nullptr).expect_link(hot.next_of(number), number);
        mark_free(cell, sizeof(void*));
        give(cell);
      }
    next_sweep_ = slabs_ + std::max<std::size_t>(8, slabs_ / 8);
  }

  /// Effects: puts every free cell into its bitmap.
  ASHLAR_COLD void settle(hot_stacks& hot) noexcept {
    sweep(hot);
    for (shelf& each : shelves_) {
      if (each.word.mask == 0) continue;
      run_record& slab = segment::slab_of(each.word.base);
      slab_cells(slab).give_word(each.word);
      each.word = {};
      file(slab);
    }
  }

  /// Calls `f(record)` for each slab.
  template <class F>
  void for_each_slab(F f) const {
    segments_.for_each_run([&](segment& home, std::size_t first, std::size_t) {
      if (home.record(first).number != size_classes::none) f(home.record(first));
    });
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
      if (cells.is_live(cell)) return false;
    const taken_cells& word = shelves_[slab.number].word;
    const std::size_t behind = address_of(cell) - address_of(word.base);
    const std::size_t place = behind / slab.cell_bytes;
    return place >= 64 || ((word.mask >> place) & 1) == 0;
  }

  /// Effects: drops the contents of whole free pages inside slabs. Returns: their bytes. Expects: the store is settled.
  /// Complexity: O(words of bitmaps), and a system call for each run of such pages.
  std::size_t discard_free_pages() noexcept {
    std::size_t given = 0;
    for_each_slab([&](run_record& slab) {
      if (slab.free == 0) return;
      const slab_cells cells(slab);
      std::size_t start = 0;  // of a run of free cells
      for (std::size_t index = 0; index <= slab.capacity; ++index) {
        if (index < slab.capacity && cells.is_free(static_cast<std::uint32_t>(index))) continue;
        given += discard_between(slab.cell(start), slab.cell(index));
        start = index + 1;
      }
    });
    return given;
  }

  /// Returns: cells of a class that wait in its word.
  [[nodiscard]] std::size_t in_word(std::size_t number) const noexcept {
    return static_cast<std::size_t>(std::popcount(shelves_[number].word.mask));
  }

  [[nodiscard]] std::size_t slabs() const noexcept { return slabs_; }

  /// Effects: forgets all slabs. Expects: so do the segments.
  void clear() noexcept {
    shelves_ = {};
    slabs_ = next_sweep_ = 0;
  }

  /// Complexity: O(slices and words of bitmaps).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t slabs = 0, shelved = 0, on_shelves = 0;
    bool right = true;
    for_each_slab([&](run_record& slab) {
      ++slabs;
      shelved += slab.is_shelved ? 1 : 0;
      right = right && slab.is_shelved == (slab.free != 0) && slab.free < slab.capacity && slab_cells(slab).invariant();
    });
    for (std::size_t number = 0; number <= size_classes::count; ++number)
      for (const run_record* slab = shelves_[number].slabs; slab != nullptr; slab = slab->next, ++on_shelves)
        right = right && slab->number == number && (slab->next == nullptr || slab->next->previous == slab);
    return right && slabs == slabs_ && shelved == on_shelves;
  }

private:
  struct shelf {
    taken_cells word;
    std::size_t cell_bytes = 0;
    run_record* slabs = nullptr;  // those with a bit set
  };

  [[nodiscard]] static std::size_t discard_between(std::byte* first, std::byte* last) noexcept {
    using pages = page_discard<Upstream>;
    const std::size_t page = os::pages::page_bytes();
    std::byte* const begin = align_up(first, page);
    std::byte* const end = align_down(last, page);
    if (!pages::is_possible || begin >= end) return 0;
    const auto bytes = static_cast<std::size_t>(end - begin);
    return pages::discard(begin, bytes) ? bytes : 0;
  }

  // Effects: fills the word of a class. Expects: it is empty.
  [[nodiscard]] ASHLAR_COLD bool restock(std::size_t number, hot_stacks& hot) noexcept {
    shelf& at = shelves_[number];
    if (at.slabs == nullptr && !add_slab(number, hot)) return false;
    run_record& slab = *at.slabs;
    at.word = slab_cells(slab).take_word();
    at.cell_bytes = slab.cell_bytes;
    if (slab.free == 0) unshelve(slab);
    return true;
  }

  // Effects: puts a slab on an empty shelf: one that the sweep has found, or a new one.
  [[nodiscard]] bool add_slab(std::size_t number, hot_stacks& hot) noexcept {
    if (slabs_ >= next_sweep_) {
      sweep(hot);
      if (shelves_[number].slabs != nullptr) return true;
    }
    const std::size_t length = slab_cells::slices_for(size_classes::bytes_of(number));
    slice_run run = segments_.take(length);
    if (run.data == nullptr) {
      sweep(hot);
      if (shelves_[number].slabs != nullptr) return true;
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
    cells.format(number, slabs_made_++);
    mark_free(memory, slab.length * slice_bytes);
    ++slabs_;
    shelve(slab);
  }

  // Effects: puts a slab that has got a bit more where it belongs now.
  void file(run_record& slab) noexcept {
    if (slab.free == slab.capacity) return remove_slab(slab);
    if (!slab.is_shelved) shelve(slab);
  }

  void remove_slab(run_record& slab) noexcept {
    if (slab.is_shelved) unshelve(slab);
    segment& home = *segment::of(&slab);
    const std::size_t first = slab.first;
    home.set_owner(first, slab.length, size_classes::none);
    --slabs_;
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
  std::size_t slabs_made_ = 0;
  std::size_t next_sweep_ = 0;
  segment_store<Upstream>& segments_;
  const void* heap_;
};

}  // namespace ashlar::inline ASHLAR_ABI
