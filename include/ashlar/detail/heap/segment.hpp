// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A segment: 4 MiB of address space in 64 slices, with the metadata of all in the first ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/slab/size_classes.hpp>

namespace ashlar::ASHLAR_ABI::detail {

inline constexpr std::size_t segment_bytes = window_bytes;
inline constexpr std::size_t slices_per_segment = segment_bytes / slice_bytes;
inline constexpr std::size_t slices_per_unit = unit_bytes / slice_bytes;

/// One bit for each possible cell of a slice.
using cell_bits = std::uint64_t[slice_bytes / size_classes::granule / 64];
inline constexpr std::size_t words_per_slab = sizeof(cell_bits) / sizeof(std::uint64_t);

// Two bits for each possible start of a cell, found without the slab. A cell is live while they differ. The owner
// flips one and needs no atomic operation, other threads flip the other one under its lock: so a word of bits has one
// writer at a time. A cell that both free at once stays live here, and in the hands of both.
struct live_cells {
  [[nodiscard]] ASHLAR_INLINE bool has(const void* cell) const noexcept {
    const word_pair& both = words[word_of(cell)];
    return ((both.owner.load(memory_order_relaxed) ^ both.others.load(memory_order_relaxed)) & bit_of(cell)) != 0;
  }
  ASHLAR_INLINE void flip(const void* cell) noexcept { flip(words[word_of(cell)].owner, bit_of(cell)); }
  ASHLAR_INLINE void flip_by_other(const void* cell) noexcept { flip(words[word_of(cell)].others, bit_of(cell)); }
  void clear(std::size_t first, std::size_t length) noexcept {
    for (std::size_t i = first * words_per_slab; i < (first + length) * words_per_slab; ++i) {
      words[i].owner.store(0, memory_order_relaxed);
      words[i].others.store(0, memory_order_relaxed);
    }
  }

private:
  struct word_pair {
    atomic<std::uint64_t> owner, others;
  };

  static ASHLAR_INLINE void flip(atomic<std::uint64_t>& word, std::uint64_t bit) noexcept {
    word.store(word.load(memory_order_relaxed) ^ bit, memory_order_relaxed);
  }
  [[nodiscard]] static ASHLAR_INLINE std::size_t word_of(const void* cell) noexcept {
    return address_of(cell) / (size_classes::granule * 64) % (slices_per_segment * words_per_slab);
  }
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t bit_of(const void* cell) noexcept {
    return std::uint64_t{1} << (address_of(cell) / size_classes::granule % 64);
  }

  word_pair words[slices_per_segment * words_per_slab];
};

// A cell has one writer at a time; the owner of a slab reads the sizes of its neighbours, which other threads may free.
struct requested_sizes {
  [[nodiscard]] atomic<std::uint16_t>* of_slice(std::size_t slice) noexcept { return sizes[slice - slices_of_head]; }
  void clear(std::size_t slice, std::size_t cells) noexcept {
    for (std::size_t i = 0; i < cells; ++i) of_slice(slice)[i].store(0, memory_order_relaxed);
  }
  static constexpr std::size_t slices_of_head = 9;
  slice_mask poisoned_slices;  // a dead block started there
  // Of the slices behind the head, by the cells of a slab.
  atomic<std::uint16_t> sizes[slices_per_segment - slices_of_head][slice_bytes / size_classes::granule];
};

/// The base of a segment's owner.
class segment_owner {
protected:
  segment_owner() = default;
  ~segment_owner() = default;
};

/// The head of a segment.
///
///     slice 0                                                          (1)  first_slice                    63
///     | class_of_slice, parcel_lanes 4 KiB | records 4 KiB | bits 32 KiB | (live) | slab | slab | one block | … |
///
/// `class_of_slice` has a byte for each slice: the size class of its cells, 0 without cells. The byte of an address is
/// `(address >> 16) & 2047`: six bits of slice, five bits of segment, so that the 64 bytes in use of 32 neighbouring
/// segments lie in different cache sets. One load gives the size class of a block. `parcel_lanes` has another byte for
/// each slice: the lane of the heap, if a parcel may list cells of the slice; one load gives a free by another thread
/// both answers. From level `checked` on two more bitmaps mark live cells; from `hardened` on two bytes a cell hold the
/// requested size, in seven more slices. Pages of the head become resident on first use.
struct segment {
  static constexpr std::uint32_t lanes = 32;
  static constexpr std::uint32_t no_lane = lanes;
  /// The largest cells that a carrier lists. Larger ones are carriers, each of which is counted by its bytes.
  static constexpr std::size_t largest_listed = size_classes::of(1024);

