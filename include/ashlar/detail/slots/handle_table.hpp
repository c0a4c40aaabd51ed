// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table behind a slot_map: for each slot its object and its current generation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/slot_handle.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Whether maps have different first generations, so that a handle of another map is stale.
inline constexpr bool maps_differ = checking_level >= checking::checked;

/// Returns: 1 for the first call in the process, then numbers from 1 to 2^31 that lie far apart: no two of n are closer
/// than 2^29 / n. A handle of one map is mistaken for one of another only if a slot was reused about as often. A slot
/// has at least 2^31 further generations. Thread safety: any thread.
[[nodiscard]] inline std::uint32_t next_map_generation() noexcept {
  constexpr std::uint32_t golden = 0x9E3779B9;  // 2^32 times the golden ratio: multiples of it spread evenly
  constinit static atomic<std::uint32_t> next = 0;
  return 1 + (next.fetch_add(golden, memory_order_relaxed) >> 1);  // the numbers only have to differ
}

/// The cycle of a slot:
///
///     unused or free -- take --> taken -- publish --> live -- withdraw --> stale -- recycle --> free, next generation
///                                  |                                         |
///                                  +-- put_back --> free                     +-- recycle --> retired, after the last
///
/// The memory comes from the caller's upstream, passed with each call that needs it. A slot without an object holds
/// null, so that no handle finds one, for any generation. Invariant: `live + free + retired + taken + stale ==
/// size()`. Thread safety: none. All operations are O(1) unless stated otherwise.
template <class T>
class handle_table {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::size_t most_slots = none;  // the highest number means none

  /// Returns: the first generation of the next map.
  [[nodiscard]] static std::uint32_t next_generation() noexcept { return maps_differ ? next_map_generation() : 1; }

  /// Expects: `max_slots <= most_slots`, `first_generation != 0`.
  handle_table(std::size_t max_slots, std::uint32_t first_generation) noexcept
      : max_slots_(max_slots), first_generation_(first_generation) {
    ASHLAR_EXPECTS(max_slots <= most_slots, "max_slots is above 2^32 - 1");
    ASHLAR_REQUIRE(first_generation != 0, "first_generation is 0, the generation of a default handle");
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t live() const noexcept { return live_; }
  [[nodiscard]] std::size_t retired() const noexcept { return retired_; }
  [[nodiscard]] std::size_t max_slots() const noexcept { return max_slots_; }

  [[nodiscard]] ASHLAR_INLINE T* find(slot_handle<T> h) const noexcept {
    if (ASHLAR_UNLIKELY(h.index() >= size_)) return nullptr;
    const entry& e = entries_[h.index()];
    return ASHLAR_LIKELY(e.generation == h.generation()) ? e.object : nullptr;
  }

  /// Returns: the object in a slot, or null. Expects: `index < size()`.
  [[nodiscard]] ASHLAR_INLINE T* at(std::uint32_t index) const noexcept { return entries_[index].object; }
  [[nodiscard]] slot_handle<T> handle_of(std::uint32_t index) const noexcept {
    return {index, entries_[index].generation};
  }

  /// Effects: makes `take` possible. Throws: `std::bad_alloc`, or as the upstream. Complexity: amortised O(1).
  template <resource Upstream>
  ASHLAR_INLINE void make_room(Upstream& upstream) {
    if (ASHLAR_UNLIKELY(!has_room())) grow(upstream);
  }

  /// As `make_room`. Returns: whether `take` is possible.
  template <resource Upstream>
  [[nodiscard]] ASHLAR_INLINE bool try_make_room(Upstream& upstream) noexcept {
    return ASHLAR_LIKELY(has_room()) || try_grow(upstream);
  }

  /// Returns: a slot without an object. Expects: there is room.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t take() noexcept {
    if (free_ == none) {
      ::new (static_cast<void*>(entries_ + size_)) entry{nullptr, first_generation_, none};
      return size_++;
    }
    const std::uint32_t index = free_;
    free_ = entries_[index].next_free;
    return index;
  }

  /// Effects: undoes `take`: without an object the generation is still unused.
  ASHLAR_INLINE void put_back(std::uint32_t index) noexcept {
    entries_[index].next_free = free_;
    free_ = index;
  }

  ASHLAR_INLINE slot_handle<T> publish(std::uint32_t index, T* object) noexcept {
    entries_[index].object = object;
    ++live_;
    return {index, entries_[index].generation};
  }

  ASHLAR_INLINE void withdraw(std::uint32_t index) noexcept {
    entries_[index].object = nullptr;
    ++entries_[index].generation;
    --live_;
  }

