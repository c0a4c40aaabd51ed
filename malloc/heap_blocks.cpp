// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of a heap: cleared ones, and those that are resized.
#include "malloc/heap_blocks.hpp"

#include <cstddef>
#include <cstring>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>

#include "malloc/cold_code.hpp"
#include "malloc/settings.hpp"

namespace ashlar::drop_in {

namespace {

/// Effects: clears what a block has beyond its request, so that a later growth in place finds zeros.
ASHLAR_COLD void clear_slack(ashlar_heap* of, void* p, std::size_t bytes) noexcept {
  std::memset(static_cast<std::byte*>(p) + bytes, 0, usable_in(of, p) - bytes);
}

[[nodiscard]] ASHLAR_COLD void* take_zeroed(ashlar_heap* from, request wanted) noexcept {
  const request at = aligned(wanted.bytes, wanted.alignment & ~zeroed);
  void* const p = in_heap(from, [=](auto& heap) { return heap.try_allocate_zeroed(at.bytes, at.alignment); });
  if (p != nullptr && settings().zeroes) clear_slack(from, p, at.bytes);
  return p;
}

/// Returns: as `try_reallocate` of the heap, and what the block has grown by is zero.
[[nodiscard]] ASHLAR_COLD void* resize_zeroed(ashlar_heap* in, void* p, request wanted) noexcept {
  if (ashlar::is_aligned(p, wanted.alignment) && resize_in_place(in, p, wanted.bytes)) return p;
  void* const moved = take_zeroed(in, wanted);
  return moved != nullptr ? move_to(moved, wanted.bytes, in, p, usable_in(in, p)) : nullptr;
}

/// Returns: `p` where it has the size, else null: glibc never fails to make a block smaller.
[[nodiscard]] ASHLAR_COLD void* kept(ashlar_heap* in, void* p, request wanted) noexcept {
  return ashlar::is_aligned(p, wanted.alignment) && wanted.bytes <= usable_in(in, p) ? p : nullptr;
}

}  // namespace

ASHLAR_NOINLINE std::size_t usable_in(ashlar_heap* heap, const void* p) noexcept {
  return in_heap(heap, [=](auto& of) { return of.usable_size(p); });
}

ASHLAR_NOINLINE void* take(ashlar_heap* from, request wanted) noexcept {
  if ((wanted.alignment & zeroed) != 0 || settings().zeroes) return take_zeroed(from, wanted);
  return from != nullptr ? from->try_allocate(wanted.bytes, wanted.alignment)
                         : process_heap_type::allocate_slow(wanted.bytes, wanted.alignment);
}

void* take_or_refused(ashlar_heap* from, request wanted) noexcept {
  return or_refused(take(from, wanted), wanted.bytes);
}

ASHLAR_NOINLINE void give(ashlar_heap* to, void* p) noexcept {
  in_heap(to, [=](auto& heap) { heap.deallocate(p); });
}

ASHLAR_NOINLINE void* move_to(void* moved, std::size_t bytes, ashlar_heap* from, void* p, std::size_t had) noexcept {
  std::memcpy(moved, p, detail::min(had, bytes));
  give(from, p);
  return moved;
}

ASHLAR_COLD bool resize_in_place(ashlar_heap* in, void* p, std::size_t bytes) noexcept {
  const std::size_t had = usable_in(in, p);
  if (!in_heap(in, [=](auto& heap) { return heap.try_resize(p, bytes); })) return false;
  if (!settings().zeroes) return true;
  if (bytes > had) std::memset(static_cast<std::byte*>(p) + had, 0, bytes - had);
  return clear_slack(in, p, bytes), true;
}

ASHLAR_NOINLINE void* resize(ashlar_heap* in, void* p, request wanted) noexcept {
  void* const moved = settings().zeroes ? resize_zeroed(in, p, wanted) : in_heap(in, [=](auto& heap) {
    return heap.try_reallocate(p, wanted.bytes, wanted.alignment);
  });
  return ASHLAR_LIKELY(moved != nullptr) ? moved : kept(in, p, wanted);
}

void* resize_or_refused(void* p, request wanted) noexcept {
  return or_refused(resize(object_of(p), p, wanted), wanted.bytes);
}

}  // namespace ashlar::drop_in
