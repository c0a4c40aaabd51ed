// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All slabs of the process by address, at the levels that check: it knows whose a cell is without reading it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/address_tree.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Where a cell lies and whose it is. All fields are null where nobody's slab has it.
struct cell_place {
  const void* owner = nullptr;  ///< the pool
  std::size_t cell_bytes = 0;
};

/// A slab's line in the registry. It lies in the slab, in front of the cells, so that nothing is allocated for it.
struct registered_slab : tree_node<registered_slab> {
  const void* owner = nullptr;
  const std::byte* cells = nullptr;
  std::uint32_t bytes = 0;  ///< of all cells; slabs have at most 2^31
  std::uint32_t cell_bytes = 0;
};

/// The slabs that are entered, ordered by address.
///
///   free of p -> the pool does not know p -> registry: highest slab at or below p -> has p ? its owner : nobody's
///
/// Where slabs lie in cells of other pools, an inner slab hides the outer cells behind it: those are nobody's.
/// Thread safety: any thread. Complexity: O(log slabs) expected, under one lock. A slab leaves before its memory is
/// given back, so a pool must be destroyed, or released, before the memory under its slabs goes.
class slab_registry {
public:
  /// Effects: enters a slab. Expects: `line` lies in front of its cells, in the same slab, and is in no registry.
  void enter(registered_slab& line) noexcept {
    const check_scope<spin_lock> held(lock_);
    slabs_.insert(&line);
  }

  /// Effects: takes a slab out. Expects: it was entered.
  void leave(registered_slab& line) noexcept {
    const check_scope<spin_lock> held(lock_);
    slabs_.erase(&line);
  }

  /// Returns: whose cell `p` points into, or nobody's. Reads slabs' lines only, never `p`.
  [[nodiscard]] cell_place find(const void* p) const noexcept {
    const check_scope<spin_lock> held(lock_);
    const registered_slab* const below = slabs_.find_at_or_below(p);
    if (below == nullptr || address_of(p) < address_of(below->cells)) return {};
    if (address_of(p) - address_of(below->cells) >= below->bytes) return {};
    return {below->owner, below->cell_bytes};
  }

  /// Effects: holds the registry as it is, so that a fork finds it at rest. Expects: it is held for a moment, and
  /// `find` and all changes wait for it.
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

  /// Complexity: O(slabs).
  [[nodiscard]] bool invariant() const noexcept {
    const check_scope<spin_lock> held(lock_);
    return slabs_.invariant();
  }

private:
  mutable spin_lock lock_;
  address_tree<registered_slab> slabs_;
};

static_assert(std::is_trivially_destructible_v<slab_registry>, "usable after main");

/// The registry of the process, constant-initialised and never destroyed: usable before `main` and after it.
constinit inline slab_registry process_slabs;

/// What a slab's header keeps for the registry: its line at the levels that check, nothing at `fast`.
class slab_registration {
public:
  /// Effects: enters the slab whose header this lies in.
  void enter(const void* owner, const std::byte* cells, std::size_t bytes, std::size_t cell_bytes) noexcept {
    line_.owner = owner;
    line_.cells = cells;
    line_.bytes = static_cast<std::uint32_t>(bytes);
    line_.cell_bytes = static_cast<std::uint32_t>(cell_bytes);
    process_slabs.enter(line_);
  }

  /// Effects: takes the slab out. Expects: it was entered.
  void leave() noexcept { process_slabs.leave(line_); }

private:
  registered_slab line_;
};

/// The same at `fast`: no bytes and no code.
struct no_slab_registration {
  void enter(const void*, const std::byte*, std::size_t, std::size_t) noexcept {}
  void leave() noexcept {}
};

using slab_registration_if_checked =
    std::conditional_t<checking_level >= checking::checked, slab_registration, no_slab_registration>;

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
