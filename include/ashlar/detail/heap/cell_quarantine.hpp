// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Freed cells of a heap that wait, in an order of chance, before they serve others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/retention_limit.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/random_bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A queue of groups of cells, each of one bitmap word, of all classes. A new one takes the place of any of the newest
/// quarter, which becomes the last. Where there is no room, the oldest leave together, until a quarter is free:
///
///     leave <- | oldest ...  | newest quarter: a place for the new group ... last |
///
/// So a cell waits for about half of those that there is room for at least, for all of them on average, and chance
/// decides for how many; and neighbours are free at the same time, for one batch. There is room for `most` cells, and
/// for `own_bytes`; for more as far as all quarantines of the process together stay within a limit. The places become
/// resident as they are used. Thread safety: none.
class cell_quarantine {
public:
  static constexpr std::size_t most = 1024;                           // cells
  static constexpr std::size_t own_bytes = std::size_t{64} * 1024;    // not less than a cell
  static constexpr std::size_t most_bytes = std::size_t{8} << 20;     // of a heap
  static constexpr std::size_t common_bytes = std::size_t{32} << 20;  // of all, above their own

  cell_quarantine() = default;
  cell_quarantine(const cell_quarantine&) = delete;
  cell_quarantine& operator=(const cell_quarantine&) = delete;
  ~cell_quarantine() {
    forget();
    if (groups_ != nullptr) os::pages::release(groups_, most * sizeof(cell_batch));
  }

  /// Effects: adds cells of `cell_bytes` bytes each. Calls `f(group)`, which returns its bytes, for each group that
  /// leaves: the new one at once, if the system has no pages for the places.
  template <class F>
  void put(const cell_batch& cells, std::size_t cell_bytes, F f) noexcept {
    const std::size_t count = count_bits(cells.mask), bytes = count * cell_bytes;
    if (ASHLAR_UNLIKELY(groups_ == nullptr) && !make_places()) return static_cast<void>(f(cells));
    if (ASHLAR_UNLIKELY(cells_ + count > most || !admits(bytes))) make_room(bytes, f);
    cells_ += count;
    bytes_ += bytes;
    cell_batch& last = place(count_++);
    last = cells;
    std::swap(last, place(count_ - 1 - random_below(count_ / 4)));
  }

  /// Effects: calls `f(group)` for each, which leaves.
  template <class F>
  void clear(F f) noexcept {
    while (count_ != 0) f(take());
    forget();
  }

  /// Effects: forgets all cells.
  void forget() noexcept {
    first_ = count_ = cells_ = bytes_ = 0;
    common_.change(std::exchange(admitted_, own_bytes), own_bytes);
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// `f(group)`: the bytes of cells that may wait, else 0. Complexity: O(cells).
  template <class F>
  [[nodiscard]] bool invariant(F f) const {
    std::size_t bytes = 0, cells = 0;
    bool right = true;
    for (std::size_t i = 0; i < count_; ++i) {
      const cell_batch& group = groups_[(first_ + i) % most];
      const std::size_t more = f(group);
      right = right && more != 0;
      bytes += more;
      cells += count_bits(group.mask);
    }
    return right && bytes == bytes_ && cells == cells_ && cells <= most;
  }

private:
  [[nodiscard]] ASHLAR_COLD bool make_places() noexcept {
    groups_ = static_cast<cell_batch*>(os::pages::map(most * sizeof(cell_batch), os::pages::page_bytes()));
    return groups_ != nullptr;
  }

  template <class F>
  ASHLAR_NOINLINE void make_room(std::size_t bytes, F f) noexcept {
    while (count_ != 0 && (cells_ > most - most / 4 || bytes_ + bytes > admitted_ - admitted_ / 4)) bytes_ -= f(take());
  }

  [[nodiscard]] cell_batch& place(std::size_t number) noexcept { return groups_[(first_ + number) % most]; }
  [[nodiscard]] const cell_batch& take() noexcept {
    const cell_batch& leaving = place(0);
    first_ = (first_ + 1) % most;
    --count_;
    cells_ -= count_bits(leaving.mask);
    return leaving;
  }

  // Returns: 0 for 0.
  [[nodiscard]] std::size_t random_below(std::size_t number) noexcept {
    return static_cast<std::size_t>((random_.next() >> 32) * number >> 32);
  }

  [[nodiscard]] bool admits(std::size_t bytes) noexcept {
    while (bytes_ + bytes > admitted_) {
      if (admitted_ == most_bytes || !common_.try_count(own_bytes)) return false;
      admitted_ += own_bytes;
    }
    return true;
  }

  static inline constinit retention_limit common_{common_bytes};

  std::size_t first_ = 0, count_ = 0, cells_ = 0, bytes_ = 0;
  std::size_t admitted_ = own_bytes;
  random_bits random_;
  cell_batch* groups_ = nullptr;  // `most` places in pages of their own, since a heap may be constant-initialised data
};

/// Whether freed cells of a heap wait: at level hardened where its owner is found by address, and frees without the
/// lock.
template <class Upstream>
inline constexpr bool freed_cells_wait = checking_level >= checking::hardened && finds_owners<Upstream>;

/// The last freed cells of an owner at level hardened, for each of the first `Classes` size classes, on their way to
/// the quarantine, which other threads write too: one lock for `most + 1` frees. None of them is handed out meanwhile.
/// Thread safety: the owner, without the lock.
template <std::size_t Classes>
class freed_cells {
public:
  static constexpr std::size_t most = 32;  // of a class

  /// Effects: adds a cell. Returns: false, without an effect, if there are `most` of the class, or it is another one.
  [[nodiscard]] ASHLAR_INLINE bool try_add(std::size_t size_class, void* cell) noexcept {
    if (ASHLAR_UNLIKELY(size_class >= Classes)) return false;
    list& of = lists_[size_class];
    if (ASHLAR_UNLIKELY(of.count == most)) return false;
    of.cells[of.count] = cell;
    ++of.count;
    return true;
  }

  /// Effects: removes all cells of a class. Calls `begin(cell)` for one of them, `add(cell)` for each other one, which
  /// returns whether it takes the cell, `end()`, and so on with those that are left.
  /// Complexity: O(cells), as long as they are in a few groups.
  template <class Begin, class Add, class End>
  void take_groups(std::size_t size_class, Begin begin, Add add, End end) {
    if (size_class >= Classes) return;
    list& of = lists_[size_class];
    for (std::size_t passes = 0; of.count != 0; ++passes) {
      begin(of.cells[--of.count]);
      if (passes < most_passes) of.count = left_by(of, add);
      end();
    }
  }

  /// Effects: forgets all.
  void clear() noexcept {
    for (list& of : lists_) of.count = 0;
  }

private:
  struct list {
    std::size_t count = 0;
    std::array<void*, most> cells = {};
  };
  static constexpr std::size_t most_passes = 4;

  // Returns: the number of cells that `add` does not take, which are the first ones now.
  template <class Add>
  [[nodiscard]] static std::size_t left_by(list& of, Add add) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < of.count; ++i)
      if (void* const cell = of.cells[i]; !add(cell)) of.cells[left++] = cell;
    return left;
  }

  std::array<list, Classes> lists_ = {};
};

}  // namespace ashlar::ASHLAR_ABI::detail
