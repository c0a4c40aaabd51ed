// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A slab: a run of equal cells after a header, with a bitmap of the free cells.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The links of one member. `T` derives from `heap_node<T>`.
template <class T>
struct heap_node {
  T* child = nullptr;     ///< the leftmost of its children
  T* sibling = nullptr;   ///< to its right
  T* previous = nullptr;  ///< the sibling to its left, or its parent
};

/// A pairing heap (Fredman, Sedgewick, Sleator and Tarjan, 1986). A push compares with the top only, so a program that
/// frees in bulk and never takes the lowest region does not pay for order.
///
///     top -> [ lowest ]                  child: a member at a higher address
///               | child                  sibling: another child of the same parent
///            [ a ] -sibling-> [ b ]
///
/// Invariant: every member has a higher address than its parent; the top has no sibling.
/// Complexity: push O(1), erase O(log n) amortised.
template <class T>
class address_heap {
public:
  [[nodiscard]] bool empty() const noexcept { return top_ == nullptr; }
  /// Returns: the member with the lowest address, or null.
  [[nodiscard]] T* top() const noexcept { return top_; }

  /// Expects: `member` is in no heap.
  void push(T* member) noexcept { top_ = top_ == nullptr ? member : meld(top_, member); }

  /// Expects: `member` is in this heap.
  ASHLAR_INLINE void erase(T* member) noexcept {
    T* const rest = meld_all(member->child);
    if (member == top_) {
      top_ = rest;
    } else {
      cut(member);
      if (rest != nullptr) top_ = meld(top_, rest);
    }
    member->child = nullptr;
  }

  /// Complexity: O(n).
  [[nodiscard]] std::size_t size() const noexcept { return count(top_); }

  /// Complexity: O(n).
  [[nodiscard]] bool invariant() const noexcept {
    return top_ == nullptr || (top_->sibling == nullptr && top_->previous == nullptr && is_ordered(top_));
  }

private:
  // Expects: both are roots. The higher one becomes the first child of the lower one.
  [[nodiscard]] static T* meld(T* a, T* b) noexcept {
    T* const lower = address_of(a) < address_of(b) ? a : b;
    T* const higher = lower == a ? b : a;
    higher->previous = lower;
    higher->sibling = lower->child;
    if (lower->child != nullptr) lower->child->previous = higher;
    lower->child = higher;
    return lower;
  }

  // Melds siblings in pairs from left to right, then the pairs from right to left. Returns: a root, or null.
  [[nodiscard]] static ASHLAR_INLINE T* meld_all(T* first) noexcept {
    T* pairs = nullptr;  // linked by `sibling`, the rightmost first
    while (first != nullptr) {
      T* const left = detach(first);
      T* const right = first != nullptr ? detach(first) : nullptr;
      T* const pair = right != nullptr ? meld(left, right) : left;
      pair->sibling = pairs;
      pairs = pair;
    }
    T* all = nullptr;
    while (pairs != nullptr) {
      T* const pair = detach(pairs);
      all = all == nullptr ? pair : meld(all, pair);
    }
    return all;
  }

  // Detaches and returns the first of a chain of siblings.
  [[nodiscard]] static T* detach(T*& first) noexcept {
    T* const taken = first;
    first = taken->sibling;
    taken->sibling = taken->previous = nullptr;
    return taken;
  }

  // Expects: `member` is not the top.
  static void cut(T* member) noexcept {
    T*& from = member->previous->child == member ? member->previous->child : member->previous->sibling;
    from = member->sibling;
    if (member->sibling != nullptr) member->sibling->previous = member->previous;
    member->sibling = member->previous = nullptr;
  }

  [[nodiscard]] static std::size_t count(const T* member) noexcept {
    std::size_t members = 0;
    for (; member != nullptr; member = next_of(member)) ++members;
    return members;
  }

  [[nodiscard]] static bool is_ordered(const T* member) noexcept {
    for (; member != nullptr; member = next_of(member)) {
      const T* const right = member->sibling;
      if (right != nullptr && right->previous != member) return false;
      if (member->child != nullptr && member->child->previous != member) return false;
      if (const T* const parent = parent_of(member); parent != nullptr && !(address_of(parent) < address_of(member)))
        return false;
    }
    return true;
  }

