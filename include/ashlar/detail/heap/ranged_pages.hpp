// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pages of the heap of the process: extents lie in its address range.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/random_bits.hpp>
#include <ashlar/os/system_calls.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A range of `windows` windows, whose extents are mapped at its lowest free windows.
///
///     base             first_free                                            base + 512 GiB
///     | owner | owner | -     | taken | owner | -     |  …                                |
///       segments        free    a huge block, or a segment between two owners
///
/// One subtraction gives the window of an address, one load its owner: without a lock, a hash table, or an access to
/// the address. The range is not reserved: the system is asked for each extent at its place, which it grants where
/// nothing is mapped. So address space, limits on it (`RLIMIT_AS`), locked pages and core files count the
/// extents alone. If the system denies the first place, it chooses all addresses; then the range is the one around the
/// first extent, and extents outside of it have no owner here.
///
/// Invariant: no window below `first_free` is free. Thread safety: any thread; one lock for places, which is a leaf:
/// its holder is in a call of an extent map, and a fork waits for those. The first extent is mapped under it, others
/// are not. Complexity: O(1) for owners, O(windows in use) for places.
template <class Pages, class Calls>
class address_range {
public:
  static constexpr std::size_t windows = std::size_t{1} << 17;
  static constexpr std::size_t bytes = windows * window_bytes;

  /// @{ `p` is not read.
  /// Returns: whether the address lies in the range.
  [[nodiscard]] ASHLAR_INLINE bool has(const void* p) const noexcept {
    return base_.load(memory_order_relaxed) != 0 && index_of(p) < windows;
  }
  /// Returns: whether `owner` owns the segment of the address. Expects: `owner` is not null.
  [[nodiscard]] ASHLAR_INLINE bool is_of(const segment_owner* owner, const void* p) const noexcept {
    const std::size_t i = index_of(p);
    return ASHLAR_LIKELY(i < windows) && owners_[i].load(memory_order_relaxed) == owner;
  }
  /// Returns: the owner of the segment of the address, or null.
  [[nodiscard]] segment_owner* owner_of(const void* p) const noexcept {
    const std::size_t i = index_of(p);
    segment_owner* const found = i < windows ? owners_[i].load(memory_order_acquire) : nullptr;  // with set_owner()
    return found != taken() ? found : nullptr;
  }
  /// @}

  /// Effects: names the owner of the segment at `p`, null for none; nothing outside of the range.
  void set_owner(const void* p, segment_owner* owner) noexcept {
    const std::size_t i = index_of(p);
    if (i < windows) owners_[i].store(owner != nullptr ? owner : taken(), memory_order_release);  // with owner_of()
  }

  /// Returns: pages at free windows, or outside of the range if there are none; null if the system has no memory.
  /// Expects: `alignment` is at least a window.
  [[nodiscard]] ASHLAR_COLD void* map(std::size_t size, std::size_t alignment, bool usable) noexcept {
    if (base_.load(memory_order_acquire) == 0) return map_first(size, alignment, usable);
    for (unsigned left = is_placed() ? most_tries : 0; left != 0; --left) {
      const std::uintptr_t place = take(size, alignment);
      if (place == 0) break;
      void* const p = map_at(place, size, usable);
      if (address_of(p) == place) return p;
      if (p == nullptr) return give(place, size), nullptr;
      unmap(p, size);  // another mapping is at the place, which stays taken
    }
    return map_anywhere(size, alignment, usable);
  }

  /// Effects: the windows that start in the range of `size` bytes, which is unmapped, are free.
  void forget(const void* p, std::size_t size) noexcept {
    if (chooses_place_of(p)) give(address_of(p), size);
  }

  /// Returns: whether the address lies in the range, and the system grants wishes for places in it.
  [[nodiscard]] bool chooses_place_of(const void* p) const noexcept { return has(p) && is_placed(); }

