// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks in a run of memory that survive the death of the process that changes them: all but their sizes is rebuilt.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/tlsf_scale.hpp>
#include <ashlar/detail/tlsf/tlsf_index.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The policy of a process that nothing interrupts on purpose. A test ends the process at the n-th step.
struct no_steps {
  ASHLAR_INLINE static void step() noexcept {}
};

/// The 16 bytes in front of each block. Sizes and distances are in units of 16 bytes, header included.
struct alignas(16) rebuildable_header {
  static constexpr std::uint32_t live_bit = std::uint32_t{1} << 31;

  std::uint32_t size_and_state;    ///< the size, and `live_bit`: all the rest follows from it
  std::uint32_t front;             ///< the size of the block in front; 0: there is none
  std::uint32_t next_or_owner;     ///< of a free block its link, of a live one the number of its process
  std::uint32_t previous_or_mark;  ///< of a free block its link, of a live one `mark_of` its place
};
static_assert(sizeof(rebuildable_header) == 16);

/// The headers by their number: the distance from `base` in units. A view in the calling process, never stored.
template <class Steps>
class rebuildable_links {
public:
  using link = std::uint32_t;
  static constexpr link none = 0;  // no block lies at the first unit

  explicit rebuildable_links(std::byte* base) noexcept : base_(base) {}

  [[nodiscard]] ASHLAR_INLINE rebuildable_header& at(link block) const noexcept {
    return *reinterpret_cast<rebuildable_header*>(base_ + std::size_t{block} * sizeof(rebuildable_header));
  }
  [[nodiscard]] ASHLAR_INLINE link size(link block) const noexcept {
    return at(block).size_and_state & ~rebuildable_header::live_bit;
  }
  [[nodiscard]] ASHLAR_INLINE bool is_free(link block) const noexcept {
    return (at(block).size_and_state & rebuildable_header::live_bit) == 0;
  }

  // As members of a tlsf_index.
  [[nodiscard]] link next(link block) const noexcept { return at(block).next_or_owner; }
  [[nodiscard]] link previous(link block) const noexcept { return at(block).previous_or_mark; }
  void set_next(link block, link to) const noexcept {
    at(block).next_or_owner = to;
    Steps::step();
  }
  void set_previous(link block, link to) const noexcept {
    at(block).previous_or_mark = to;
    Steps::step();
  }

private:
  std::byte* base_;
};

/// Two-level segregated fit over a run of memory that several processes map at different addresses.
///
///     | header | payload      | header | payload | header |     each header has the size up to the next one;
///     first                                      end            the one at the end is live and has no payload
///
/// Invariant, between any two stores: from the first header on, the sizes lead to the end. Each change of the blocks is
/// one store of one size, `commit`; a header that it makes reachable is complete before:
///
///     allocate   | free          5 |   ->   | free          5 |   ->   | live   2 | free   3 |
///                                           |        | free 3 |
///     deallocate | free 2 | live 3 |   ->   | free 2 | free 3 |   ->   | free             5 |
///
/// So a process may die anywhere: `rebuild` joins free neighbours and makes the rest (`front`, marks, index, sums)
/// from the sizes. A died allocation has happened or not; its block is live then, with the number of the process.
/// A process sees its own stores in order, and what it stored before its death reaches all others: the compiler alone
/// has to keep the order. All functions but `rebuild`, `for_each_block` and `invariant` are O(1), those O(blocks).
/// Expects: the caller holds a lock; `blocks` is its view of the memory.
template <class Steps>
class tlsf_rebuildable {
  using nodes = rebuildable_links<Steps>;
  using index = tlsf_index<tlsf_scale<0, 31, 5>, nodes>;

public:
  using links = nodes;
  using link = std::uint32_t;
  static constexpr link none = nodes::none;
  static constexpr std::size_t unit = sizeof(rebuildable_header);
  static constexpr link most_units = rebuildable_header::live_bit - 1;
  using header = rebuildable_header;