  struct alignas(64) header {
    std::size_t index;     ///< in the table of the heap
    std::size_t bytes;     ///< less than `segment_bytes` at first, and if memory was short
    segment_owner* owner;  ///< any thread with a live block in the segment may read it
    std::uint32_t lane;    ///< of the owner: an index below `lanes`, by which freers of several owners look up theirs
    slice_mask fresh = 0;  ///< between two owners: slices unused since they came from the system
    bool is_guarded = false;       ///< free slices and the last page of each span are inaccessible
    std::uint8_t split = 0;        ///< a bit for each huge page of which a part may have gone back
    std::uint32_t live_bytes = 0;  ///< at the last sort
  };

  using live_cells = if_checked<detail::live_cells>;
  using requested_sizes = if_hardened<detail::requested_sizes>;

  std::uint8_t class_of_slice[2048], parcel_lanes[2048];
  header head;                                  // in place of the record of slice 0
  span_header records[slices_per_segment - 1];  // of the slices from 1 on
  cell_bits bits[slices_per_segment];           // set: the cell is free, and in no cache
  ASHLAR_NO_UNIQUE_ADDRESS live_cells live;
  ASHLAR_NO_UNIQUE_ADDRESS requested_sizes requested;

  [[nodiscard]] static ASHLAR_INLINE segment* of(void* p) noexcept {
    return reinterpret_cast<segment*>(align_down(p, segment_bytes));
  }

  /// Returns: the size class of the slab of `p`, or none. Expects: `p` lies in a segment, not at its start.
  [[nodiscard]] static ASHLAR_INLINE std::size_t size_class_of(void* p) noexcept {
    return of(p)->class_of_slice[(address_of(p) / slice_bytes) % sizeof class_of_slice];
  }

  /// Returns: whether `p` lies in a slab. Expects: a block, or null; huge blocks and null start a window.
  [[nodiscard]] static bool is_in_slab(void* p) noexcept {
    return !is_aligned(p, window_bytes) && size_class_of(p) != size_classes::none;
  }

  /// Returns: the lane of the heap of `p` if a parcel lists cells of its slab, else `no_lane`. Expects: as
  /// `size_class_of`.
  [[nodiscard]] static ASHLAR_INLINE std::size_t parcel_lane_of(void* p) noexcept {
    return of(p)->parcel_lanes[(address_of(p) / slice_bytes) % sizeof parcel_lanes];
  }

  /// Returns: each lane in turn, for heaps without a number: two in one lane make a freer of both send short parcels.
  /// Thread safety: any thread.
  [[nodiscard]] static std::uint32_t next_lane() noexcept {
    static atomic<std::uint32_t> given = 0;
    return given.fetch_add(1, memory_order_relaxed) % lanes;
  }

  /// Returns: the owner of the segment of `p`. Expects: as `size_class_of`.
  [[nodiscard]] static ASHLAR_INLINE segment_owner* heap_of(void* p) noexcept { return of(p)->head.owner; }

  [[nodiscard]] static std::size_t slice_of(const void* p) noexcept {
    return (address_of(p) / slice_bytes) % slices_per_segment;
  }

  /// Returns: the span header of the slab of `p`. Expects: `p` lies in a slab.
  [[nodiscard]] static span_header& slab_of(void* p) noexcept {
    segment* const home = of(p);
    return home->record(home->record(slice_of(p)).first);
  }

