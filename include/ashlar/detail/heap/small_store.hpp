// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The small blocks of a heap behind its thread cache: slabs by size class, and the sweep of free lists into bitmaps.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_faults.hpp>
#include <ashlar/detail/heap/cell_quarantine.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/heap/thread_cache.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/random_bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A list through the slabs, the last one added in front. Invariant: `is_available` marks those in the list. Thread
/// safety: none.
struct partial_slabs {
  cell_batch batch;
  std::size_t cell_bytes = 0;
  span_header* slabs = nullptr;  ///< slabs with a set bit
  /// The requested sizes of the cells of the batch, which saves a look-up of the slab.
  ASHLAR_NO_UNIQUE_ADDRESS if_hardened<atomic<std::uint16_t>*> sizes;

  /// Returns: a cell of the batch that `random` chooses. Expects: the batch is not empty.
  [[nodiscard]] ASHLAR_INLINE sized_cell take_any(std::uint64_t random) noexcept {
    const std::size_t place = batch.take_any(random);
    return {batch.base + place * cell_bytes, cell_bytes, sizes ? *sizes + place : nullptr};
  }

  /// Returns: the slab of one of the cells of the first eight, each as likely (a reservoir). Expects: there is one.
  [[nodiscard]] span_header& any(std::uint64_t random) const noexcept {
    span_header* chosen = slabs;
    std::uint64_t cells = slabs->free;
    std::size_t seen = 1;
    for (span_header* next = slabs->next; next != nullptr && seen < 8; next = next->next, ++seen) {
      cells += next->free;
      random = std::rotr(random, 8);
      if (random % cells < next->free) chosen = next;
    }
    return *chosen;
  }

  /// Effects: takes the first batch, or one that `random` chooses. Returns: its slab. Expects: there is one.
  template <bool IsRandom>
  span_header& take_batch(part_if<IsRandom, random_bits>& random) noexcept {
    span_header& slab = random ? any(random->next()) : *slabs;
    batch = random ? slab_view(slab).take_batch(random->next()) : slab_view(slab).take_batch();
    cell_bytes = slab.cell_bytes;
    return slab;
  }

  /// Returns: whether the class is in use, and its cells could be foreseen. Expects: the batch is empty.
  [[nodiscard]] bool has_few_cells() const noexcept {
    std::size_t cells = 0;
    for (const span_header* slab = slabs; slab != nullptr && cells < 128; slab = slab->next) cells += slab->free;
    return cell_bytes != 0 && cells < 128;
  }

  void add(span_header& slab) noexcept {
    slab.previous = nullptr;
    slab.next = slabs;
    if (slabs != nullptr) slabs->previous = &slab;
    slabs = &slab;
    slab.is_available = true;
  }

  void remove(span_header& slab) noexcept {
    (slab.previous != nullptr ? slab.previous->next : slabs) = slab.next;
    if (slab.next != nullptr) slab.next->previous = slab.previous;
    slab.is_available = false;
  }
};

/// Pages inside slabs that were decommitted, in bytes.
class dropped_pages {
public:
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Returns: bytes of pages that came into use again since the last call.
  [[nodiscard]] std::size_t take_refetched() noexcept { return std::exchange(refetched_, 0); }

  /// Effects: notes that a slab with `free` free cells has `bytes` bytes in such pages.
  void keep(span_header& slab, std::size_t free, std::size_t bytes) noexcept {
    bytes_ += bytes - slab.dropped_bytes;
    slab.free_when_dropped = static_cast<std::uint32_t>(free);
    slab.dropped_bytes = static_cast<std::uint32_t>(bytes);
  }
  /// Effects: notes that these pages of the slab come into use again. Returns: whether there are any.
  bool use_again(span_header& slab) noexcept {
    if (slab.dropped_bytes == 0) return false;
    refetched_ += slab.dropped_bytes;
    keep(slab, 0, 0);
    return true;
  }

private:
  std::size_t bytes_ = 0;
  std::size_t refetched_ = 0;
};

