// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The upstream of a pool set: it counts the bytes held, and its large regions may come back in parts.
#pragma once

#include <concepts>
#include <cstddef>
#include <new>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/address_tree.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A divisible resource over any upstream, so that the pools above may grow by regions (`slab_source`). If `Upstream`
/// does not take the parts back, a note after each region holds its size and alignment; the region goes back when all
/// its parts are back.
///
///     block of the upstream   | part | part | part | part | note |
///
/// Parts have the alignment of their region and a multiple of it as size. Blocks with a size that is not a multiple of
/// `least_part_bytes` have no note. Neighbouring parts may come back as one.
/// The count of bytes needs no lock, since it orders no other memory.
/// Thread safety: as the upstream if `Lock` is a real lock, else none.
template <resource Upstream, basic_lockable Lock = null_lock>
class set_upstream {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<Upstream> && !std::same_as<Lock, null_lock>;
  static constexpr std::size_t least_part_bytes = largest_page;

  /// Effects: makes the upstream from the arguments.
  template <class... Args>
    requires std::constructible_from<Upstream, Args...>
  constexpr explicit set_upstream(Args&&... args) : upstream_(std::forward<Args>(args)...) {}
  set_upstream(const set_upstream&) = delete;  // regions would go back twice
  set_upstream& operator=(const set_upstream&) = delete;

  /// Throws: as the upstream.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) { return take<or_throw>(bytes, alignment); }
  /// As `allocate`, but returns null when the upstream has no memory left.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return take<or_null>(bytes, alignment);
  }

  /// Expects: a block, or a part of one. Complexity: expected O(log regions).
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (!is_noted(bytes, alignment)) return give(p, bytes, alignment);
    if (const note whole = take_back(p, bytes); whole.out == 0)
      give(whole.start, whole.bytes + sizeof(note), whole.alignment);
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<Upstream>
  {
    upstream_.prefault(p, bytes);
  }

  /// Returns: bytes held from the upstream. Thread safety: any thread, if this is thread-safe.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_.load(memory_order_relaxed); }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }
  /// Returns: the lock of the notes, which must be free across a fork.
  [[nodiscard]] Lock& lock() noexcept { return lock_; }

  [[nodiscard]] friend bool operator==(const set_upstream& a, const set_upstream& b) noexcept { return &a == &b; }

  /// Complexity: O(regions).
  [[nodiscard]] bool invariant() const noexcept {
    bool good = notes_.invariant();
    notes_.for_each([&](const note& each) {
      good =
          good && each.out != 0 && each.out <= each.bytes && address_of(&each) == address_of(each.start) + each.bytes;
    });
    return good;
  }

private:
  struct note : tree_node<note> {
    std::byte* start;
    std::size_t bytes;
    std::size_t out;        // bytes not yet back
    std::size_t alignment;  // of the upstream's block
  };

  [[nodiscard]] static bool is_noted(std::size_t bytes, std::size_t alignment) noexcept {
    if (takes_parts_of<Upstream>(least_part_bytes) || takes_parts_of<Upstream>(alignment)) return false;
    return bytes != 0 && bytes % least_part_bytes == 0;
  }

  template <failure Failure>
  [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    if (!is_noted(bytes, alignment)) return counted(allocate_from<Failure>(upstream_, bytes, alignment), bytes);
    const std::size_t whole = bytes + sizeof(note), aligned = detail::max(alignment, alignof(note));
    void* const p = counted(allocate_from<Failure>(upstream_, whole, aligned), whole);
    if (p != nullptr) enter({{}, static_cast<std::byte*>(p), bytes, bytes, aligned});
    return p;
  }

  void give(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    upstream_.deallocate(p, bytes, alignment);
    add(std::size_t{0} - bytes);
  }

  [[nodiscard]] void* counted(void* p, std::size_t bytes) noexcept {
    if (p != nullptr) add(bytes);
    return p;
  }

  void add(std::size_t bytes) noexcept {
    if constexpr (is_thread_safe) held_.fetch_add(bytes, memory_order_relaxed);
    else held_.store(held_bytes() + bytes, memory_order_relaxed);
  }

  void enter(const note& fresh) noexcept {
    note* const made = ::new (static_cast<void*>(fresh.start + fresh.bytes)) note(fresh);
    const check_scope<Lock> held(lock_);
    notes_.insert(made);
  }

  // Returns: a copy of the updated note. The region can go back once no byte is out.
  [[nodiscard]] note take_back(void* p, std::size_t bytes) noexcept {
    const check_scope<Lock> held(lock_);
    note* const found = notes_.find_above(p);
    found->out -= bytes;
    if (found->out == 0) notes_.erase(found);
    return *found;
  }

  address_tree<note> notes_;
  atomic<std::size_t> held_ = 0;
  ASHLAR_NO_UNIQUE_ADDRESS Lock lock_ = {};
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