  /// Returns: whether the windows that start in the range of `size` bytes were free, and are taken now.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE bool try_take(const void* p, std::size_t size) noexcept {
    if (!chooses_place_of(p)) return true;
    const scope held(lock_);
    const std::size_t first = next_index(address_of(p)), last = next_index(address_of(p) + size);
    if (last > windows || free_from(first, last - first) != last - first) return false;
    fill(first, last - first, taken());
    return true;
  }

  /// Effects: maps accessible pages at `p`, behind others in the range. Returns: false if the system denies the place.
  [[nodiscard]] bool map_behind(void* p, std::size_t size) noexcept {
    if (!chooses_place_of(p)) return false;
    void* const got = map_at(address_of(p), size, true);
    if (got != nullptr && got != p) unmap(got, size);
    return got == p;
  }

private:
  using scope = lock_scope<spin_lock>;
  static constexpr unsigned most_tries = 4;
  // From 17 to 49 TiB: above what sanitizers use, below programs, libraries and stacks.
  static constexpr std::uint64_t lowest_base = std::uint64_t{17} << 40, places = std::uint64_t{1} << 23;

  [[nodiscard]] ASHLAR_INLINE std::size_t index_of(const void* p) const noexcept {
    return (address_of(p) - base_.load(memory_order_relaxed)) / window_bytes;
  }
  // Returns: the index of the first window that starts there or later.
  [[nodiscard]] std::size_t next_index(std::uintptr_t at) const noexcept {
    return (align_up(at, window_bytes) - base_.load(memory_order_relaxed)) / window_bytes;
  }
  // Expects: `base_` is known.
  [[nodiscard]] bool is_placed() const noexcept { return is_placed_.load(memory_order_relaxed); }

  // Of a window that is neither free nor in a segment with an owner.
  [[nodiscard]] static segment_owner* taken() noexcept { return reinterpret_cast<segment_owner*>(&taken_); }

  [[nodiscard]] std::uintptr_t random_base() const noexcept {
    const std::uint64_t place = detail::mixed(process_secret() ^ address_of(this)) % places;
    return static_cast<std::uintptr_t>(lowest_base + place * window_bytes);
  }

  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE void* map_first(std::size_t size, std::size_t alignment, bool usable) noexcept {
    if (alignment > bytes / 2 || size > bytes / 2) return map_anywhere(size, alignment, usable);
    {
      const scope held(lock_);
      if (base_.load(memory_order_relaxed) == 0) return begin(size, alignment, usable);
    }
    return map(size, alignment, usable);
  }

  // Under the lock. Returns: the first extent of the range, or null.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE void* begin(std::size_t size, std::size_t alignment, bool usable) noexcept {
    const std::uintptr_t base = random_base(), place = align_up(base, alignment);
    void* const p = map_at(place, size, usable);
    if (address_of(p) == place) return open(base, true), fill(next_index(place), windows_of(size), taken()), p;
    if (p != nullptr) unmap(p, size);
    void* const anywhere = map_anywhere(size, alignment, usable);
    if (anywhere != nullptr) open(align_down(address_of(anywhere), window_bytes) - bytes / 2, false);
    return anywhere;
  }

  void open(std::uintptr_t base, bool is_placed) noexcept {
    is_placed_.store(is_placed, memory_order_relaxed);
    base_.store(base, memory_order_release);  // with map()
  }

  // Returns: the address of free windows that are taken now, or 0.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE std::uintptr_t take(std::size_t size, std::size_t alignment) noexcept {
    const std::uintptr_t base = base_.load(memory_order_relaxed);
    const std::size_t count = windows_of(size);
    const scope held(lock_);
    while (first_free_ < windows && !is_free(first_free_)) ++first_free_;
    for (std::size_t i = first_free_; i < windows;) {
      i = (align_up(base + i * window_bytes, alignment) - base) / window_bytes;
      if (i >= windows || count > windows - i) return 0;
      const std::size_t free = free_from(i, count);
      if (free == count) return fill(i, count, taken()), base + i * window_bytes;
      i += free + 1;
    }
    return 0;
  }

  void give(std::uintptr_t p, std::size_t size) noexcept {
    const scope held(lock_);
    const std::size_t first = next_index(p), last = next_index(p + size);
    fill(first, last - first, nullptr);
    if (last != first) first_free_ = detail::min(first_free_, first);
  }

  [[nodiscard]] static constexpr std::size_t windows_of(std::size_t size) noexcept {
    return (size + window_bytes - 1) / window_bytes;
  }
  [[nodiscard]] bool is_free(std::size_t i) const noexcept { return owners_[i].load(memory_order_relaxed) == nullptr; }
  // Returns: how many of `count` windows are free from `first` on.
  [[nodiscard]] std::size_t free_from(std::size_t first, std::size_t count) const noexcept {
    std::size_t free = 0;
    while (free < count && is_free(first + free)) ++free;
    return free;
  }
  void fill(std::size_t first, std::size_t count, segment_owner* with) noexcept {
    for (std::size_t i = 0; i < count; ++i) owners_[first + i].store(with, memory_order_relaxed);
  }

  [[nodiscard]] static void* map_at(std::uintptr_t place, std::size_t size, bool usable) noexcept {
    const errno_scope<Calls> keep;
    return Calls::map_near(reinterpret_cast<void*>(place), size, usable);
  }
  [[nodiscard]] static void* map_anywhere(std::size_t size, std::size_t alignment, bool usable) noexcept {
    return usable ? Pages::map(size, alignment) : Pages::reserve(size, alignment);
  }
  static void unmap(void* p, std::size_t size) noexcept { static_cast<void>(Pages::release(p, size)); }

  static inline constinit char taken_ = 0;

  atomic<std::uintptr_t> base_ = 0;
  spin_lock lock_;
  atomic<bool> is_placed_ = false;
  std::size_t first_free_ = 0;
  atomic<segment_owner*> owners_[windows];
};

