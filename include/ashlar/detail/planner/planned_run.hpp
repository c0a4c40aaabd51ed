// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The live blocks of a run of a plan, which tell a wrong free from an early or a late one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/plan/steps.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A block is live if the steps so far include its birth and not its death, and it was not freed out of turn.
/// Complexity: O(1) for a free that is the next step of the plan, otherwise O(steps). The last `most_strays` frees out
/// of turn are recorded. Thread safety: none.
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
    if (at.was_live)
      report({.kind = fault::double_free,
              .what = "freed a planned block that is free",
              .pointer = p,
              .resource = resource});
    if (at.is_inside)
      report({.kind = fault::misaligned_free,
              .what = "freed a pointer into the middle of a planned block",
              .pointer = p,
              .resource = resource});
    report({.kind = fault::invalid_free,
            .what = "freed a pointer where no planned block starts",
            .pointer = p,
            .resource = resource});
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

/// The same at level `fast`: no bytes and no code.
struct unwatched_run {
  template <class Table>
  unwatched_run(const std::byte*, const Table&, std::span<const std::uint32_t>) noexcept {}
  void follow() noexcept {}
  void stray(const void*) noexcept {}
  void restart() noexcept {}
  void expect_live(const void*, std::size_t, std::size_t, const void*) const noexcept {}
};

template <class Table>
using planned_run_if_checked =
    std::conditional_t<checking_level >= checking::checked, planned_run<Table>, unwatched_run>;

}  // namespace ashlar::ASHLAR_ABI::detail