  /// Returns: whether a live cell starts at `p`. Expects: level `checked`, below which this is unknown; `p` points into
  /// a slab.
  [[nodiscard]] static ASHLAR_INLINE bool is_live(void* p) noexcept {
    return live_cells::is_there && is_aligned(p, size_classes::granule) && of(p)->live->has(p);
  }

  /// Effects: inverts `is_live(p)`. Expects: level `checked`; `p` is a cell. Thread safety: the owner.
  static ASHLAR_INLINE void flip_live(void* p) noexcept { of(p)->live->flip(p); }
  /// As `flip_live`. Thread safety: any thread that holds the lock of the owner.
  static void flip_live_by_other(void* p) noexcept { of(p)->live->flip_by_other(p); }

  /// Effects: makes the head of a segment without slabs in raw memory. Expects: `memory` is aligned to a segment.
  ASHLAR_INLINE_FOR_SIZE static segment* format(void* memory, std::size_t index, std::size_t bytes,
                                                segment_owner* owner = nullptr, std::uint32_t lane = 0) noexcept {
    auto* const made = static_cast<segment*>(memory);
    ::new (&made->head) header{index, bytes, owner, lane};
    made->set_class(0, slices_per_segment, size_classes::none);
    if (made->requested) made->requested->poisoned_slices = 0;
    return made;
  }

  [[nodiscard]] span_header& record(std::size_t slice) noexcept { return records[slice - 1]; }
  [[nodiscard]] const span_header& record(std::size_t slice) const noexcept { return records[slice - 1]; }
  [[nodiscard]] std::size_t slice_of_record(const span_header& of) const noexcept {
    return static_cast<std::size_t>(&of - records) + 1;
  }
  [[nodiscard]] std::byte* slice(std::size_t index) noexcept {
    return reinterpret_cast<std::byte*>(this) + index * slice_bytes;
  }
  /// The number of slices, the slices of the head included.
  [[nodiscard]] std::size_t slices_held() const noexcept { return head.bytes / slice_bytes; }
  /// Returns: the bytes of the pages of the head that a segment of `slices` slices uses.
  [[nodiscard]] static constexpr std::size_t head_bytes(std::size_t slices) noexcept {
    const std::size_t unused = requested_sizes::is_there ? slices_per_segment - slices : 0;
    return align_up(sizeof(segment) - unused * (slice_bytes / size_classes::granule * 2), 4096);
  }

  /// Returns: whether a block at `p` is free: cached, in a bin, or coalesced with its neighbours. Unknown once the
  /// slice is part of another span. Expects: a block has started there.
  [[nodiscard]] static bool is_given(void* p) noexcept {
    return of(p)->record(slice_of(p)).is_available || !is_aligned(p, slice_bytes);
  }

  /// Effects: makes a span one block. From level `checked` on each of its slices names the first.
  void set_block(std::size_t first, std::size_t length) noexcept {
    span_header& span = record(first);
    span.size_class = size_classes::none;
    span.length = static_cast<std::uint8_t>(length);
    span.cells = slice(first);
    span.is_available = false;
    if constexpr (live_cells::is_there)
      for (std::size_t i = 0; i < length; ++i) record(first + i).first = static_cast<std::uint8_t>(first);
  }

