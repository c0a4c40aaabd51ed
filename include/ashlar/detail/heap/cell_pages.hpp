// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small cells in pages of 16 KiB, of one size each: allocation and free without a loop, with the size class found by
// address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The record of a page of cells, outside of it: a page has no header, and a free cell is never written. Invariant: a
/// bit of `words` is set exactly if a cell is free; a bit of `filled` exactly if its word has a set bit.
struct alignas(64) cell_page : list_node<cell_page> {
  using classes = basic_size_classes<16, 1024>;  ///< 32 of them: 16, 32, ... 128, 144, ... 1024 bytes
  static constexpr std::size_t bytes = std::size_t{16} * 1024;
  static constexpr std::size_t most_words = bytes / classes::granule / 64;

  std::byte* cells = nullptr;  ///< the page, which begins with a cell
  reciprocal by_cell;
  std::uint32_t cell_bytes = 0;
  std::uint32_t filled = 0;
  std::uint16_t free = 0;
  std::uint16_t capacity = 0;   ///< cells
  std::uint8_t size_class = 0;  ///< of its cells
  std::array<std::uint64_t, most_words> words;
  /// From level `hardened` on: the requested size of each cell, as `cell_page_watch` keeps it.
  ASHLAR_NO_UNIQUE_ADDRESS if_hardened<std::array<std::uint16_t, most_words * 64>> requested;

  [[nodiscard]] std::byte* cell(std::size_t index) const noexcept { return cells + index * cell_bytes; }
  /// Expects: `p` points into the page.
  [[nodiscard]] std::uint32_t index_of(const void* p) const noexcept {
    return by_cell.divide(static_cast<std::uint32_t>(address_of(p) % bytes));
  }
  [[nodiscard]] bool is_cell(const void* p) const noexcept { return index_of(p) < capacity && cell(index_of(p)) == p; }
  [[nodiscard]] bool is_free(std::uint32_t index) const noexcept { return (words[index / 64] & bit_of(index)) != 0; }

  /// Effects: makes all cells free, of size class `of`, in `room` bytes.
  void format(std::byte* memory, std::size_t room, std::size_t of) noexcept {
    cells = memory;
    size_class = static_cast<std::uint8_t>(of);
    cell_bytes = static_cast<std::uint32_t>(classes::bytes_of(of));
    by_cell = reciprocal(cell_bytes);
    capacity = free = static_cast<std::uint16_t>(by_cell.divide(static_cast<std::uint32_t>(room)));
    words.fill(~std::uint64_t{0});  // all words, in a few wide stores; `filled` gives those in use
    if (capacity % 64 != 0) words[capacity / 64] = ones(0, capacity % 64);
    filled = (1u << ((capacity + 63) / 64)) - 1;
    if (requested) std::memset(requested->data(), 0, capacity * sizeof(std::uint16_t));
  }

  /// Expects: a cell is free.
  [[nodiscard]] ASHLAR_INLINE std::byte* take() noexcept {
    const std::size_t word = first_bit(filled);
    const std::uint64_t from = words[word], rest = without_first(from);
    words[word] = rest;
    if (rest == 0) filled &= filled - 1;
    --free;
    return cell(word * 64 + first_bit(from));
  }

  /// Expects: the cell is not free.
  ASHLAR_INLINE void give(const void* p) noexcept {
    const std::uint32_t index = index_of(p);
    words[index / 64] |= bit_of(index);
    filled |= 1u << (index / 64);
    ++free;
  }

  /// Effects: calls `f(cell)` for each cell that is not free, in order.
  template <class F>
  void for_each_taken(F f) const {
    for (std::uint32_t index = 0; index < capacity; ++index)
      if (!is_free(index)) f(cell(index));
  }

  /// Complexity: O(cells).
  [[nodiscard]] bool invariant() const noexcept {
    std::uint32_t free_cells = 0, words_with_any = 0;
    for (std::uint32_t index = 0; index < capacity; ++index)
      if (is_free(index)) ++free_cells, words_with_any |= 1u << (index / 64);
    return free_cells == free && words_with_any == filled;
  }
};

class cell_page_watch;

/// The pages of a region, and for each size class a list of those with a free cell. The caller provides pages,
/// aligned to `cell_page::bytes`, and takes them back.
///
///     address / 16 KiB -> byte: the size class, 0 without cells: a free of a large block reads only this
///                      -> record of 192 bytes: bits of the cells, links
///
/// One empty page is kept as a spare, so that a program at the edge does not fetch and return a page each time.
/// Invariant: the list of a size class holds exactly its pages with a free cell, except the spare one. Complexity:
/// O(1) unless stated otherwise. Thread safety: none.
class cell_pages {
public:
  using page_type = cell_page;
  using watch_type = if_hardened<cell_page_watch>;
  using classes = cell_page::classes;

