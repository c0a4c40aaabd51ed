// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An upstream adaptor whose large regions may come back in parts; each region goes back upstream as a whole.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <new>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/address_tree.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Makes a divisible resource of an upstream that only takes whole blocks back, so that a pool above may grow by
/// regions (`slab_source`). A note after each region holds its size and alignment; the region goes back when all its
/// parts are back.
///
///     block of the upstream   | part | part | part | part | note |
///
/// Blocks with a size that is not a multiple of `least_part` bypass this scheme. Neighbouring parts may come back as
/// one. Thread safety: that of the upstream if `Lock` is a real lock, else none.
template <resource Upstream, basic_lockable Lock = null_lock>
class divided_upstream {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<Upstream> && !std::same_as<Lock, null_lock>;
  static constexpr bool is_divisible = true;

  /// Effects: makes the upstream from the arguments.
  template <class... Args>
    requires std::constructible_from<Upstream, Args...>
  constexpr explicit divided_upstream(Args&&... args) : upstream_(std::forward<Args>(args)...) {}
  divided_upstream(const divided_upstream&) = delete;  // regions would go back twice
  divided_upstream& operator=(const divided_upstream&) = delete;

  /// Throws: as the upstream.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    if (!is_region(bytes)) return upstream_.allocate(bytes, alignment);
    return noted(upstream_.allocate(with_note(bytes), aligned(alignment)), bytes, alignment);
  }

  /// As `allocate`, but returns null when the upstream has no memory left.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (!is_region(bytes)) return try_allocate_from(upstream_, bytes, alignment);
    void* const p = try_allocate_from(upstream_, with_note(bytes), aligned(alignment));
    return p != nullptr ? noted(p, bytes, alignment) : nullptr;
  }

  /// Expects: a block, or a part of one. Complexity: expected O(log regions).
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (!is_region(bytes)) return upstream_.deallocate(p, bytes, alignment);
    if (const note whole = take_back(p, bytes); whole.out == 0)
      upstream_.deallocate(whole.start, with_note(whole.bytes), aligned(whole.alignment));
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<Upstream>
  {
    upstream_.prefault(p, bytes);
  }

  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }

  /// Returns: the lock of the notes, which must be free across a fork.
  [[nodiscard]] Lock& lock() noexcept { return lock_; }

  [[nodiscard]] friend bool operator==(const divided_upstream& a, const divided_upstream& b) noexcept {
    return &a == &b;
  }

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
    std::size_t out;  // bytes not yet back
    std::size_t alignment;
  };

  [[nodiscard]] static bool is_region(std::size_t bytes) noexcept { return bytes != 0 && bytes % least_part == 0; }
  [[nodiscard]] static std::size_t with_note(std::size_t bytes) noexcept { return bytes + sizeof(note); }
  [[nodiscard]] static std::size_t aligned(std::size_t alignment) noexcept {
    return std::max(alignment, alignof(note));
  }

  [[nodiscard]] void* noted(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    auto* const start = static_cast<std::byte*>(p);
    note* const made = ::new (static_cast<void*>(start + bytes)) note{{}, start, bytes, bytes, alignment};
    const check_scope<Lock> held(lock_);
    notes_.insert(made);
    return p;
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
  ASHLAR_NO_UNIQUE_ADDRESS Lock lock_ = {};
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
