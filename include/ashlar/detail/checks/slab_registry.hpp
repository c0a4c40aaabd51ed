// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The registry of all slabs of the process by address, from level `checked` on: it finds a cell's owner without a read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/intrusive.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The registered slabs, ordered by address.
///
///     free of p -> p is not a cell of the pool -> registry: highest slab at or below p -> contains p ? owner : none
///
/// A slab may lie in a cell of another pool. Such an inner slab hides the outer cells after it: they have no owner.
/// Thread safety: any thread. Complexity: O(log slabs) expected, under one lock. A slab leaves before its memory is
/// returned, so a pool must be destroyed or released before the memory under its slabs.
class slab_registry {
public:
  /// Effects: adds a slab. Expects: `line` lies in front of the cells of the slab and is in no registry.
  void enter(registered_slab& line) noexcept {
    const check_scope<spin_lock> held(lock_);
    slabs_.insert(&line);
    has_stack_slabs_ = has_stack_slabs_ || line.is_on_stack;
  }

  /// Effects: removes a slab. Expects: it was entered.
  void leave(registered_slab& line) noexcept {
    const check_scope<spin_lock> held(lock_);
    if (line.cells != nullptr) slabs_.erase(&line);
  }

  /// Returns: the cell that contains `p`, or an empty result. Reads entries of slabs only, never `p`.
  [[nodiscard]] cell_place find(const void* p) const noexcept {
    const check_scope<spin_lock> held(lock_);
    const registered_slab* const below = slabs_.find_at_or_below(p);
    if (below == nullptr || address_of(p) < address_of(below->cells)) return {};
    if (address_of(p) - address_of(below->cells) >= below->bytes) return {};
    return {below->owner, below->cell_bytes};
  }

  /// Effects: locks the registry, so that a fork finds it consistent. `find` and all changes wait until `unlock`, so it
  /// must be held for a short time only.
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

  /// Effects: in a forked child: removes the slabs on stacks of threads that it lacks. Expects: the lock is held.
  /// Complexity: O(slabs), once there were slabs on stacks.
  ASHLAR_COLD void leave_gone() noexcept {
    if (!has_stack_slabs_) return;
    address_tree<registered_slab> left;
    slabs_.for_each([&left](registered_slab& each) {
      if (each.is_on_stack && !stack_thread::is_on_own(&each)) each.cells = nullptr;
      else left.insert(&each);
    });
    slabs_ = left;
  }

  /// Complexity: O(slabs).
  [[nodiscard]] bool invariant() const noexcept {
    const check_scope<spin_lock> held(lock_);
    return slabs_.invariant();
  }

private:
  mutable spin_lock lock_;
  address_tree<registered_slab> slabs_;
  bool has_stack_slabs_ = false;  // or had
};

static_assert(std::is_trivially_destructible_v<slab_registry>, "usable after main");

/// The registry of the process, constant-initialised and never destroyed: usable before `main` and after it.
constinit inline slab_registry process_slabs;

inline void slab_registration::enter(const void* owner, const std::byte* cells, std::size_t bytes,
                                     std::size_t cell_bytes) noexcept {
  if (!line_) return;
  line_->owner = owner;
  line_->cells = cells;
  line_->bytes = static_cast<std::uint32_t>(bytes);
  line_->cell_bytes = static_cast<std::uint32_t>(cell_bytes) & 0x7FFF'FFFF;  // no more, which g++ asks for
  process_slabs.enter(*line_);
}

inline void slab_registration::leave() noexcept {
  if (line_) process_slabs.leave(*line_);
}

}  // namespace ashlar::ASHLAR_ABI::detail
