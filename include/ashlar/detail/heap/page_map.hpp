// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page map of a heap: a hash table from the 4 MiB windows of the address space to extents; the layout of cells, and
// sampled addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/slab/size_classes.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Bytes of a window, and of a segment. An extent starts at a window.
inline constexpr std::size_t window_bytes = std::size_t{4} << 20;
inline constexpr std::size_t unit_bytes = window_bytes / 2;  // a huge page

/// An entry: a window that an extent covers. No window is at address 0, which marks an empty slot of the table.
struct window {
  std::uintptr_t at = 0;       ///< address of the window
  std::byte* start = nullptr;  ///< start of its extent
  std::size_t extent = 0;      ///< bytes of the extent; their low bits are its kind and the logarithm of its alignment

  /// The requested bytes of a huge block, in its first window, from level `hardened` on.
  ASHLAR_NO_UNIQUE_ADDRESS if_hardened<std::size_t> requested = {};

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

/// The bytes of the extent at `p` in one of several maps; 0: none is there. `p` is not read.
struct extent_at {
  const void* p;

  [[nodiscard]] std::size_t operator()(const page_map& windows) const noexcept {
    const window* const found = windows.find(p);
    return found != nullptr ? found->bytes() : 0;
  }
};

inline constexpr std::size_t slice_bytes = std::size_t{64} * 1024;

/// The layout of the cells of a size class in a slab. A slab is the shortest span of slices that has room for four
/// cells and leaves at most an eighth unused after the last one. Slabs of one size class start their cells at different
/// cache lines in turn, as far as alignment and room allow: at one of `colours` offsets, multiples of `unit` bytes.
struct cell_layout {
  std::size_t cell_bytes, slices, unit, colours;

  [[nodiscard]] static constexpr cell_layout of(std::size_t size_class) noexcept {
    const std::size_t cell_bytes = size_classes::bytes_of(size_class);
    std::size_t slices = 1;
    while (!is_long_enough(slices * slice_bytes, cell_bytes)) ++slices;
    const std::size_t unit = detail::max<std::size_t>(64, size_classes::alignment_of(size_class));
    const std::size_t slack = detail::max<std::size_t>(slices * slice_bytes % cell_bytes, cell_bytes < 1024 ? 511 : 0);
    return {cell_bytes, slices, unit, slack / unit + 1};
  }

  [[nodiscard]] static constexpr bool is_long_enough(std::size_t room, std::size_t cell_bytes) noexcept {
    return room / cell_bytes >= 4 && room % cell_bytes <= room / 8;
  }

  /// Returns: bytes before the first cell of slab number `turn`. The first slab has the largest offset and the next one
  /// half of it: so the first cells of a size class with more than one colour are not sampled addresses, and of
  /// every two of its slabs one contains some.
  [[nodiscard]] constexpr std::size_t colour(std::size_t turn) const noexcept {
    const std::size_t place = turn % colours, half = place % 2 == 0 ? colours : colours / 2;
    return unit * (half - 1 - place / 2);
  }
  /// Returns: cells between the colour and the last `reserved` bytes.
  [[nodiscard]] constexpr std::size_t capacity(std::size_t colour, std::size_t reserved = 0) const noexcept {
    return (slices * slice_bytes - reserved - colour) / cell_bytes;
  }
};

/// A sampled address is null or lies in the first 256 bytes of a slice. Cells that start there are a small and fixed
/// share of the cells of each size class, so that counting them estimates the bytes of all. One test, the null check
/// included, lets all other cells pass. Blocks of whole slices all start at sampled addresses.
inline constexpr std::uintptr_t sampled_bits = 0xff00;
[[nodiscard]] ASHLAR_INLINE bool is_sampled(const void* p, std::uintptr_t bits = sampled_bits) noexcept {
  return (address_of(p) & bits) == 0;
}

/// Returns: bytes of its size class that a cell at a sampled address stands for, over slabs of all colours.
[[nodiscard]] constexpr std::size_t bytes_per_sample(std::size_t size_class) noexcept {
  const cell_layout layout = cell_layout::of(size_class);
  std::size_t samples = 0;
  for (std::size_t turn = 0; turn < layout.colours; ++turn) {
    const std::size_t colour = layout.colour(turn);
    const auto cells_before = [&](std::size_t end) {  // cells that start before `end`
      return end <= colour ? 0 : detail::min((end - colour - 1) / layout.cell_bytes + 1, layout.capacity(colour));
    };
    for (std::size_t slice = 0; slice < layout.slices; ++slice)
      samples += cells_before(slice * slice_bytes + 256) - cells_before(slice * slice_bytes);
  }
  return layout.colours * layout.slices * slice_bytes / samples;
}

}  // namespace ashlar::ASHLAR_ABI::detail