/// Cells of slabs, each slab of one size class. A free cell is in one of three places:
///
///     free list of its class   cell batch: up to 64 cells being handed out   bitmap of its slab
///
/// A free goes to a free list without access to the slab. A sweep moves a free list into the bitmaps and gives empty
/// slabs back. It runs when the sampled addresses of a list stand for 256 KiB, and over all lists before the store asks
/// for a segment. Each free is swept at most once: O(1) amortised. The limit of a list bounds the cost of one call.
/// Without free lists a freed cell waits in quarantine instead.
/// Invariant: a slab is among the partial slabs of its class exactly while a bit is set.
template <resource Upstream>
class small_store {
  using pages = page_discard<Upstream>;

public:
  /// `heap`: named in reports.
  explicit constexpr small_store(span_store<Upstream>& spans, const void* heap = nullptr) noexcept
      : spans_(spans), heap_(heap) {}

  /// Returns: a cell, or null when the upstream has no memory left.
  [[nodiscard]] void* take(std::size_t size_class, thread_cache& cache) noexcept {
    if (random_ && ASHLAR_UNLIKELY(!random_->is_seeded())) leave_parent();
    if (partial_[size_class].batch.mask == 0 && !restock(size_class, cache)) return nullptr;
    return take_from_batch_and_refill(size_class, cache);
  }

  /// With remote frees the batches of smaller classes belong to the owner alone; larger ones would retain too much.
  static constexpr std::size_t first_common_batch = size_classes::of(1024) + 1;

  /// As `take`, but null if the batch is empty, or of the parent process.
  [[nodiscard]] ASHLAR_INLINE void* take_from_batch(std::size_t size_class, thread_cache& cache) noexcept {
    return has_any(size_class) ? take_from_batch_and_refill(size_class, cache) : nullptr;
  }

  /// Returns: whether `take_any` has a cell that `hand_out_small` takes for a request.
  [[nodiscard]] ASHLAR_INLINE bool has_any(std::size_t size_class, std::size_t bytes) const noexcept {
    return has_any(size_class) && has_canary_in_granule(at_least_one_byte(bytes), partial_[size_class].cell_bytes);
  }
  /// Returns: any cell of the batch. Expects: `has_any`; free cells are zero.
  [[nodiscard]] ASHLAR_INLINE sized_cell take_any(std::size_t size_class) noexcept {
    return partial_[size_class].take_any(random_->next_of_64_seeded());
  }

  /// Effects: prefetches the cells that `take` hands out next, which other threads may have freed.
  ASHLAR_INLINE void fetch_ahead(std::size_t size_class) const noexcept {
    partial_[size_class].batch.fetch_ahead(partial_[size_class].cell_bytes, thread_cache::cells_at_once);
  }

  /// Effects: sets the bit of the cell, after its quarantine; gives an empty slab back. Reports a double free.
  void give(void* cell) noexcept {
    span_header& slab = segment::slab_of(cell);
    if constexpr (freed_cells_wait<Upstream>) return wait(slab_view(slab).gather(cell));
    if (ASHLAR_UNLIKELY(!slab_view(slab).give(cell))) report_twice(cell, heap_);
    free_bytes_ += slab.cell_bytes;
    file(slab);
  }

  /// Returns: the cells that wait for `give_freed`. Thread safety: the owner, without the lock.
  [[nodiscard]] ASHLAR_INLINE auto& freed() noexcept { return freed_; }
  /// Effects: gives the cells of a class that wait.
  void give_freed(std::size_t size_class) noexcept {
    gathered_cells<span_header> cells;
    if constexpr (freed_cells_wait<Upstream>)
      freed_->take_groups(
          size_class, [&](void* cell) { cells = slab_view(segment::slab_of(cell)).gather(cell); },
          [&](void* cell) { return cells.add(cell); }, [&] { wait(cells); });
  }
  /// Effects: gives the cells in quarantine.
  void end_quarantine() noexcept {
    if (quarantine_) quarantine_->clear([this](const cell_batch& cells) { return give_batch(cells); });
  }

  /// Effects: as `give`, without quarantine, for cells of one bitmap word. Returns: their bytes.
  std::size_t give_mask(span_header& slab, std::size_t word, std::uint64_t cells) noexcept {
    const std::size_t bytes = count_bits(cells) * slab.cell_bytes;
    expect_none_twice(slab, word, slab_view(slab).give_batch(word, cells), heap_);
    free_bytes_ += bytes;
    file(slab);
    return bytes;
  }

