// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a recorded phase from its plan, as long as the program behaves as recorded.
//
//     plan       +a  +b  -a  +c  -b  -c
//     program    +a  +b  -a  +c  +d ...        from d on, the heap serves all new blocks; blocks in the arena
//                             still ^ valid    stay valid until the program frees them
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The live blocks of a run of a plan, which tell a wrong free from an early or a late one. A block is live if the
/// steps so far include its birth and not its death, and it was not freed out of turn. Complexity: O(1) for a free that
/// is the next step of the plan, otherwise O(steps). The last `most_strays` frees out of turn are recorded. Thread
/// safety: none.
template <class Table>
class planned_run {
public:
  static constexpr std::size_t most_strays = 64;

  planned_run(const std::byte* base, const Table& table, std::span<const std::uint32_t> steps) noexcept
      : base_(base), table_(&table), steps_(steps) {}

  /// Effects: the next step of the plan has happened.
  void follow() noexcept { ++followed_; }
  /// Effects: records the free of a block that is not the next to die.
  void stray(const void* p) noexcept { strays_[stray_count_++ % most_strays] = p; }
  /// Effects: no block is live, and the plan starts from its first step.
  void restart() noexcept { followed_ = stray_count_ = 0; }

  /// Effects: reports a wrong free. Expects: `p` lies in the memory of the plan.
  void expect_live(const void* p, std::size_t bytes, std::size_t alignment, const void* resource) const noexcept {
    const place at = find(p);
    if (at.live == 0) report_dead(p, at, resource);
    const auto planned = static_cast<std::size_t>(table_->sizes[at.buffer]);
    if (bytes > planned)
      report({.kind = fault::size_mismatch,
              .what = "freed a planned block with more bytes than were planned",
              .pointer = p,
              .resource = resource,
              .expected = planned,
              .got = bytes});
    if (!is_aligned(p, alignment))
      report({.kind = fault::size_mismatch,
              .what = "freed a planned block with an alignment that it does not have",
              .pointer = p,
              .resource = resource,
              .got = alignment});
  }

private:
  // The state of an address.
  struct place {
    std::size_t live = 0;       // blocks that start there
    bool was_live = false;      // a block starts there, or one started there and died
    bool is_inside = false;     // it lies inside a block that was born
    plan::position buffer = 0;  // the last buffer born there
  };

  [[nodiscard]] place find(const void* p) const noexcept {
    if (stray_count_ == 0 && followed_ < steps_.size())
      if (const plan::step next = {steps_[followed_]}; next.dies() && address(next.buffer()) == p)
        return {.live = 1, .was_live = true, .is_inside = true, .buffer = next.buffer()};
    return find_by_steps(p);
  }

  [[nodiscard]] place find_by_steps(const void* p) const noexcept {
    place found;
    for (const std::uint32_t code : steps_.first(followed_)) {
      const plan::step each = {code};
      found.is_inside = found.is_inside || contains(each.buffer(), p);
      if (address(each.buffer()) != p) continue;
      found.was_live = true;
      each.dies() ? --found.live : ++found.live;
      if (!each.dies()) found.buffer = each.buffer();
    }
    for (std::size_t i = 0; i < stray_count_ && i < most_strays; ++i)
      if (strays_[i] == p && found.live != 0) --found.live;
    return found;
  }

  [[noreturn]] static void report_dead(const void* p, const place& at, const void* resource) noexcept {
    if (at.was_live) report(fault::double_free, "freed a planned block that is free", p, resource);
    if (at.is_inside) report(fault::misaligned_free, "freed a pointer into the middle of a planned block", p, resource);
    report(fault::invalid_free, "freed a pointer where no planned block starts", p, resource);
  }

  [[nodiscard]] const std::byte* address(plan::position i) const noexcept {
    return base_ + static_cast<std::size_t>(table_->offsets[i]);
  }
  [[nodiscard]] bool contains(plan::position i, const void* p) const noexcept {
    return address_of(p) >= address_of(address(i)) && address_of(p) - address_of(address(i)) < table_->sizes[i];
  }

  const std::byte* base_;
  const Table* table_;
  std::span<const std::uint32_t> steps_;
  std::size_t followed_ = 0;
  std::size_t stray_count_ = 0;
  std::array<const void*, most_strays> strays_{};
};