  void set_class(std::size_t first, std::size_t length, std::size_t size_class) noexcept {
    const std::size_t colour = (address_of(this) / slice_bytes) % sizeof class_of_slice;
    std::memset(class_of_slice + colour + first, static_cast<int>(size_class), length);
    const bool is_listed = size_class != size_classes::none && size_class <= largest_listed;
    std::memset(parcel_lanes + colour + first, static_cast<int>(is_listed ? head.lane : no_lane), length);
  }
};

/// Slices of the head of a segment; blocks start after them.
inline constexpr std::size_t first_slice = (sizeof(segment) + slice_bytes - 1) / slice_bytes;
/// Slices of the longest span of a segment.
inline constexpr std::size_t most_slices = slices_per_segment - first_slice;
static_assert(sizeof(span_header) == 64 && sizeof(segment::header) == 64);
static_assert(first_slice == (segment::requested_sizes::is_there ? requested_sizes::slices_of_head
                              : segment::live_cells::is_there    ? 2
                                                                 : 1));

/// Returns: the first slice for a span with an index that is a multiple of `step`, a power of two.
[[nodiscard]] constexpr std::size_t first_slice_at(std::size_t step) noexcept {
  return first_slice <= 2 ? detail::max(first_slice, step) : align_up(first_slice, step);
}

/// Returns: the slices of a block of `bytes` bytes, at least one.
[[nodiscard]] constexpr std::size_t slices_of(std::size_t bytes) noexcept {
  return detail::max<std::size_t>(1, bytes / slice_bytes + (bytes % slice_bytes != 0 ? 1 : 0));
}

/// Returns: whether a request is one for a span that may start at any slice.
[[nodiscard]] constexpr bool is_plain_span(std::size_t bytes, std::size_t alignment) noexcept {
  return ASHLAR_LIKELY(bytes - 1 < most_slices * slice_bytes) && ASHLAR_LIKELY(alignment <= slice_bytes);
}

/// A view of a slab through its span header: the operations on its bitmap.
class slab_view {
public:
  explicit slab_view(span_header& record) noexcept
      : record_(record), home_(*segment::of(&record)), slice_(home_.slice_of_record(record)) {}

  /// Effects: makes a slab of free cells in the span of the record, without cells in its last `reserved` bytes. `turn`
  /// counts the slabs of its class.
  ASHLAR_COLD_FOR_SPEED void format(std::size_t size_class, std::size_t turn, std::size_t reserved = 0) noexcept {
    const cell_layout layout = cell_layout::of(size_class);
    const std::size_t colour = layout.colour(turn), capacity = layout.capacity(colour, reserved);
    record_ = {.next = nullptr,
               .previous = nullptr,
               .cells = home_.slice(slice_) + colour,
               .by_cell = reciprocal(static_cast<std::uint32_t>(layout.cell_bytes)),
               .cell_bytes = static_cast<std::uint32_t>(layout.cell_bytes),
               .capacity = static_cast<std::uint32_t>(capacity),
               .free = static_cast<std::uint32_t>(capacity),
               .free_when_dropped = 0,
               .dropped_bytes = 0,
               .waiting = 0,
               .hint = 0,
               .size_class = static_cast<std::uint8_t>(size_class),
               .length = static_cast<std::uint8_t>(layout.slices),
               .first = static_cast<std::uint8_t>(slice_),
               .is_available = false};
    for (std::size_t i = 1; i < layout.slices; ++i) home_.record(slice_ + i).first = static_cast<std::uint8_t>(slice_);
    free_cells().set_all();
    if (home_.live) home_.live->clear(slice_, layout.slices);
    if (home_.requested) home_.requested->clear(slice_, capacity);
    home_.set_class(slice_, layout.slices, size_class);
  }

  /// Effects: takes a batch of up to 64 neighbouring free cells. Expects: a cell is free.
  [[nodiscard]] cell_batch take_batch() noexcept {
    while (bits()[record_.hint] == 0) ++record_.hint;
    return take_word(record_.hint);
  }
  /// As above, with the free cell that `random` chooses.
  [[nodiscard]] cell_batch take_batch(std::uint64_t random) noexcept {
    std::size_t word = 0;
    for (std::uint64_t before = random % record_.free; before >= count_bits(bits()[word]); ++word)
      before -= count_bits(bits()[word]);
    return take_word(word);
  }

  /// Effects: takes cells of a bitmap word back; nothing if one of them is free already. Returns: a mask of those.
  std::uint64_t give_batch(std::size_t word, std::uint64_t cells) noexcept {
    std::uint64_t& free = bits()[word];
    if (ASHLAR_UNLIKELY((free & cells) != 0)) return free & cells;
    free |= cells;
    record_.free += static_cast<std::uint32_t>(count_bits(cells));
    record_.hint = static_cast<std::uint16_t>(detail::min<std::size_t>(record_.hint, word));
    return 0;
  }