  // Returns: the next member in preorder. No recursion, since a heap may be a long chain.
  [[nodiscard]] static const T* next_of(const T* member) noexcept {
    if (member->child != nullptr) return member->child;
    while (member != nullptr && member->sibling == nullptr) member = parent_of(member);
    return member == nullptr ? nullptr : member->sibling;
  }

  [[nodiscard]] static const T* parent_of(const T* member) noexcept {
    while (member->previous != nullptr && member->previous->child != member) member = member->previous;
    return member->previous;
  }

  T* top_ = nullptr;
};

/// The input of a slab's layout.
struct slab_shape {
  std::size_t cell_bytes = 0;
  std::size_t cell_alignment = 1;
  std::size_t slab_bytes = 0;
  std::size_t header_bytes = 0;
  bool starts_short = false;  ///< whether a pool's first slab is a short one
  std::size_t room = 0;       ///< bytes from a pool to the room for its short slab, in one block with it; 0: no room
};

/// The layout of every slab of one pool. A slab is aligned to its own size:
///
///   slab                 + colour * step       + cells
///   | unused colour gap  | header | bitmap     | cell 0 | cell 1 | ...        | rest |
///
/// The colour is a function of the slab's address, so that header and cell are found without a load. Without it, the
/// headers and the equal cells of all slabs would map to the same cache sets (Bonwick, "The Slab Allocator", 1994,
/// section 4).
/// The first slab of a pool may be a short one of 1 to 4 KiB, found by its range of addresses, so that a small pool
/// takes little: at most 64 cells, and behind them room for the addresses of `cached_cells`. If the pool lies in a
/// block with room for it, the two together have that size.
///
///   short slab
///   | header | bitmap | cell 0 | cell 1 | ... | slots |
///
/// At level `hardened` there are three bitmaps and guards in front of the first cell and after each, so the stride is
/// larger (`detail/checks/poison.hpp`); below it the stride is the cell size.
/// Invariant: `capacity(colour) >= 1`; gaps take at most 1/128 of a slab.
class slab_geometry {
public:
  static constexpr std::size_t line_bytes = 64;
  static constexpr std::size_t max_colours = 16;
  static constexpr std::size_t short_alignment = 16;  ///< of a short slab, as of every block of most upstreams

  constexpr slab_geometry() = default;

  /// Expects: sizes positive, alignments powers of two, `slab_bytes` a power of two with room for one cell.
  constexpr explicit slab_geometry(const slab_shape& shape) noexcept
      : cell_bytes_(static_cast<std::uint32_t>(shape.cell_bytes)),
        slab_bytes_(static_cast<std::uint32_t>(shape.slab_bytes)),
        step_(static_cast<std::uint32_t>(detail::max(line_bytes, shape.cell_alignment))),
        cell_alignment_(static_cast<std::uint32_t>(shape.cell_alignment)), slab_shift_(log2_of(slab_bytes_)),
        stride_(shape), inverse_(static_cast<std::uint32_t>(cell_stride())) {
    set_words(shape, bitmap_words(shape, cell_stride()));
    if (capacity_behind(0) > words_ * 64) set_words(shape, words_ + 1);
    colour_mask_ = static_cast<std::uint32_t>(colours(shape.slab_bytes / 128 / step_) - 1);
    for (std::size_t bytes = 1024; shape.starts_short && short_cells_ == 0 && bytes <= 4096 + 2 * shape.room;
         bytes *= 2)
      if (bytes > shape.room) set_short(shape, bytes - shape.room);
  }