  /// Effects: makes one free block of the units from `first` to `end`, without the last.
  /// Expects: `first + 1 < end <= most_units`, `first != 0`.
  tlsf_rebuildable(nodes blocks, link first, link end) noexcept : first_(first), end_(end - 1) {
    blocks.at(end_) = {header::live_bit | 1, 0, 0, 0};
    blocks.at(first_) = {end_ - first_, 0, 0, 0};
    static_cast<void>(rebuild(blocks));
  }
  tlsf_rebuildable(const tlsf_rebuildable&) = delete;
  tlsf_rebuildable& operator=(const tlsf_rebuildable&) = delete;

  /// Returns: a live block of `units` (header included) with a payload at a multiple of `alignment` units; or `none`.
  /// Expects: `1 < units`; `alignment` is a power of two.
  [[nodiscard]] link allocate(nodes blocks, link units, link alignment, std::uint32_t owner) noexcept {
    const auto gap_at = [alignment](link block) { return (0 - (block + 1)) & (alignment - 1); };
    if (units > most_units - alignment) return none;
    const link found = free_.find(units, units + alignment - 1, [&](link block) {
      return blocks.size(block) >= units && blocks.size(block) - units >= gap_at(block);
    });
    if (found == none || blocks.size(found) < units || blocks.size(found) - units < gap_at(found)) return none;
    const link all = blocks.size(found), gap = gap_at(found), rest = all - gap - units;
    const link taken = found + gap, behind = taken + units;
    free_.remove(blocks, found, all);
    Steps::step();
    if (rest != 0) prepare(blocks, behind, {rest, units, 0, 0});
    if (gap != 0) prepare(blocks, taken, {units | header::live_bit, gap, owner, mark_of(taken)});
    else claim(blocks, taken, owner);
    commit(blocks, found, gap != 0 ? gap : units | header::live_bit);
    set_front(blocks, found + all, rest != 0 ? rest : units);
    if (gap != 0) insert(blocks, found, gap);
    if (rest != 0) insert(blocks, behind, rest);
    used_ += units;
    ++live_;
    return taken;
  }

  /// Expects: `block` is live.
  void deallocate(nodes blocks, link block) noexcept {
    link units = blocks.size(block);
    used_ -= units;
    --live_;
    commit(blocks, block, units);
    if (const link behind = block + units; blocks.is_free(behind)) {
      units += blocks.size(behind);
      free_.remove(blocks, behind, blocks.size(behind));
      Steps::step();
      commit(blocks, block, units);
    }
    if (const link front = blocks.at(block).front; front != 0 && blocks.is_free(block - front)) {
      block -= front;
      units += front;
      free_.remove(blocks, block, front);
      Steps::step();
      commit(blocks, block, units);
    }
    set_front(blocks, block + units, units);
    insert(blocks, block, units);
  }

  /// Effects: makes the block `units` long, with the free block after it if necessary. Returns: whether it is.
  /// Expects: `block` is live; `1 < units`.
  [[nodiscard]] bool try_expand(nodes blocks, link block, link units) noexcept {
    const link before = blocks.size(block), behind = block + before;
    const link more = blocks.is_free(behind) ? blocks.size(behind) : 0;
    if (units > before + more) return false;
    if (units == before) return true;
    const link rest = before + more - units;
    if (more != 0) free_.remove(blocks, behind, more);
    Steps::step();
    if (rest != 0) prepare(blocks, block + units, {rest, units, 0, 0});
    commit(blocks, block, units | header::live_bit);
    set_front(blocks, behind + more, rest != 0 ? rest : units);
    if (rest != 0) insert(blocks, block + units, rest);
    used_ += units - before;
    return true;
  }

  /// Effects: makes everything from the sizes, for a process that died. Idempotent, also if it is interrupted itself.
  /// Returns: whether the sizes lead to the end; if not, a program has overwritten them, and no block is free.
  [[nodiscard]] ASHLAR_COLD bool rebuild(nodes blocks) noexcept {
    free_.clear();
    used_ = 0, live_ = 0;
    link front = 0;
    for (link block = first_; block != end_; block += front) {
      if (!is_sound(blocks, block)) return free_.clear(), false;
      set_front(blocks, block, front);
      if (blocks.is_free(block)) {
        join_free_neighbours(blocks, block);
        insert(blocks, block, blocks.size(block));
      } else {
        blocks.at(block).previous_or_mark = mark_of(block);
        used_ += blocks.size(block);
        ++live_;
      }
      front = blocks.size(block);
    }
    set_front(blocks, end_, front);
    return true;
  }