  /// Effects: takes a cell back. Returns: false, without an effect, if it is free already.
  bool give(const void* cell) noexcept {
    const std::uint32_t index = record_.index_of(cell);
    if (ASHLAR_UNLIKELY(is_free(index))) return false;
    free_cells().set(index);
    record_.hint = detail::min(record_.hint, static_cast<std::uint16_t>(index / 64));
    ++record_.free;
    return true;
  }

  /// Returns: a cell, to be returned to its word with others that are added.
  [[nodiscard]] gathered_cells<span_header> gather(const void* cell) const noexcept {
    const std::uint32_t index = record_.index_of(cell), word = index / 64;
    const std::uint32_t cells = detail::min<std::uint32_t>(64, record_.capacity - word * 64);
    return {&record_,
            word,
            cells * record_.cell_bytes,
            record_.by_cell,
            {record_.cell(std::size_t{word} * 64), bit_of(index)}};
  }

  [[nodiscard]] bool is_free(std::uint32_t index) const noexcept { return free_cells()[index]; }
  [[nodiscard]] std::uint64_t* bits() const noexcept { return home_.bits[slice_]; }
  [[nodiscard]] ASHLAR_INLINE bitmap free_cells() const noexcept { return {bits(), record_.capacity}; }

  /// Effects: calls `f(cell)` for each cell with a clear bit, in order.
  template <class F>
  ASHLAR_INLINE void for_each_taken(F f) const {
    free_cells().for_each_clear([&](std::size_t index) { f(record_.cell(index)); });
  }

  /// Returns: the cells with a clear bit that are not live; 0 below level `checked`.
  [[nodiscard]] std::uint32_t dead() const {
    std::uint32_t dead = 0;
    if constexpr (segment::live_cells::is_there)
      for_each_taken([&](std::byte* cell) { dead += segment::is_live(cell) ? 0u : 1u; });
    return dead;
  }

  /// Returns: the bytes of cells of one word; 0 if one of them is live or has a set bit.
  [[nodiscard]] std::size_t bytes_of_dead(const cell_batch& cells) const noexcept {
    bool are_dead = record_.is_cell(cells.base) && record_.index_of(cells.base) % 64 == 0;
    for_each_bit(cells.mask, [&](std::size_t place) {
      std::byte* const cell = cells.base + place * record_.cell_bytes;
      are_dead = are_dead && !is_free(record_.index_of(cell)) && !segment::is_live(cell);
    });
    return are_dead ? count_bits(cells.mask) * record_.cell_bytes : 0;
  }

  /// Effects: calls `f(cell)` for each live cell. Expects: level `checked`.
  template <class F>
  void for_each_live(F f) const {
    for (std::uint32_t index = 0; index < record_.capacity; ++index)
      if (segment::is_live(record_.cell(index))) f(record_.cell(index));
  }

  /// Complexity: O(words).
  [[nodiscard]] bool invariant() const noexcept {
    const bitmap cells = free_cells();
    return cells.invariant() && cells.count() == record_.free && cells.next_set(0) >= std::size_t{record_.hint} * 64;
  }

private:
  cell_batch take_word(std::size_t word) noexcept {
    const std::uint64_t mask = std::exchange(bits()[word], 0);
    record_.free -= static_cast<std::uint32_t>(count_bits(mask));
    return {record_.cell(word * 64), mask};
  }

  span_header& record_;
  segment& home_;
  std::size_t slice_;
};

[[nodiscard]] ASHLAR_INLINE atomic<std::uint16_t>* sizes_in(span_header& slab) noexcept {
  segment& home = *segment::of(&slab);
  return home.requested->of_slice(home.slice_of_record(slab));
}

}  // namespace ashlar::ASHLAR_ABI::detail