/// Whether extents can be placed: with 64 bits, where the system takes a wish for an address.
template <class Calls>
inline constexpr bool has_ranges = sizeof(void*) >= 8 && requires(void* place) { Calls::map_near(place, 1, true); };

/// As `os::pages`, with blocks that are aligned to a window in the range of the process.
template <class Calls>
struct ranged_pages : os::basic_pages<Calls> {
  using pages = os::basic_pages<Calls>;
  using range_type = address_range<pages, Calls>;

  /// Constant-initialised and never destroyed: usable before and after `main`.
  static inline constinit range_type range{};

  [[nodiscard]] static void* map(std::size_t bytes, std::size_t alignment) noexcept {
    return alignment >= window_bytes ? range.map(bytes, alignment, true) : pages::map(bytes, alignment);
  }
  [[nodiscard]] static void* reserve(std::size_t bytes, std::size_t alignment) noexcept {
    return alignment >= window_bytes ? range.map(bytes, alignment, false) : pages::reserve(bytes, alignment);
  }
  /// Returns: as `os::pages::release`.
  static bool release(void* p, std::size_t bytes) noexcept {
    const bool is_gone = pages::release(p, bytes);
    if (is_gone) range.forget(p, bytes);
    return is_gone;
  }
  /// Effects: as `os::pages::grow`, also of pages that are not all accessible.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE static bool grow(void* p, std::size_t bytes, std::size_t new_bytes) noexcept {
    std::byte* const end = static_cast<std::byte*>(p) + bytes;
    if (!range.try_take(end, new_bytes - bytes)) return false;
    if (pages::grow(p, bytes, new_bytes) || range.map_behind(end, new_bytes - bytes)) return true;
    range.forget(end, new_bytes - bytes);
    return false;
  }
  /// Effects: as `os::pages::move`; but a refusal, as at a limit of address space, gives a place in the range back: no
  /// one else maps there.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE static bool move(void* p, std::size_t bytes, void* place,
                                                        std::size_t new_bytes) noexcept
    requires requires { Calls::move(p, bytes, place, new_bytes); }
  {
    const bool has_moved = pages::move(p, bytes, place, new_bytes);
    if (has_moved) range.forget(p, bytes);
    else if (range.chooses_place_of(place)) release(place, new_bytes);
    return has_moved;
  }
};

template <class Fresh, class Calls>
struct range_of<basic_page_resource<Fresh, ranged_pages<Calls>>> {
  static constexpr bool is_known = true;
  [[nodiscard]] static ASHLAR_INLINE auto& range() noexcept { return ranged_pages<Calls>::range; }
};

}  // namespace ashlar::ASHLAR_ABI::detail