template <class Table>
using checked_run = if_checked<planned_run<Table>>;

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// A resource. The k-th allocation gets its planned address if all earlier births and deaths were as planned, and if
/// it needs no more bytes and no more alignment. Otherwise the heap serves it and all later ones until `begin`. No
/// byte is handed out twice: the layout ensures that within the plan, and after it the arena hands out nothing.
///
/// `Table` has `offsets`, `sizes`, `height` and `alignment`, as written by `ashlar plan --from-trace --header`, with
/// buffers in the order of their allocation. Table and steps outlive the guard. Thread safety: none; the plan has no
/// order of several threads either. Complexity: O(1) beside the heap.
template <class Table, resource Heap>
class static_arena_guard {
public:
  /// Expects: `bytes` bytes at `base` hold the table's height, `base` has its alignment, `steps` are the steps of its
  /// problem.
  static_arena_guard(void* base, std::size_t bytes, const Table& table, std::span<const std::uint32_t> steps,
                     Heap heap = {}) noexcept
      : base_(static_cast<std::byte*>(base)), table_(&table), steps_(steps), run_(base_, table, steps),
        heap_(std::move(heap)) {
    ASHLAR_EXPECTS(table.height <= bytes, "gave a static_arena_guard less memory than its table needs");
    ASHLAR_EXPECTS(is_aligned(base, static_cast<std::size_t>(table.alignment)),
                   "misaligned the base of a static_arena_guard");
    static_cast<void>(bytes);
  }

  /// Returns: the planned address, or a block of the heap. Throws: as the heap.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = planned(bytes, alignment);
    return ASHLAR_LIKELY(p != nullptr) ? p : heap_.allocate(bytes, alignment);
  }

  /// As `allocate`, but returns null if the heap has no memory left.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = planned(bytes, alignment);
    return ASHLAR_LIKELY(p != nullptr) ? p : ashlar::try_allocate_from(heap_, bytes, alignment);
  }

  /// Expects: the same `bytes` and `alignment` as at the allocation of `p`. From level `checked` on, a planned block
  /// must be live, with this size and alignment.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    // A block of the heap is older than the phase, and its free is not a step of the plan.
    if (!in(p)) return heap_.deallocate(p, bytes, alignment);
    if (run_) run_->expect_live(p, bytes, alignment, this);
    --live_;
    diverged_ = diverged_ || next_ == steps_.size() || !now().dies() || address(now().buffer()) != p;
    if (!diverged_) follow();
    else if (run_) run_->stray(p);
  }

  /// Effects: starts the phase again, as after construction. Returns: whether the plan is followed. It is not while
  /// blocks of an earlier run are still in the arena: then the heap serves this run as well.
  bool begin() noexcept {
    diverged_ = live_ != 0;
    next_ = 0;
    if (run_ && !diverged_) run_->restart();
    return !diverged_;
  }

  /// Whether the program has diverged from the plan since `begin`.
  [[nodiscard]] bool diverged() const noexcept { return diverged_; }
  /// The number of births and deaths as planned.
  [[nodiscard]] std::size_t followed() const noexcept { return next_; }
  /// The number of buffers in the arena now.
  [[nodiscard]] std::size_t planned_live() const noexcept { return live_; }

  [[nodiscard]] bool owns(const void* p) const noexcept
    requires owning_resource<Heap>
  {
    return in(p) || heap_.owns(p);
  }

  [[nodiscard]] friend bool operator==(const static_arena_guard& a, const static_arena_guard& b) noexcept {
    return &a == &b;
  }

private:
  [[nodiscard]] plan::step now() const noexcept { return {steps_[next_]}; }
  [[nodiscard]] std::byte* address(plan::position i) const noexcept {
    return base_ + static_cast<std::size_t>(table_->offsets[i]);
  }
  [[nodiscard]] bool in(const void* p) const noexcept {
    return address_of(p) >= address_of(base_) && address_of(p) - address_of(base_) < table_->height;
  }

  [[nodiscard]] void* planned(std::size_t bytes, std::size_t alignment) noexcept {
    if (ASHLAR_UNLIKELY(diverged_)) return nullptr;
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    diverged_ = true;
    if (next_ == steps_.size() || now().dies()) return nullptr;
    const plan::position i = now().buffer();
    if (bytes > table_->sizes[i] || !is_aligned(address(i), alignment)) return nullptr;
    diverged_ = false;
    follow();
    ++live_;
    return address(i);
  }

  void follow() noexcept {
    ++next_;
    if (run_) run_->follow();
  }

  std::byte* base_;
  const Table* table_;
  std::span<const std::uint32_t> steps_;
  std::size_t next_ = 0;
  std::size_t live_ = 0;
  bool diverged_ = false;
  ASHLAR_NO_UNIQUE_ADDRESS detail::checked_run<Table> run_;
  ASHLAR_NO_UNIQUE_ADDRESS Heap heap_;
};

namespace detail {

struct least_table {
  std::uint64_t offsets[1], sizes[1], height, alignment;
};
static_assert(try_resource<static_arena_guard<least_table>>);

}  // namespace detail

}  // namespace ashlar::ASHLAR_ABI