  [[nodiscard]] static ASHLAR_INLINE constexpr std::size_t class_of_request(std::size_t bytes,
                                                                            std::size_t alignment) noexcept {
    return detail::class_of_request<classes>(bytes, alignment);
  }
  /// Returns: the size that a watch keeps of a cell of `bytes` bytes.
  [[nodiscard]] static constexpr std::size_t kept_size(std::size_t bytes) noexcept { return at_least_one_byte(bytes); }

  /// Returns: the bytes of the records of a region.
  [[nodiscard]] static std::size_t record_bytes(const block& memory) noexcept {
    return pages_in(memory) * (sizeof(cell_page) + 1);
  }

  /// Effects: makes the records of all pages in `memory`, at `place`. `room`: bytes of a page for cells.
  /// Complexity: O(pages).
  void begin(void* place, const block& memory, std::size_t room) noexcept {
    records_ = static_cast<cell_page*>(place);
    first_ = address_of(memory.data) / cell_page::bytes;
    count_ = pages_in(memory);
    numbers_ = reinterpret_cast<std::uint8_t*>(records_ + count_);
    room_ = room;
    clear();
  }

  /// Effects: forgets all cells. Complexity: O(pages).
  void clear() noexcept {
    if (count_ != 0) std::memset(numbers_, 0, count_);
    with_free_ = {};
    spare_ = nullptr;
  }

  /// Returns: whether the page of `p` has cells. Expects: `p` lies in the region.
  [[nodiscard]] ASHLAR_INLINE bool has_cells(const void* p) const noexcept {
    return numbers_[index_of(p)] != classes::none;
  }

  /// Returns: the record of the page of `p`. Expects: it has cells.
  [[nodiscard]] ASHLAR_INLINE cell_page& of(const void* p) const noexcept { return records_[index_of(p)]; }

  /// Returns: a cell of a size class, or null if a page must be added first.
  [[nodiscard]] ASHLAR_INLINE std::byte* take(std::size_t size_class) noexcept {
    cell_page* const home = with_free_[size_class].front();
    return ASHLAR_LIKELY(home != nullptr) ? take_from(*home) : take_from_spare(size_class);
  }

  /// Returns: the spare page if `take` would format it for this size class, else null.
  [[nodiscard]] cell_page* next_to_format(std::size_t size_class) const noexcept {
    return with_free_[size_class].front() == nullptr ? spare_ : nullptr;
  }

  /// Returns: the first cell of a new page at `memory`. Expects: `take` has returned null.
  [[nodiscard]] std::byte* take_from_new(void* memory, std::size_t size_class) noexcept {
    auto* const made = ::new (static_cast<void*>(records_ + index_of(memory))) cell_page;
    return take_formatted(*made, static_cast<std::byte*>(memory), size_class);
  }

  /// Effects: takes a cell back. Returns: an empty page that the caller takes back, or null.
  [[nodiscard]] ASHLAR_INLINE std::byte* give(cell_page& home, const void* p) noexcept {
    const bool was_full = home.filled == 0;
    home.give(p);
    if (ASHLAR_UNLIKELY(was_full)) with_free_[home.size_class].push_front(&home);
    return ASHLAR_LIKELY(home.free != home.capacity) ? nullptr : retire(home);
  }

  /// Effects: removes the spare page. Returns: it, or null.
  [[nodiscard]] std::byte* drop_spare() noexcept {
    cell_page* const spare = std::exchange(spare_, nullptr);
    return spare != nullptr ? dropped(*spare) : nullptr;
  }

  /// Effects: calls `f(page)` for each page with cells.
  template <class F>
  void for_each_page(F f) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (numbers_[i] != classes::none) f(records_[i]);
  }

  /// Complexity: O(pages and their cells).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t with_free = spare_ != nullptr ? 1 : 0, listed = with_free;
    bool right = spare_ == nullptr || spare_->free == spare_->capacity;
    for (std::size_t i = 0; i < count_; ++i) {
      if (numbers_[i] == classes::none) continue;
      right =
          right && records_[i].invariant() && index_of(records_[i].cells) == i && numbers_[i] == records_[i].size_class;
      with_free += &records_[i] != spare_ && records_[i].filled != 0 ? 1 : 0;
    }
    for (const list<cell_page>& each : with_free_) {
      right = right && each.invariant();
      for (const cell_page* at = each.front(); at != nullptr; at = at->next) {
        ++listed;
        right = right && at->filled != 0 && at->free != at->capacity && &each == &with_free_[at->size_class];
      }
    }
    return right && with_free == listed;
  }