  [[nodiscard]] constexpr std::size_t cell_bytes() const noexcept { return cell_bytes_; }
  [[nodiscard]] constexpr std::size_t cell_alignment() const noexcept { return cell_alignment_; }
  /// Returns: the distance of neighbouring cells, in bytes.
  [[nodiscard]] ASHLAR_INLINE constexpr std::size_t cell_stride() const noexcept { return stride_.around(cell_bytes_); }
  /// Returns: bytes of guard after a cell.
  [[nodiscard]] constexpr std::size_t guard_bytes() const noexcept { return cell_stride() - cell_bytes_; }
  [[nodiscard]] constexpr std::size_t slab_bytes() const noexcept { return slab_bytes_; }
  /// Returns: whether a cell can hold such a block.
  [[nodiscard]] ASHLAR_INLINE constexpr bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
    return bytes <= cell_bytes_ && alignment <= cell_alignment_ && is_power_of_two(alignment);
  }
  /// Returns: the number of 64-bit words in each of a slab's bitmaps.
  [[nodiscard]] constexpr std::size_t words() const noexcept { return words_; }

  /// Returns: the start of the slab around a cell or header.
  [[nodiscard]] ASHLAR_INLINE std::byte* slab_of(void* p) const noexcept { return align_down(p, slab_bytes_); }

  /// Returns: the slab number of the slab around `p`, unique among slabs of this size.
  [[nodiscard]] ASHLAR_INLINE std::size_t slab_number(const void* p) const noexcept {
    return address_of(p) >> slab_shift_;
  }

  /// Returns: the header of the slab at `slab`.
  [[nodiscard]] ASHLAR_INLINE std::byte* header_of(std::byte* slab) const noexcept {
    return slab + gap(address_of(slab));
  }

  /// Returns: the first cell after a header.
  [[nodiscard]] ASHLAR_INLINE std::byte* cells_of(void* header) const noexcept {
    return static_cast<std::byte*>(header) + cells_offset_;
  }

  /// Returns: the index of the cell that starts `offset` bytes after the first. Expects: a cell starts there.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t index_of(std::size_t offset) const noexcept {
    return inverse_.divide(static_cast<std::uint32_t>(offset));
  }

  /// Returns: the divisor of `index_of`.
  [[nodiscard]] constexpr const reciprocal& by_cell() const noexcept { return inverse_; }

  /// Returns: the number of cells that fit in the slab at `slab`.
  [[nodiscard]] std::uint32_t capacity(const std::byte* slab) const noexcept {
    return capacity_behind(gap(address_of(slab)));
  }

  /// Returns: bytes of a short slab; 0 if a pool has none.
  [[nodiscard]] ASHLAR_INLINE constexpr std::size_t short_bytes() const noexcept { return short_bytes_; }
  [[nodiscard]] constexpr std::uint32_t short_cells() const noexcept { return short_cells_; }
  /// Returns: the bytes from a pool to the room for its short slab; 0 if that is a block of the upstream.
  [[nodiscard]] constexpr std::size_t room() const noexcept { return room_; }
  /// Returns: the first cell of a short slab.
  [[nodiscard]] std::byte* short_cells_of(void* header) const noexcept {
    return align_up(static_cast<std::byte*>(header) + short_offset_, cell_alignment_);
  }
  /// Returns: the number of slots at the end of a short slab.
  [[nodiscard]] constexpr std::size_t short_slots() const noexcept {
    const std::size_t cells_end = most_short_offset(short_offset_, cell_alignment_) + short_cells_ * cell_stride();
    return (short_bytes_ - cells_end) / sizeof(void*);
  }

  /// Returns: the number of cells that fit with any colour.
  [[nodiscard]] constexpr std::uint32_t least_capacity() const noexcept {
    return capacity_behind(std::size_t{colour_mask_} * step_);
  }

