// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A std allocator that refers to any resource.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Whether a `T` may be in a cell of `R`: false if the cells are too small by the type of `R`.
template <class T, class R>
inline constexpr bool may_be_in_cell_of = true;
template <class T, class R>
inline constexpr bool may_be_in_cell_of<T, resource_ref<R>> = may_be_in_cell_of<T, R>;
template <class T, std::size_t CellBytes, std::size_t CellAlignment, class Upstream, std::size_t SlabBytes>
inline constexpr bool may_be_in_cell_of<T, fixed_block_pool<CellBytes, CellAlignment, Upstream, SlabBytes>> =
    sizeof(T) <= align_up(CellBytes, CellAlignment) && alignof(T) <= CellAlignment;

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// A standard allocator that refers to a resource: one pointer wide. Two are equal iff their resources are. Every trait
/// is explicit:
///
/// | trait | value | because |
/// |---|---|---|
/// | is_always_equal | false | two resources may differ |
/// | propagate_on_container_move_assignment | true | a move keeps its elements and takes their resource along: O(1) |
/// | propagate_on_container_swap | true | a swap of unequal allocators would be undefined otherwise |
/// | propagate_on_container_copy_assignment | false | a container keeps its resource |
/// | select_on_container_copy_construction | the same resource | a copy lives beside its original |
///
/// Over a pool with cells as large as a `T`, arrays are runs of cells (`run_resource`): a small vector or a block of a
/// deque comes from the slabs, too, up to the longest run; larger arrays come from the pool's upstream. An allocator of
/// objects larger than a cell of its `fixed_block_pool` does not compile; other pools count and report them
/// (`outsized_blocks`).
///
/// Lifetime: the resource outlives every container. Thread safety: the resource's.
template <class T, resource R>
class allocator {
public:
  using value_type = T;
  using is_always_equal = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using propagate_on_container_copy_assignment = std::false_type;

  template <class U>
  struct rebind {
    using other = allocator<U, R>;
  };

  // Implicit, so that a resource can be passed to a container's constructor.
  allocator(R& r) noexcept : resource_(std::addressof(r)) { expect_cells(); }
  ASHLAR_DELETED("name the resource, as the last argument of the constructor", allocator());
  ASHLAR_DELETED("name the resource as a variable, which outlives the container", allocator(const R&&));
  ASHLAR_DELETED("name the resource itself, not its address", allocator(const R*));
  template <class U>
  allocator(const allocator<U, R>& other) noexcept : resource_(&other.resource()) {
    expect_cells();
  }

  /// Returns: memory for `n` objects. Throws: `std::bad_array_new_length` if `n * sizeof(T)` overflows; else as the
  /// resource.
  [[nodiscard]] ASHLAR_INLINE T* allocate(std::size_t n) {
    if (ASHLAR_UNLIKELY(n > max_size())) throw_bad_array_new_length();
    if constexpr (run_resource<R>)
      if (is_run(n)) return static_cast<T*>(resource_->allocate_run(n));
    return static_cast<T*>(resource_->allocate(n * sizeof(T), alignof(T)));
  }

  /// As `allocate(n)`. Returns: also the number of objects with room, if the resource can tell: `deallocate` takes any
  /// number from `n` to that.
  [[nodiscard]] ASHLAR_INLINE allocation_result<T*> allocate_at_least(std::size_t n) {
    if (ASHLAR_UNLIKELY(n > max_size())) throw_bad_array_new_length();
    if constexpr (run_resource<R>)
      if (is_run(n)) {
        const auto run = resource_->allocate_at_least(n);
        return {static_cast<T*>(run.cells), run.count};
      }
    const block got = ashlar::allocate_at_least_from(*resource_, n * sizeof(T), alignof(T));
    return {static_cast<T*>(got.data), got.size / sizeof(T)};
  }

  /// Expects: `p` came from `allocate(n)` of an equal allocator, or `n` is a result of `allocate_at_least`.
  ASHLAR_INLINE void deallocate(T* p, std::size_t n) noexcept {
    if constexpr (run_resource<R>)
      if (is_run(n)) return resource_->deallocate_run(p, n);
    resource_->deallocate(p, n * sizeof(T), alignof(T));
  }

  [[nodiscard]] static constexpr std::size_t max_size() noexcept { return max_block_bytes / sizeof(T); }
  [[nodiscard]] allocator select_on_container_copy_construction() const noexcept { return *this; }
  [[nodiscard]] R& resource() const noexcept { return *resource_; }

  template <class U>
  [[nodiscard]] friend bool operator==(const allocator& a, const allocator<U, R>& b) noexcept {
    return &a.resource() == &b.resource() || a.resource() == b.resource();
  }

private:
  // Arrays of pointers belong to a container beside its nodes or elements: the buckets of a hash table, the map of a
  // deque.
  static constexpr void expect_cells() noexcept {
    constexpr bool has_room = std::is_pointer_v<T> || detail::may_be_in_cell_of<T, R>;
    static_assert(has_room, "give the pool larger cells: those of a container's nodes have node_bytes<Container>");
  }

  [[nodiscard]] ASHLAR_INLINE bool is_run(std::size_t n) const noexcept
    requires run_resource<R>
  {
    return n > 1 && resource_->cell_bytes() == sizeof(T) && resource_->cell_alignment() >= alignof(T);
  }

  R* resource_;
};

}  // namespace ashlar::ASHLAR_ABI