private:
  [[nodiscard]] ASHLAR_INLINE std::size_t index_of(const void* p) const noexcept {
    return address_of(p) / cell_page::bytes - first_;
  }

  [[nodiscard]] static std::size_t pages_in(const block& memory) noexcept {
    const std::size_t lead = address_of(memory.data) % cell_page::bytes;
    return ceil_div(lead + memory.size, cell_page::bytes);
  }

  [[nodiscard]] ASHLAR_INLINE std::byte* take_from(cell_page& home) noexcept {
    std::byte* const p = home.take();
    if (ASHLAR_UNLIKELY(home.filled == 0)) with_free_[home.size_class].erase(&home);
    return p;
  }

  [[nodiscard]] std::byte* take_from_spare(std::size_t size_class) noexcept {
    cell_page* const spare = std::exchange(spare_, nullptr);
    return spare != nullptr ? take_formatted(*spare, spare->cells, size_class) : nullptr;
  }

  [[nodiscard]] std::byte* take_formatted(cell_page& home, std::byte* memory, std::size_t size_class) noexcept {
    home.format(memory, room_, size_class);
    numbers_[index_of(memory)] = home.size_class;
    with_free_[size_class].push_front(&home);
    return home.take();  // not null: a page has several cells
  }

  // An empty page that is spare keeps its size class: a double free of one of its cells is detected.
  [[nodiscard]] std::byte* retire(cell_page& home) noexcept {
    with_free_[home.size_class].erase(&home);
    if (spare_ != nullptr) return dropped(home);
    spare_ = &home;
    return nullptr;
  }

  [[nodiscard]] std::byte* dropped(const cell_page& home) noexcept {
    numbers_[index_of(home.cells)] = classes::none;
    return home.cells;
  }

  cell_page* records_ = nullptr;
  std::uint8_t* numbers_ = nullptr;
  std::uintptr_t first_ = 0;
  std::array<list<cell_page>, classes::count + 1> with_free_;
  cell_page* spare_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
};

/// Guards the cells of a page for a heap. The requested sizes stand in the page's record, two bytes for each cell:
///
///     never used -> hand_out: writes canary -> live -> poison: fills cell -> hand_out: verifies poison -> live -> ...
///                                               | expect_intact: verifies canary
///                                               +--- sweep: verifies canaries of live cells and poison of free ones,
///                                                    before the page or the heap ends
///
/// An empty request counts as one byte. All calls expect level hardened. Thread safety: none. Complexity: O(bytes of
/// the cell), except `sweep`.
class cell_page_watch {
public:
  cell_page_watch(cell_page& home, const void* heap) noexcept : home_(home), heap_(heap) {}

  /// Returns: the requested bytes of a live cell.
  [[nodiscard]] std::size_t size_of(const void* cell) const noexcept { return sizes()[home_.index_of(cell)]; }

  /// Effects: hands a free cell out. Reports a write to it since its free.
  void hand_out(std::byte* cell, std::size_t bytes) const noexcept {
    if constexpr (keeps_canaries)
      if (size_of(cell) == dead_cell) verify_poison(cell, home_.cell_bytes, home_.cell_bytes, heap_);
    resize(cell, 0, bytes);
  }

  /// Effects: sets the size of a live cell to `bytes`; its first `were` bytes have contents.
  void resize(void* cell, std::size_t were, std::size_t bytes) const noexcept {
    const std::size_t kept = at_least_one_byte(bytes);
    sizes()[home_.index_of(cell)] = static_cast<std::uint16_t>(kept);
    write_canary(cell, kept, home_.cell_bytes);
    mark_block(cell, were, kept, home_.cell_bytes);
  }

  /// Effects: poisons a freed cell. Expects: it is intact.
  void poison(void* cell) const noexcept {
    if constexpr (keeps_canaries) poison_block(cell, home_.cell_bytes);
    sizes()[home_.index_of(cell)] = keeps_canaries ? dead_cell : never_used;
    mark_free(cell, home_.cell_bytes);
  }

  /// Effects: reports writes after a live cell, or in front of it.
  void expect_intact(const void* cell) const noexcept {
    if constexpr (!keeps_canaries) return;
    const std::size_t bytes = size_of(cell);
    expect_canary(cell, bytes, home_.cell_bytes, heap_);
    if (!is_front_intact(cell)) report_write_before(cell, bytes, heap_);
  }

  /// Effects: reports writes to free cells, and after live ones. Complexity: O(bytes of the page).
  void sweep() const noexcept {
    for (std::uint32_t index = 0; keeps_canaries && index < home_.capacity; ++index) sweep(index);
  }

private:
  [[nodiscard]] std::uint16_t* sizes() const noexcept { return home_.requested->data(); }

  void sweep(std::uint32_t index) const noexcept {
    const std::byte* const cell = home_.cell(index);
    const std::size_t bytes = sizes()[index];
    if (bytes == never_used) return;
    if (bytes != dead_cell) return expect_canary(cell, bytes, home_.cell_bytes, heap_);
    verify_poison(cell, home_.cell_bytes, home_.cell_bytes, heap_);
    mark_free(cell, home_.cell_bytes);
  }

  // The byte before a cell is the canary of a live cell or the poison of a free one: cells are first used in order of
  // addresses, so no cell that was never used precedes a used one. A header of TLSF precedes a page.
  [[nodiscard]] bool is_front_intact(const void* cell) const noexcept {
    const std::uint32_t index = home_.index_of(cell);
    return index == 0 || is_guard_before(cell, sizes()[index - 1]);
  }

  cell_page& home_;
  const void* heap_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