private:
  // At `hardened` the stride is stored, since every call needs it; below, it is the cell size and takes no bytes.
  struct guarded_stride {
    std::uint32_t bytes = 0;

    constexpr guarded_stride() = default;
    constexpr explicit guarded_stride(const slab_shape& shape) noexcept
        : bytes(static_cast<std::uint32_t>(align_up(shape.cell_bytes + least_guard, shape.cell_alignment))) {}
    [[nodiscard]] ASHLAR_INLINE constexpr std::size_t around(std::size_t) const noexcept { return bytes; }
  };
  struct plain_stride {
    constexpr plain_stride() = default;
    constexpr explicit plain_stride(const slab_shape&) noexcept {}
    [[nodiscard]] static ASHLAR_INLINE constexpr std::size_t around(std::size_t cell_bytes) noexcept {
      return cell_bytes;
    }
  };
  using stride = std::conditional_t<has_guards, guarded_stride, plain_stride>;

  constexpr void set_words(const slab_shape& shape, std::uint32_t words) noexcept {
    words_ = words;
    const std::size_t metadata = shape.header_bytes + words_ * sizeof(std::uint64_t) * cell_bitmaps;
    cells_offset_ = static_cast<std::uint32_t>(align_up(metadata + front_guard, shape.cell_alignment));
  }

  // Returns: the largest offset of the first cell of a short slab, which has the alignment of its header.
  [[nodiscard]] static constexpr std::size_t most_short_offset(std::size_t metadata, std::size_t alignment) noexcept {
    return align_up(metadata, short_alignment) + (alignment > short_alignment ? alignment - short_alignment : 0);
  }

  // Makes the layout of a short slab of `bytes` with one word in each bitmap, unless it would have fewer than 4 cells.
  constexpr void set_short(const slab_shape& shape, std::size_t bytes) noexcept {
    constexpr std::size_t slots_of_many = 16;
    constexpr std::size_t gap = 16;  // a short write in front of the first cell leaves the one word of the bitmap alone
    const std::size_t metadata =
        shape.header_bytes + sizeof(std::uint64_t) * cell_bitmaps + detail::max(front_guard, gap);
    const std::size_t offset = most_short_offset(metadata, shape.cell_alignment);
    if (bytes <= offset + slots_of_many * sizeof(void*) || 2 * bytes > shape.slab_bytes) return;
    const std::size_t with_slot = (bytes - offset) / (cell_stride() + sizeof(void*));
    const std::size_t cells = detail::max(detail::min(with_slot, slots_of_many),
                                          (bytes - offset - slots_of_many * sizeof(void*)) / cell_stride());
    if (cells < 4) return;
    short_bytes_ = static_cast<std::uint16_t>(bytes);
    room_ = static_cast<std::uint16_t>(shape.room);
    short_offset_ = static_cast<std::uint16_t>(metadata);
    short_cells_ = static_cast<std::uint16_t>(detail::min(cells, std::size_t{64}));
  }

  // Sized for the number of cells with stride and bit each; rounding may leave room for one more.
  [[nodiscard]] static constexpr std::uint32_t bitmap_words(const slab_shape& shape, std::size_t stride) noexcept {
    const std::uint64_t bits = std::uint64_t{8} * (shape.slab_bytes - shape.header_bytes);
    const std::uint64_t cells = bits / (std::uint64_t{8} * stride + cell_bitmaps);
    return static_cast<std::uint32_t>((cells + 63) / 64);
  }

  [[nodiscard]] static constexpr std::size_t colours(std::size_t wanted) noexcept {
    return std::bit_floor(detail::clamp(wanted, std::size_t{1}, max_colours));
  }

  [[nodiscard]] ASHLAR_INLINE constexpr std::size_t gap(std::uintptr_t slab) const noexcept {
    return ((slab >> slab_shift_) & colour_mask_) * step_;  // a shift, since every uncached free computes it
  }

  [[nodiscard]] constexpr std::uint32_t capacity_behind(std::size_t gap) const noexcept {
    const std::size_t taken = gap + cells_offset_;
    return taken >= slab_bytes_ ? 0 : static_cast<std::uint32_t>((slab_bytes_ - taken) / cell_stride());
  }

  std::uint32_t cell_bytes_ = 0;
  std::uint32_t slab_bytes_ = 0;
  std::uint32_t step_ = 0;
  std::uint32_t cell_alignment_ = 0;
  std::uint32_t words_ = 0;
  std::uint32_t cells_offset_ = 0;
  std::uint32_t colour_mask_ = 0;
  std::uint32_t slab_shift_ = 0;
  std::uint16_t short_bytes_ = 0;
  std::uint16_t short_offset_ = 0;
  std::uint16_t short_cells_ = 0;
  std::uint16_t room_ = 0;
  ASHLAR_NO_UNIQUE_ADDRESS stride stride_;
  reciprocal inverse_;
};

/// The runs of a slab, as marks on its cells, at the levels that check the length of a freed run. One bit per cell:
/// whether it follows another cell of the same run. A run lies in one word of the slab's bitmap.
///
///   cells | a | run of 4      | b | run of 2 |        bits | 0 | 0 1 1 1 | 0 | 0 1 |
///
/// The slab's owner provides memory for the bits at the slab's first run; a slab without runs has none. If no memory
/// is available, the slab's runs stay unknown.
class run_marks {
public:
  /// Returns: whether `use` must be called before the first `mark`.
  [[nodiscard]] bool needs_memory() const noexcept { return bits_ && *bits_ == nullptr; }
  /// Returns: whether runs are unmarked, for lack of memory or at a level that checks no lengths.
  [[nodiscard]] bool is_unknown() const noexcept { return !bits_ || *bits_ == &unknown_; }
  /// Returns: the memory given to `use`, or null.
  [[nodiscard]] std::uint64_t* memory() const noexcept { return is_unknown() ? nullptr : *bits_; }