  ASHLAR_INLINE void recycle(std::uint32_t index) noexcept {
    if (ASHLAR_LIKELY(entries_[index].generation != 0)) put_back(index);
    else ++retired_;
  }

  /// Effects: makes room for `count` live slots in all. Throws: as `make_room`. Complexity: O(size()).
  template <resource Upstream>
  void reserve(Upstream& upstream, std::size_t count) {
    if (count > max_slots_ - retired_) throw_bad_alloc(count, alignof(entry));
    const std::size_t wanted = count + retired_;
    if (wanted > capacity_) move_to(upstream, upstream.allocate(checked_bytes(wanted), alignof(entry)), wanted);
  }

  /// Effects: gives the memory back; the table is empty.
  template <resource Upstream>
  void release(Upstream& upstream) noexcept {
    if (entries_ != nullptr) upstream.deallocate(entries_, capacity_ * sizeof(entry), alignof(entry));
    entries_ = nullptr;
    size_ = 0;
    capacity_ = live_ = retired_ = 0;
    free_ = none;
  }

  /// Returns: whether the numbers of slots add up and `is_object(p)` holds for every object. Expects: no slot is
  /// between `take` and `publish`, or between `withdraw` and `recycle`. Complexity: O(size()).
  template <class Predicate>
  [[nodiscard]] bool invariant(Predicate is_object) const noexcept {
    std::size_t live = 0;
    std::size_t retired = 0;
    std::size_t free = 0;
    bool good = size_ <= capacity_ && capacity_ <= max_slots_;
    for (std::uint32_t i = 0; i < size_; ++i) {
      const entry& e = entries_[i];
      live += e.object != nullptr ? 1 : 0;
      retired += e.generation == 0 ? 1 : 0;
      good = good && (e.object == nullptr || (e.generation != 0 && is_object(e.object)));
    }
    for (std::uint32_t i = free_; i != none && free <= size_; i = entries_[i].next_free, ++free)
      good = good && i < size_ && entries_[i].object == nullptr && entries_[i].generation != 0;
    return good && live == live_ && retired == retired_ && live + retired + free == size_;
  }

private:
  struct entry {
    T* object;  // null: none
    std::uint32_t generation;
    std::uint32_t next_free;
  };

  static constexpr std::size_t first_capacity = 32;  // half a kibibyte: a small map takes little

  [[nodiscard]] ASHLAR_INLINE bool has_room() const noexcept { return free_ != none || size_ < capacity_; }

  // 0 if all slots are in use.
  [[nodiscard]] std::size_t next_capacity() const noexcept {
    const std::size_t doubled = std::max(first_capacity, capacity_ * 2);
    return capacity_ == max_slots_ ? 0 : std::min(doubled, max_slots_);
  }

  [[nodiscard]] static std::size_t checked_bytes(std::size_t slot_count) {
    std::size_t bytes = 0;
    if (!checked_mul(slot_count, sizeof(entry), bytes) || bytes > max_block_bytes)
      throw_bad_alloc(bytes, alignof(entry));
    return bytes;
  }

  template <resource Upstream>
  ASHLAR_COLD void grow(Upstream& upstream) {
    const std::size_t slot_count = next_capacity();
    if (slot_count == 0) throw_bad_alloc(capacity_ * sizeof(entry), alignof(entry));
    move_to(upstream, upstream.allocate(checked_bytes(slot_count), alignof(entry)), slot_count);
  }

  template <resource Upstream>
  [[nodiscard]] ASHLAR_COLD bool try_grow(Upstream& upstream) noexcept {
    const std::size_t slot_count = next_capacity();
    std::size_t bytes = 0;
    if (slot_count == 0 || !checked_mul(slot_count, sizeof(entry), bytes) || bytes > max_block_bytes) return false;
    void* const memory = try_allocate_from(upstream, bytes, alignof(entry));
    if (memory != nullptr) move_to(upstream, memory, slot_count);
    return memory != nullptr;
  }

  template <resource Upstream>
  void move_to(Upstream& upstream, void* memory, std::size_t slot_count) noexcept {
    if (size_ != 0) std::memcpy(memory, entries_, size_ * sizeof(entry));
    if (entries_ != nullptr) upstream.deallocate(entries_, capacity_ * sizeof(entry), alignof(entry));
    entries_ = static_cast<entry*>(memory);
    capacity_ = slot_count;
  }

  entry* entries_ = nullptr;
  std::uint32_t size_ = 0;  // slots ever taken
  std::uint32_t free_ = none;
  std::size_t live_ = 0;
  std::size_t retired_ = 0;
  std::size_t capacity_ = 0;
  std::size_t max_slots_;
  std::uint32_t first_generation_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