  /// Effects: sweeps all free lists into the bitmaps, and cached spans to the segments. From level `checked` on reports
  /// a cell with a corrupt link.
  ASHLAR_COLD void sweep(thread_cache& cache) noexcept {
    sweep_spans(cache);
    made_bytes_ = 0;
    if (slabs_ == 0) return;
    for (std::size_t size_class = 1; size_class < first_common_batch; ++size_class) give_freed(size_class);
    for (std::size_t size_class = 1; size_class <= size_classes::count; ++size_class) sweep(size_class, cache);
  }

  /// Effects: counts a sampled address pushed onto a free list; sweeps the list above its limit. Returns: the bytes
  /// that the address stands for.
  std::size_t count_freed(std::size_t size_class, thread_cache& cache) noexcept {
    if (cache.count_freed(size_class)) sweep(size_class, cache);
    return sampled_bytes_of[size_class];
  }

  /// Effects: moves the cached spans to the bins of the segments.
  ASHLAR_COLD void sweep_spans(thread_cache& cache) noexcept {
    cache.sweep_spans([this](span_header& span) { spans_.free_spans().put(span); });
  }

  /// Returns: bytes of decommitted pages that came into use again since the last call.
  [[nodiscard]] std::size_t take_refetched() noexcept { return dropped_.take_refetched(); }
  /// Returns: bytes of decommitted pages inside slabs.
  [[nodiscard]] std::size_t dropped_bytes() const noexcept { return dropped_.bytes(); }
  /// Returns: bytes of cells with a set bit, without decommitted pages, and of those in quarantine.
  [[nodiscard]] std::size_t free_bytes() const noexcept {
    return free_bytes_ - dropped_.bytes() + (quarantine_ ? quarantine_->bytes() : 0);
  }

  /// Effects: moves every free cell to its bitmap.
  ASHLAR_COLD void flush_caches(thread_cache& cache) noexcept {
    sweep(cache);
    flush_batches();
  }

  /// Effects: returns the rest of the cell batches to the bitmaps, of classes from `first` on, and the quarantine.
  ASHLAR_COLD void flush_batches(std::size_t first = 0) noexcept {
    end_quarantine();
    return_batches(first);
  }
  /// As above, without the quarantine.
  void return_batches(std::size_t first = 0) noexcept {
    for (std::size_t size_class = first; size_class < partial_.size(); ++size_class) return_batch(partial_[size_class]);
  }

  /// Effects: calls `f(header)` for each slab.
  template <class F>
  ASHLAR_INLINE void for_each_slab(F f) const {
    spans_.for_each_span([&](segment& home, std::size_t at, std::size_t) {
      if (home.record(at).size_class != size_classes::none) f(home.record(at));
    });
  }

  /// Effects: counts for each slab the free cells without a bit, and for each block that is kept whole, 1. From level
  /// `checked` on these are all cells that are not live; below, those in free lists and in batches of classes from
  /// `first` on. Complexity: O(slices and cells in free lists); from `checked` on O(cells).
  ASHLAR_COLD void count_waiting(const thread_cache& cache, std::size_t first = 0) const noexcept {
    const auto count = [](void* cell, std::size_t cells) {
      segment::slab_of(cell).waiting += static_cast<std::uint32_t>(cells);
    };
    const auto count_whole = [](span_header& span) { span.waiting = 1; };
    spans_.for_each_span([](segment& home, std::size_t at, std::size_t) {
      span_header& span = home.record(at);
      span.waiting = span.size_class != size_classes::none ? slab_view(span).dead() : 0;
    });
    spans_.free_spans().for_each(count_whole);
    spans_.for_each_quarantined(count_whole);
    cache.for_each_span(count_whole);
    if constexpr (segment::live_cells::is_there) return;
    for (std::size_t size_class = 1; size_class <= size_classes::count; ++size_class)
      cache.for_each(size_class, [&](void* cell) { count(cell, 1); });
    for (std::size_t size_class = first; size_class < partial_.size(); ++size_class)
      if (const cell_batch& batch = partial_[size_class].batch; batch.mask != 0)
        count(batch.base, count_bits(batch.mask));
  }