  /// Effects: stores the bits at `memory`, one word for each of the `words` words of the slab's bitmap; null: no
  /// memory.
  void use(void* memory, std::size_t words) noexcept {
    *bits_ = memory == nullptr ? &unknown_ : static_cast<std::uint64_t*>(memory);
    if (memory != nullptr) std::memset(memory, 0, words * sizeof(**bits_));
  }

  /// Effects: marks the cells of `mask` in a word as one run. Expects: neighbouring cells, in no run.
  void mark(std::size_t word, std::uint64_t mask) noexcept {
    if (memory() != nullptr) memory()[word] |= without_first(mask);
  }

  /// Effects: removes the marks of the run of the cells in `mask`.
  void unmark(std::size_t word, std::uint64_t mask) noexcept {
    if (memory() != nullptr) memory()[word] &= ~mask;
  }

  /// Returns: whether a cell follows another one of its run.
  [[nodiscard]] bool is_inside(std::uint32_t cell) const noexcept {
    return memory() != nullptr && (memory()[cell / 64] & bit_of(cell)) != 0;
  }

  /// Returns: the length of the run from `cell` on; 1 if it is not a run, or is unknown.
  [[nodiscard]] std::size_t length_at(std::uint32_t cell) const noexcept {
    if (memory() == nullptr) return 1;
    return 1 + run_from(memory()[cell / 64], cell % 64 + 1);
  }

private:
  static inline std::uint64_t unknown_ = 0;  // its address marks this state, at no extra bytes in a slab's header

  ASHLAR_NO_UNIQUE_ADDRESS if_checked<std::uint64_t*> bits_;
};

struct slab;

/// A cell by its slab and its index there; no cell if the slab is null.
struct located_cell {
  slab* home = nullptr;
  std::uint32_t index = 0;
};

/// The header of a slab, followed by the bitmap and the cells (see `slab_geometry`).
/// A set bit is a free cell. Cells taken in a cell batch are not free, even if no caller has them yet.
/// At level `hardened` two more bitmaps follow: the cells that were ever handed out, and those that rest (see
/// `quarantine`).
/// Invariant: `free` is the number of set bits; `next` is a word of the bitmap; no bit from `capacity` on is set.
struct alignas(16) slab : heap_node<slab>, tree_node<slab> {
  const void* owner;       ///< the pool
  std::byte* cells;        ///< the first cell
  std::uint32_t capacity;  ///< cells
  std::uint32_t next;      ///< the word of the next cells, round-robin, so that each word may collect free cells
  std::uint32_t free;      ///< cells
  std::uint32_t turn;      ///< the value of `free` at which the owner files it again (see `slab_set`)
  std::uint32_t bin;       ///< the owner's bin for it
  std::uint32_t lane;      ///< the thread that takes from it, as far as the owner distinguishes threads
  ASHLAR_NO_UNIQUE_ADDRESS slab_registration registration;
  ASHLAR_NO_UNIQUE_ADDRESS run_marks runs;

  [[nodiscard]] ASHLAR_INLINE std::uint64_t* bits() noexcept { return reinterpret_cast<std::uint64_t*>(this + 1); }
  [[nodiscard]] const std::uint64_t* bits() const noexcept { return reinterpret_cast<const std::uint64_t*>(this + 1); }
  [[nodiscard]] std::size_t words() const noexcept { return bitmap::words_of(capacity); }
  [[nodiscard]] ASHLAR_INLINE bitmap free_cells() noexcept { return {bits(), capacity}; }
  [[nodiscard]] ASHLAR_INLINE const_bitmap free_cells() const noexcept { return {bits(), capacity}; }
  /// Returns: the bitmap of cells that were ever handed out. Expects: `has_guards`.
  [[nodiscard]] ASHLAR_INLINE bitmap used() noexcept { return {bits() + words(), capacity}; }
  /// Returns: the bitmap of resting cells, which are handed out last. Expects: `has_guards`.
  [[nodiscard]] ASHLAR_INLINE bitmap resting() noexcept { return {bits() + 2 * words(), capacity}; }