  /// Returns: whether a live block begins at `block`, as far as its header and the next one show.
  [[nodiscard]] bool is_live(nodes blocks, link block) const noexcept {
    const header& seen = blocks.at(block);
    return (seen.size_and_state & header::live_bit) != 0 && seen.previous_or_mark == mark_of(block);
  }
  /// Returns: whether the header after the live block is as the resource wrote it.
  [[nodiscard]] bool is_followed(nodes blocks, link block) const noexcept {
    return is_sound(blocks, block) && blocks.at(block + blocks.size(block)).front == blocks.size(block);
  }

  [[nodiscard]] static std::byte* payload(std::byte* base, link block) noexcept {
    return base + (std::size_t{block} + 1) * unit;
  }

  [[nodiscard]] link first() const noexcept { return first_; }
  [[nodiscard]] link end() const noexcept { return end_; }
  [[nodiscard]] link used() const noexcept { return used_; }         ///< units of live blocks
  [[nodiscard]] std::size_t live() const noexcept { return live_; }  ///< live blocks
  [[nodiscard]] link largest_free(nodes blocks) const noexcept {     ///< units that an unaligned request surely gets
    const link found = free_.largest();
    return found != none ? blocks.size(found) : 0;
  }

  /// Effects: calls `f(block)` for each block in order, until it returns false or a size is overwritten.
  template <class F>
  void for_each_block(nodes blocks, F f) const {
    for (link block = first_; block != end_ && is_sound(blocks, block); block += blocks.size(block))
      if (!f(block)) return;
  }

  [[nodiscard]] bool invariant(nodes blocks) const noexcept {
    link front = 0, used = 0, last = first_;
    std::size_t live = 0, free = 0;
    bool sound = true, was_free = false;
    for_each_block(blocks, [&](link block) {
      sound = sound && blocks.at(block).front == front && !(was_free && blocks.is_free(block));
      was_free = blocks.is_free(block);
      if (was_free) ++free;
      else ++live, used += blocks.size(block), sound = sound && is_live(blocks, block);
      front = blocks.size(block);
      last = block + front;
      return sound;
    });
    return sound && last == end_ && blocks.at(end_).front == front && live == live_ && used == used_ &&
           free == free_.count(blocks) && free_.invariant(blocks);
  }

private:
  [[nodiscard]] static constexpr std::uint32_t mark_of(link block) noexcept { return block ^ 0xA51A'B10Cu; }

  [[nodiscard]] bool is_sound(nodes blocks, link block) const noexcept {
    return blocks.size(block) != 0 && blocks.size(block) <= end_ - block;
  }

  // The one store that changes which blocks there are. The compiler moves no store across it.
  static void commit(nodes blocks, link block, std::uint32_t size_and_state) noexcept {
    atomic_signal_fence();
    *const_cast<volatile std::uint32_t*>(&blocks.at(block).size_and_state) = size_and_state;
    atomic_signal_fence();
    Steps::step();
  }

  // Writes a header that no size leads to yet.
  static void prepare(nodes blocks, link block, const header& as) noexcept {
    blocks.at(block) = as;
    Steps::step();
  }

  static void claim(nodes blocks, link block, std::uint32_t owner) noexcept {
    blocks.at(block).next_or_owner = owner;
    blocks.at(block).previous_or_mark = mark_of(block);
    Steps::step();
  }

  static void set_front(nodes blocks, link block, link front) noexcept {
    blocks.at(block).front = front;
    Steps::step();
  }

  void insert(nodes blocks, link block, link units) noexcept {
    free_.insert(blocks, block, units);
    Steps::step();
  }

  void join_free_neighbours(nodes blocks, link block) noexcept {
    for (link behind = block + blocks.size(block); blocks.is_free(behind) && is_sound(blocks, behind);
         behind = block + blocks.size(block))
      commit(blocks, block, blocks.size(block) + blocks.size(behind));
  }

  link first_;
  link end_;
  link used_ = 0;
  std::size_t live_ = 0;
  index free_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