  /// Returns: whether the cell is in a free list; below level `checked` also for a live one. Expects: it is a cell of
  /// one of the slabs.
  [[nodiscard]] bool is_cached(void* cell) const noexcept {
    span_header& slab = segment::slab_of(cell);
    const slab_view cells(slab);
    if (cells.is_free(slab.index_of(cell)) || (segment::live_cells::is_there && segment::is_live(cell))) return false;
    return !partial_[slab.size_class].batch.has(cell, slab.cell_bytes);
  }

  /// Effects: decommits whole free pages inside slabs. Returns: their bytes.
  /// Complexity: O(bitmap words), and a system call for each run of such pages.
  ASHLAR_COLD std::size_t discard_free_pages(function_ref<> pause) noexcept {
    std::size_t given = 0;
    for (std::size_t i = 0; i < spans_.segments(); ++i, pause()) given += discard_free_pages(i, true);
    return given;
  }

  /// As above, for the slabs of one segment. Unless `of_all`, huge pages stay whole, and it skips a purged slab while
  /// three quarters of its live cells at that time remain, since a page becomes free with its last cell.
  ASHLAR_COLD std::size_t discard_free_pages(std::size_t segment_number, bool of_all = false) noexcept {
    std::size_t given = 0;
    if (!of_all && pages::are_huge()) return 0;
    spans_.for_each_span_of(segment_number, [&](segment& home, std::size_t first, std::size_t) {
      span_header& slab = home.record(first);
      if (slab.size_class == size_classes::none) return;
      const std::size_t live = slab.capacity - slab.free, were = slab.capacity - slab.free_when_dropped;
      if (of_all || slab.free_when_dropped == 0 || live * 4 <= were * 3) given += discard_free_pages_of(slab);
    });
    return given;
  }

  /// Effects: from now on spans and cells come from the segments with the most live bytes, and in these from the first
  /// huge page, so that others become free. Complexity: O(slices), and a sort of the segments.
  ASHLAR_COLD void gather() noexcept {
    spans_.gather();
    for (partial_slabs& each : partial_) each.slabs = nullptr;
    for (std::size_t unit = 2 * spans_.segments(); unit-- != 0;)  // the last one added is the first in use
      spans_.for_each_span_of(unit / 2, [&](segment& home, std::size_t first, std::size_t) {
        span_header& slab = home.record(first);
        const bool is_partial = slab.size_class != size_classes::none && slab.is_available;
        if (is_partial && first / slices_per_unit == unit % 2) partial_[slab.size_class].add(slab);
      });
  }

  /// Effects: forgets all slabs. Expects: the segments forget them too.
  void clear() noexcept {
    if constexpr (keeps_canaries) for_each_slab([&](span_header& slab) { verify_poison(slab, 0, slab.capacity); });
    partial_ = {}, dropped_ = {};
    if (freed_) freed_->clear();
    if (quarantine_) quarantine_->forget();
    slabs_ = free_bytes_ = made_bytes_ = 0;
  }

  /// Complexity: O(slices and words of bitmaps).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t slabs = 0, available = 0, listed = 0, free = 0, dropped = 0;
    bool right = true;
    for_each_slab([&](span_header& slab) {
      ++slabs;
      free += std::size_t{slab.free} * slab.cell_bytes;
      dropped += slab.dropped_bytes;
      available += slab.is_available ? 1 : 0;
      right &= slab.is_available == (slab.free != 0) && (is_random || slab.free < slab.capacity) &&
               slab_view(slab).invariant();
    });
    for (std::size_t size_class = 0; size_class <= size_classes::count; ++size_class)
      for (const span_header* slab = partial_[size_class].slabs; slab != nullptr; slab = slab->next, ++listed)
        right = right && slab->size_class == size_class && (slab->next == nullptr || slab->next->previous == slab);
    return right && slabs == slabs_ && available == listed && free == free_bytes_ && dropped == dropped_.bytes() &&
           (!quarantine_ || quarantine_->invariant([](const cell_batch& cells) {
             return slab_view(segment::slab_of(cells.base)).bytes_of_dead(cells);
           }));
  }

