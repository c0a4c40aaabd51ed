// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The regions of a heap, and its calls, written once: on a few primitives of the deriving heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/intrusive.hpp>

namespace ashlar::ASHLAR_ABI::detail {

[[nodiscard]] inline heap_region region_of_slab(segment& home, const span_header& slab) noexcept {
  return {.kind = region_kind::slab,
          .start = home.slice(home.slice_of_record(slab)),
          .bytes = slab.length * slice_bytes,
          .size_class = slab.size_class,
          .cell_bytes = slab.cell_bytes,
          .capacity = slab.capacity,
          .live = std::size_t{slab.capacity} - slab.free - slab.waiting,
          .dropped_bytes = slab.dropped_bytes};
}

[[nodiscard]] inline heap_region region_of_block(segment& home, std::size_t first) noexcept {
  const span_header& span = home.record(first);
  return {.kind = span.waiting != 0 ? region_kind::spare : region_kind::span,
          .start = home.slice(first),
          .bytes = span.length * slice_bytes,
          .capacity = 1,
          .live = 1u - span.waiting};
}

/// Effects: calls `f(heap_region)` for each region of a segment, from its head on. Expects: each span header holds the
/// count of its free cells outside the bitmap; the mark of a block, whether it is free.
ASHLAR_INLINE_FOR_SIZE inline void for_each_region(segment& home, slice_mask free, slice_mask fresh,
                                                   function_ref<const heap_region&> f) {
  const auto empty = [&](region_kind kind, std::size_t first, std::size_t length) {
    f(heap_region{.kind = kind, .start = home.slice(first), .bytes = length * slice_bytes});
  };
  empty(region_kind::head, 0, first_slice);
  for (std::size_t slice = first_slice; slice < home.slices_held();) {
    const std::size_t untouched = run_from(fresh, slice), used = run_from(free & ~fresh, slice);
    const span_header& span = home.record(slice);
    if (untouched != 0) empty(region_kind::fresh, slice, untouched);
    else if (used != 0) empty(region_kind::free, slice, used);
    else if (span.size_class != size_classes::none) f(detail::region_of_slab(home, span));
    else f(detail::region_of_block(home, slice));
    slice += untouched + used != 0 ? untouched + used : span.length;
  }
}

/// The owner of a part of a heap, as the calling thread sees it.
enum class heap_part : std::uint8_t {
  own,     ///< the calling thread: its cache may be read
  common,  ///< no thread; the caller holds its lock
  others,  ///< another thread, running or ended: its cache may not be read
};

/// The calls on blocks. Their contracts are at `local_heap`. `Heap::primitives()` has
///
///     take<Failure>(bytes, alignment), take_known<Bytes, Alignment>(), take_unzeroed(bytes, alignment)
///                                                         -> fresh_block or std::byte*
///     put(p), put(p, bytes, alignment), put_known<Bytes, Alignment>(p)
///     expand(p, bytes, new_bytes, alignment)              the block was requested as `bytes`
///     resize(p, usable_bytes, new_bytes, alignment)       the requested size is unknown
///     move_pages(p, new_bytes, alignment)                 a larger block at another address without a copy, or null
///     size_of(p)
///
/// Thread safety: as the heap.
template <class Heap>
class heap_api {
public:
  static constexpr std::size_t least_alignment = size_classes::granule;

  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment = least_alignment) {
    return on().template take<or_throw>(bytes, alignment);
  }

  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    return on().template take<or_null>(bytes, alignment);
  }

  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  [[nodiscard]] ASHLAR_INLINE void* allocate() {
    static_assert(is_power_of_two(Alignment));
    return on().template take_known<Bytes, Alignment>();
  }

  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment = least_alignment) {
    void* const p = allocate(bytes, alignment);
    return {p, usable_size(p)};
  }

  [[nodiscard]] void* allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) {
    return block_or_throw(try_allocate_zeroed(bytes, alignment), bytes, alignment);
  }

  [[nodiscard]] void* try_allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    return zeroed({on().take_unzeroed(bytes, alignment)}, bytes);
  }

  ASHLAR_INLINE void deallocate(void* p) noexcept { on().put(p); }

  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    on().put(p, bytes, alignment);
  }

  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    on().template put_known<Bytes, Alignment>(p);
  }

  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return on().expand(p, bytes, new_bytes, alignment);
  }

  [[nodiscard]] bool try_shrink(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return new_bytes <= bytes && try_expand(p, bytes, new_bytes, alignment);
  }

  [[nodiscard]] bool try_resize(void* p, std::size_t new_bytes) noexcept {
    return on().resize(p, usable_size(p), new_bytes, least_alignment);
  }

  [[nodiscard]] void* reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) {
    return block_or_throw(try_reallocate(p, new_bytes, alignment), new_bytes, alignment);
  }

  [[nodiscard]] ASHLAR_NOINLINE void* try_reallocate(void* p, std::size_t new_bytes,
                                                     std::size_t alignment = least_alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    std::size_t bytes = 0;
    if (p != nullptr) {
      bytes = usable_size(p);
      if (is_aligned(p, alignment) && on().resize(p, bytes, new_bytes, alignment)) return p;
      if (new_bytes > bytes)
        if (void* const pages = on().move_pages(p, new_bytes, alignment)) return pages;
    }
    void* const moved = try_allocate(new_bytes, alignment);
    if (moved == nullptr || p == nullptr) return moved;
    std::memcpy(moved, p, detail::min(bytes, new_bytes));
    deallocate(p);
    return moved;
  }

  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept { return on().size_of(p); }

protected:
  heap_api() = default;
  ~heap_api() = default;

private:
  [[nodiscard]] ASHLAR_INLINE auto& on() noexcept { return static_cast<Heap&>(*this).primitives(); }
  [[nodiscard]] ASHLAR_INLINE const auto& on() const noexcept { return static_cast<const Heap&>(*this).primitives(); }
};

/// The calls on all memory of a heap with one `engine`, its primitives: on `locked()`, its stores under its lock. Their
/// contracts are at `local_heap`. Thread safety: as the heap.
template <class Heap>
class heap_contents_api {
public:
  [[nodiscard]] bool owns(const void* p) const noexcept { return on().locked()->owns(p); }

  template <class F>
  void for_each_live(F f) {
    const auto in = on().drained();
    in->flush_caches();
    in->for_each_live(f);
  }

  template <class F>
  ASHLAR_INLINE_FOR_SIZE void inspect(F f) const {
    on().locked()->inspect(f);
  }

  void release() noexcept { on().drained()->release(); }

  std::size_t trim(std::size_t retain_bytes = 0) noexcept { return on().drained()->trim(retain_bytes); }

  [[nodiscard]] std::size_t held_bytes() const noexcept { return on().locked()->held_bytes(); }
  [[nodiscard]] std::size_t table_bytes() const noexcept { return on().locked()->table_bytes(); }
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept { return on().locked()->reused_bytes(); }
  [[nodiscard]] std::size_t segments() const noexcept { return on().locked()->segments(); }
  [[nodiscard]] const auto& upstream_resource() const noexcept { return on().upstream(); }

  [[nodiscard]] bool invariant() const noexcept { return on().locked()->invariant(); }

protected:
  heap_contents_api() = default;
  ~heap_contents_api() = default;

private:
  [[nodiscard]] auto& on() noexcept { return static_cast<Heap&>(*this).primitives(); }
  [[nodiscard]] const auto& on() const noexcept { return static_cast<const Heap&>(*this).primitives(); }
};

}  // namespace ashlar::ASHLAR_ABI::detail
