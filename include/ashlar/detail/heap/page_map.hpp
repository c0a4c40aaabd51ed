// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page map of a heap: a hash table from the 4 MiB windows of the address space to extents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Bytes of a window, and of a segment. An extent starts at a window.
inline constexpr std::size_t window_bytes = std::size_t{4} << 20;

struct no_requested_bytes {
  void set(std::size_t) noexcept {}
  [[nodiscard]] static std::size_t get() noexcept { return 0; }
};
class requested_bytes {
public:
  void set(std::size_t bytes) noexcept { bytes_ = bytes; }
  [[nodiscard]] std::size_t get() const noexcept { return bytes_; }

private:
  std::size_t bytes_ = 0;
};
/// An entry: a window that an extent covers. No window is at address 0, which marks an empty slot of the table.
struct window {
  std::uintptr_t at = 0;       ///< address of the window
  std::byte* start = nullptr;  ///< start of its extent
  std::size_t extent = 0;      ///< bytes of the extent; their low bits are its kind and the logarithm of its alignment

  /// The requested bytes of a huge block, in its first window, from level `hardened` on.
  ASHLAR_NO_UNIQUE_ADDRESS
  std::conditional_t<checking_level >= checking::hardened, detail::requested_bytes, detail::no_requested_bytes>
      requested = {};

  /// Returns: window `number` of an extent. Expects: `bytes` is a multiple of 4096.
  [[nodiscard]] static window of(std::byte* start, std::size_t number, std::size_t bytes, std::size_t alignment,
                                 bool is_segment) noexcept {
    const std::size_t logarithm = log2_of(alignment);
    return {.at = address_of(start) + number * window_bytes,
            .start = start,
            .extent = bytes | logarithm << 1 | (is_segment ? 1u : 0u)};
  }

  [[nodiscard]] bool is_segment() const noexcept { return (extent & 1) != 0; }
  [[nodiscard]] bool is_first() const noexcept { return at == address_of(start); }
  [[nodiscard]] std::size_t bytes() const noexcept { return align_down(extent, 4096); }
  [[nodiscard]] std::size_t alignment() const noexcept { return std::size_t{1} << (extent >> 1 & 63); }
};

/// Open addressing over an array of the owner; at most half of the slots are used.
/// Thread safety: none. Never allocates. Complexity: O(1) expected.
class page_map {
public:
  /// Returns: the window of the address, or null. `p` is not read.
  [[nodiscard]] const window* find(const void* p) const noexcept {
    const std::uintptr_t at = align_down(address_of(p), window_bytes);
    if (at == 0 || capacity_ == 0) return nullptr;
    const window& found = slots_[slot_of(at)];
    return found.at == at && address_of(p) - address_of(found.start) < found.bytes() ? &found : nullptr;
  }

  [[nodiscard]] window* find(const void* p) noexcept { return const_cast<window*>(std::as_const(*this).find(p)); }

  [[nodiscard]] bool has_room_for(std::size_t more) const noexcept { return (count_ + more) * 2 <= capacity_; }

  /// Expects: there is room, and the map does not hold the window.
  void insert(const window& added) noexcept {
    ASHLAR_ASSERT(has_room_for(1) && added.at != 0);
    slots_[slot_of(added.at)] = added;
    ++count_;
  }

  /// Expects: the map holds the window.
  void erase(std::uintptr_t at) noexcept {
    std::size_t hole = slot_of(at);
    ASHLAR_ASSERT(slots_[hole].at == at);
    for (std::size_t next = after(hole); slots_[next].at != 0; next = after(next)) {
      // A later entry moves into the hole unless its home lies between the hole and its slot.
      if (((next - home_of(slots_[next].at)) & (capacity_ - 1)) < ((next - hole) & (capacity_ - 1))) continue;
      slots_[hole] = slots_[next];
      hole = next;
    }
    slots_[hole] = {};
    --count_;
  }

  /// Effects: moves into another array. Returns: the former one. Expects: `capacity` is a power of two and at least
  /// twice the number of windows; the array outlives the map or the next move.
  ASHLAR_COLD constexpr window* move_to(window* table, std::size_t capacity) noexcept {
    ASHLAR_ASSERT(is_power_of_two(capacity) && count_ * 2 <= capacity);
    window* const before = slots_;
    const std::size_t were = capacity_;
    for (std::size_t i = 0; i < capacity; ++i) table[i] = {};
    slots_ = table;
    capacity_ = capacity;
    for (std::size_t i = 0; i < were; ++i)
      if (before[i].at != 0) slots_[slot_of(before[i].at)] = before[i];
    return before;
  }

  /// Effects: calls `f(window)` for each window, in no order.
  template <class F>
  void for_each(F f) const {
    for (std::size_t i = 0; i < capacity_; ++i)
      if (slots_[i].at != 0) f(std::as_const(slots_[i]));
  }

  [[nodiscard]] window* entries() const noexcept { return slots_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  [[nodiscard]] bool invariant() const noexcept {
    std::size_t held = 0;
    bool found = true;
    for_each([&](const window& each) {
      ++held;
      found = found && &slots_[slot_of(each.at)] == &each;
    });
    return found && held == count_ && count_ * 2 <= capacity_;
  }

private:
  // Windows are mostly neighbours: multiplication by the golden ratio spreads these best.
  [[nodiscard]] std::size_t home_of(std::uintptr_t at) const noexcept {
    const std::uint64_t spread = (std::uint64_t{at} / window_bytes) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(spread >> 32) & (capacity_ - 1);
  }

  [[nodiscard]] std::size_t after(std::size_t slot) const noexcept { return (slot + 1) & (capacity_ - 1); }

  // Returns: the slot of the window, or the empty slot for it.
  [[nodiscard]] std::size_t slot_of(std::uintptr_t at) const noexcept {
    std::size_t slot = home_of(at);
    while (slots_[slot].at != 0 && slots_[slot].at != at) slot = after(slot);
    return slot;
  }

  window* slots_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
};

/// A direct-mapped cache in front of a `page_map`. A window that leaves the map leaves the cache.
/// Thread safety: none. Complexity: O(1).
class recent_segments {
public:
  constexpr recent_segments() noexcept { clear(); }

  /// Returns: whether the address lies in a noted segment that still exists; false is a hint only. `p` is not read.
  [[nodiscard]] ASHLAR_INLINE bool has(const void* p) const noexcept {
    return numbers_[number_of(p) % count] == number_of(p);
  }

  /// Expects: `p` lies in a segment of the map.
  void note(const void* p) noexcept { numbers_[number_of(p) % count] = number_of(p); }

  constexpr void clear() noexcept { numbers_.fill(max_size); }

private:
  static constexpr std::size_t count = 16;

  [[nodiscard]] static ASHLAR_INLINE std::size_t number_of(const void* p) noexcept {
    return address_of(p) / window_bytes;
  }

  std::array<std::size_t, count> numbers_ = {};
};

/// The same at level `fast`, which asks for no segment.
class no_recent_segments {
public:
  [[nodiscard]] static bool has(const void* /*p*/) noexcept { return false; }
  static void note(const void* /*p*/) noexcept {}
  static void clear() noexcept {}
};

using recent_segments_if_checked =
    std::conditional_t<checking_level >= checking::checked, recent_segments, no_recent_segments>;

/// The bytes of the extent at `p` in one of several maps; 0: none is there. `p` is not read.
struct extent_at {
  const void* p;

  [[nodiscard]] std::size_t operator()(const page_map& windows) const noexcept {
    const window* const found = windows.find(p);
    return found != nullptr ? found->bytes() : 0;
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