private:
  static constexpr bool is_random = page_discard<Upstream>::has_guards;

  [[nodiscard]] ASHLAR_INLINE bool has_any(std::size_t size_class) const noexcept {
    return ASHLAR_LIKELY(partial_[size_class].batch.mask != 0) && (!random_ || ASHLAR_LIKELY(random_->is_seeded()));
  }

  std::size_t give_batch(const cell_batch& batch) noexcept {
    span_header& slab = segment::slab_of(batch.base);
    return give_mask(slab, slab.index_of(batch.base) / 64, batch.mask);
  }

  void return_batch(partial_slabs& of) noexcept {
    const cell_batch rest = std::exchange(of.batch, {});
    if (rest.mask != 0) give_batch(rest);
  }

  // Effects: the first block of each class that a child allocates is one of many, as its siblings have the same cells.
  ASHLAR_COLD void leave_parent() noexcept {
    for (std::size_t size_class = 1; size_class < partial_.size(); ++size_class) {
      return_batch(partial_[size_class]);
      for (int added = 0; added != 4 && partial_[size_class].has_few_cells(); ++added)
        if (const fresh_block span = spans_.take(cell_layout::of(size_class).slices); span.data != nullptr)
          make_slab(size_class, span.data);
    }
  }

  void wait(const gathered_cells<span_header>& cells) noexcept {
    quarantine_->put(cells.batch, cells.home->cell_bytes, [this](const cell_batch& left) { return give_batch(left); });
  }

  void sweep(std::size_t size_class, thread_cache& cache) noexcept {
    thread_cache::linked_cells list = cache.remove_all(size_class);
    for (void* cell = pop_sound(list, size_class, heap_); cell != nullptr;) {
      gathered_cells<span_header> cells = slab_view(segment::slab_of(cell)).gather(cell);
      do cell = pop_sound(list, size_class, heap_);
      while (cell != nullptr && cells.add(cell));
      give_mask(*cells.home, cells.word, cells.batch.mask);
    }
    cache.count_swept(size_class);
  }

  [[nodiscard]] std::size_t discard_free_pages_of(span_header& slab) noexcept {
    const std::size_t most = slab.free * std::size_t{slab.cell_bytes};
    if (!page_discard<Upstream>::is_possible || most < os::pages::page_bytes()) return 0;
    std::size_t dropped = 0;
    slab_view(slab).free_cells().for_each_run([&](std::size_t first, std::size_t last) {
      verify_poison(slab, first, last);
      dropped += discard_pages_between<Upstream>(slab.cell(first), slab.cell(last));
    });
    const std::size_t before = slab.dropped_bytes;
    dropped_.keep(slab, slab.free, dropped);
    if (dropped != 0) segment::of(&slab)->head.split = 3;
    return dropped - detail::min(dropped, before);
  }

  // Returns: a cell of a batch, after moving the next cells to the free list: one request in eight comes here. Sampled
  // addresses, which must be counted, and batches open to remote threads stay.
  // Expects: the batch is not empty, the free list is.
  [[nodiscard]] ASHLAR_INLINE std::byte* take_from_batch_and_refill(std::size_t size_class,
                                                                    thread_cache& cache) noexcept {
    partial_slabs& from = partial_[size_class];
    if constexpr (is_random) return from.take_any(random_->next_of_64()).data;
    std::byte* const cell = from.batch.take(from.cell_bytes);
    if constexpr (thread_cache::has_links)
      if (size_class < first_common_batch && cache.is_empty(size_class))
        cache.refill(size_class, from.batch, from.cell_bytes, cell);
    return cell;
  }

  // Effects: fills the batch of a class. Expects: it is empty.
  [[nodiscard]] ASHLAR_COLD bool restock(std::size_t size_class, thread_cache& cache) noexcept {
    partial_slabs& at = partial_[size_class];
    give_freed(size_class);  // as a rule cells of the last batch, which stay together
    if (at.slabs == nullptr && !add_slab(size_class, cache)) return false;
    span_header& slab = at.take_batch(random_);
    if constexpr (is_random) *at.sizes = sizes_in(slab) + slab.index_of(at.batch.base);
    free_bytes_ -= count_bits(at.batch.mask) * slab.cell_bytes;
    if (dropped_.use_again(slab)) spans_.mend(*segment::of(&slab));
    if (slab.free == 0) at.remove(slab);
    return true;
  }

  // Effects: adds a partial slab, found by a sweep or new. Used memory comes first; the sweep runs as long as the new
  // slabs amount to a quarter of its work.
  [[nodiscard]] ASHLAR_COLD_FOR_SPEED bool add_slab(std::size_t size_class, thread_cache& cache) noexcept {
    const std::size_t length = cell_layout::of(size_class).slices;
    const auto is_found = [&] { return partial_[size_class].slabs != nullptr; };
    fresh_block span = spans_.take_used(length);
    if (span.data == nullptr && cache.has_spans()) {
      sweep_spans(cache);
      span = spans_.take_used(length);
    }
    if (span.data == nullptr && made_bytes_ * 4 >= cache.bytes()) {
      if (sweep(cache); is_found()) return true;
      span = spans_.take_used(length);
    }
    if (span.data == nullptr) span = spans_.take(length);
    if (span.data == nullptr) {
      if (sweep(cache); is_found()) return true;
      span = spans_.take(length);
    }
    if (span.data == nullptr && spans_.grow(length)) span = spans_.take(length);
    if (span.data == nullptr) return false;
    make_slab(size_class, span.data);
    return true;
  }

  ASHLAR_INLINE_FOR_SIZE void make_slab(std::size_t size_class, std::byte* memory) noexcept {
    span_header& slab = segment::of(memory)->record(segment::slice_of(memory));
    slab_view(slab).format(size_class, 2 * size_class + slabs_made_[size_class]++, guard_bytes<Upstream>);
    if constexpr (keeps_canaries && !dead_cells_are_zero<Upstream>) poison_front(slab);
    mark_free(memory, slab.length * slice_bytes);
    ++slabs_;
    made_bytes_ += slab.length * slice_bytes;
    free_bytes_ += std::size_t{slab.free} * slab.cell_bytes;
    partial_[size_class].add(slab);
    spans_.mend(*segment::of(memory));
  }

  // Effects: lists a slab that gained its first bit.
  void file(span_header& slab) noexcept {
    if (slab.free == slab.capacity) return remove_slab(slab);
    if (!slab.is_available) partial_[slab.size_class].add(slab);
  }

  // Verifies the poison of free cells before their pages go. No effect below level `hardened`.
  void verify_poison([[maybe_unused]] span_header& slab, [[maybe_unused]] std::size_t first,
                     [[maybe_unused]] std::size_t last) const noexcept {
    if constexpr (keeps_canaries) verify_poison_of_cells<Upstream>(slab, first, last, heap_);
  }

  ASHLAR_COLD void remove_slab(span_header& slab) noexcept {
    verify_poison(slab, 0, slab.capacity);
    if (slab.is_available) partial_[slab.size_class].remove(slab);
    segment& home = *segment::of(&slab);
    const std::size_t first = slab.first;
    home.set_class(first, slab.length, size_classes::none);
    for (std::size_t i = 1; i < slab.length; ++i) home.record(first + i).is_available = true;  // as in a free block
    --slabs_;
    free_bytes_ -= std::size_t{slab.free} * slab.cell_bytes;
    dropped_.keep(slab, 0, 0);
    spans_.give(home.slice(first), slab.length);
  }

  std::array<partial_slabs, size_classes::count + 1> partial_ = {};
  ASHLAR_NO_UNIQUE_ADDRESS part_if<freed_cells_wait<Upstream>, freed_cells<first_common_batch>> freed_;
  ASHLAR_NO_UNIQUE_ADDRESS part_if<freed_cells_wait<Upstream>, cell_quarantine> quarantine_;  // under the lock
  std::size_t slabs_ = 0;
  // A colour counter for each class: a shared one could give a class the same few colours, without a sampled address.
  std::array<std::uint16_t, size_classes::count + 1> slabs_made_ = {};
  std::size_t free_bytes_ = 0;  // of cells with a set bit
  dropped_pages dropped_;
  std::size_t made_bytes_ = 0;  // of slabs since the last sweep of all lists
  span_store<Upstream>& spans_;
  const void* heap_;
  ASHLAR_NO_UNIQUE_ADDRESS part_if<is_random, random_bits> random_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