  /// Effects: formats raw memory of `sizeof(slab)` bytes and the bitmaps as a slab with all cells free.
  static ASHLAR_INLINE slab* format(void* memory, const void* owner, std::byte* cells,
                                    std::uint32_t capacity) noexcept {
    slab* const made = ::new (memory) slab;
    made->owner = owner;
    made->cells = cells;
    made->capacity = made->free = capacity;
    made->next = made->turn = made->bin = made->lane = 0;
    made->free_cells().set_all();
    if constexpr (has_guards) detail::fill_n(made->bits() + made->words(), 2 * made->words(), std::uint64_t{0});
    return made;
  }

  [[nodiscard]] ASHLAR_INLINE bool is_free(std::uint32_t cell) const noexcept { return free_cells()[cell]; }

  /// Effects: frees a cell. Expects: the cell is taken.
  ASHLAR_INLINE void set_free(std::uint32_t cell) noexcept {
    free_cells().set(cell);
    ++free;
  }

  /// Effects: frees the cells of `mask` in a word. Expects: they exist and all are taken.
  void set_free(std::uint32_t word, std::uint64_t mask) noexcept {
    bits()[word] |= mask;
    free += static_cast<std::uint32_t>(count_bits(mask));
  }

  /// Effects: takes up to `most` free cells of the next word with free cells. Returns: that word and the cells taken.
  /// Expects: some cell is free, `most > 0`. Complexity: O(words), amortised O(1) over a slab filled in order.
  struct taken {
    std::uint32_t word;
    std::uint64_t mask;
  };
  [[nodiscard]] ASHLAR_INLINE taken take_batch(std::size_t most) noexcept {
    while (bits()[next] == 0) advance();
    return take(first_bits(bits()[next], most));
  }

  /// As `take_batch`, but without resting cells. Returns: no cells if all rest. Expects: `has_guards`.
  [[nodiscard]] taken take_rested_word(std::size_t most) noexcept {
    for (std::size_t looked = 0; looked < words(); ++looked, advance())
      if (const std::uint64_t rested = bits()[next] & ~resting().word(next); rested != 0)
        return take(first_bits(rested, most));
    return {next, 0};
  }

  /// Returns: the free cells of the next word, except for resting ones.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t rested_in_next() noexcept {
    if constexpr (has_guards) return bits()[next] & ~resting().word(next);
    else return bits()[next];
  }

  /// Effects: takes the lowest cell of `rested`. Returns: its index. Expects: `rested` is `rested_in_next()`, not 0.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t take_lowest(std::uint64_t rested) noexcept {
    bits()[next] ^= rested & (0 - rested);
    --free;
    return next * 64 + static_cast<std::uint32_t>(first_bit(rested));
  }

  /// Effects: takes a free cell. Returns: its word and the cell.
  [[nodiscard]] taken take_cell(std::uint32_t cell) noexcept {
    next = cell / 64;
    return take(bit_of(cell));
  }

  /// Effects: takes `length` neighbouring free cells of one word, after a search of `most_words` words from the next
  /// on.
  /// Returns: that word and the cells; no cells if there is no such run. Expects: `1 <= length <= 64`.
  [[nodiscard]] taken take_run(std::size_t length, std::size_t most_words) noexcept {
    for (std::size_t looked = 0; looked < most_words; ++looked, advance())
      if (const std::uint64_t starts = starts_of_runs(bits()[next], length); starts != 0)
        return take(ones(first_bit(starts), length));
    return {next, 0};
  }

  /// Complexity: O(words).
  [[nodiscard]] bool invariant() const noexcept {
    return free_cells().invariant() && free_cells().count() == free && next < words();
  }

private:
  void advance() noexcept {
    if (++next == words()) next = 0;
  }

  [[nodiscard]] ASHLAR_INLINE taken take(std::uint64_t mask) noexcept {
    bits()[next] &= ~mask;
    if constexpr (has_guards) resting().word(next) &= ~mask;
    free -= static_cast<std::uint32_t>(count_bits(mask));
    return {next, mask};
  }
};

/// The largest slab size, in bytes. A slab counts its cells, of one byte at least, in 32 bits.
inline constexpr std::size_t largest_slab = std::size_t{1} << 31;
static_assert(alignof(slab) <= slab_geometry::short_alignment);
static_assert(largest_slab <= std::numeric_limits<decltype(detail::slab::capacity)>::max(), "counts may not wrap");
static_assert(largest_slab <= std::numeric_limits<decltype(detail::slab::free)>::max(), "counts may not wrap");
static_assert(largest_slab <= std::numeric_limits<decltype(detail::slab::turn)>::max(), "counts may not wrap");

/// Returns: the default slab size for cells of `cell_bytes`. At 256 KiB the system calls of growing and shrinking no
/// longer matter (./dev bench fresh_memory), and tree nodes still spread over the cache sets (./dev bench
/// node_containers). Cells below 8 bytes get smaller slabs, with a bitmap that a small pool can afford; slabs of large
/// cells have room for 7 at least. Without an operating system, memory is taken to be small: slabs have room for about
/// 16 cells. Over an upstream with larger parts, such as huge pages, a slab is one of these.
[[nodiscard]] constexpr std::size_t default_slab_bytes(std::size_t cell_bytes, std::size_t part_bytes = 0) noexcept {
  const bool is_slab = part_bytes != 0 && is_power_of_two(part_bytes) && part_bytes <= largest_slab;
  if (is_slab) return detail::max(part_bytes, default_slab_bytes(cell_bytes));
  if (!is_hosted) return detail::max(std::size_t{1024}, std::bit_ceil(16 * cell_bytes));
  if (cell_bytes < 8) return largest_page;
  return detail::max(std::size_t{256} * 1024, std::bit_ceil(8 * cell_bytes));
}

/// Returns: the layout for the options, with defaults filled in, over an upstream with parts of `part_bytes`. The first
/// slab is a short one if there is `room` for it, or if neither a size of slabs is wished nor parts.
/// Expects: the bounds of each option. Every level checks them, since a wrong layout corrupts memory.
[[nodiscard]] constexpr detail::slab_geometry
make_slab_geometry(const block_pool_options& options, std::size_t part_bytes = 0, std::size_t room = 0) noexcept {
  constexpr std::size_t largest_cell = std::size_t{1} << 27;
  ASHLAR_REQUIRE(options.cell_bytes != 0 && options.cell_bytes <= largest_cell, "cell_bytes is not in 1..2^27");
  const std::size_t alignment =
      options.cell_alignment != 0 ? options.cell_alignment : ashlar::natural_alignment(options.cell_bytes);
  ASHLAR_REQUIRE(ashlar::is_power_of_two(alignment) && alignment <= largest_cell,
                 "cell_alignment is not a power of two");
  const std::size_t cell_bytes = ashlar::align_up(options.cell_bytes, alignment);
  const std::size_t slab_bytes =
      options.slab_bytes != 0 ? options.slab_bytes : default_slab_bytes(cell_bytes, part_bytes);
  ASHLAR_REQUIRE(ashlar::is_power_of_two(slab_bytes) && slab_bytes <= largest_slab, "slab_bytes is not a power of two");
  ASHLAR_REQUIRE(slab_bytes > sizeof(detail::slab) && slab_bytes >= cell_bytes, "slab_bytes has no room for a cell");
  const bool starts_short = room != 0 || (options.slab_bytes == 0 && part_bytes == 0);
  const detail::slab_geometry geometry({.cell_bytes = cell_bytes,
                                        .cell_alignment = alignment,
                                        .slab_bytes = slab_bytes,
                                        .header_bytes = sizeof(detail::slab),
                                        .starts_short = is_hosted && starts_short,
                                        .room = room});
  ASHLAR_REQUIRE(geometry.least_capacity() != 0, "slab_bytes has no room for a cell");
  return geometry;
}

/// A slab layout known at run time.
class dynamic_geometry {
public:
  explicit constexpr dynamic_geometry(const detail::slab_geometry& geometry) noexcept : geometry_(geometry) {}
  explicit constexpr dynamic_geometry(const block_pool_options& options, std::size_t part_bytes = 0,
                                      std::size_t room = 0) noexcept
      : geometry_(make_slab_geometry(options, part_bytes, room)) {}
  [[nodiscard]] ASHLAR_INLINE constexpr const detail::slab_geometry& get() const noexcept { return geometry_; }

private:
  detail::slab_geometry geometry_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
