// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slow paths of malloc and its relatives: refusals with errno, cleared blocks, blocks of heaps that are objects.
#include "malloc/blocks.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/os/pages.hpp>

#include "malloc/call_stack.hpp"
#include "malloc/cold_code.hpp"
#include "malloc/good_size.hpp"
#include "malloc/guard_pool.hpp"
#include "malloc/heap_profile.hpp"
#include "malloc/heaps.hpp"
#include "malloc/refusal_report.hpp"
#include "malloc/sampled_blocks.hpp"
#include "malloc/sampling.hpp"
#include "malloc/settings.hpp"

namespace ashlar::drop_in {

constinit fast_path_limits fast_paths;

namespace {

// Whether a block knows its request: then each resize is noted, also one in place.
constexpr bool keeps_requests = detail::segment::requested_sizes::is_kept;

[[nodiscard]] ASHLAR_COLD void* refused(std::size_t bytes) noexcept {
  if (settings().reports_refusal) report_refusal(bytes);
  return refuse(ENOMEM);
}

[[nodiscard]] ASHLAR_INLINE void* or_refused(void* p, std::size_t bytes) noexcept {
  return ASHLAR_LIKELY(p != nullptr) ? p : refused(bytes);
}

/// Effects: calls `f(heap)`; null is the heap of the process.
template <class F>
ASHLAR_INLINE auto in_heap(ashlar_heap* heap, F f) noexcept {
  return heap != nullptr ? f(*heap) : f(process_heap());
}

/// Returns: the heap of a block; null: the process heap.
[[nodiscard]] ASHLAR_INLINE ashlar_heap* object_of(const void* p) noexcept {
  return has_heaps() ? heap_of_block(p) : nullptr;
}

[[nodiscard]] ASHLAR_NOINLINE std::size_t usable_in(ashlar_heap* heap, const void* p) noexcept {
  return in_heap(heap, [=](auto& of) { return of.usable_size(p); });
}

/// Effects: clears what a block has beyond its request, so that a later growth in place finds zeros.
ASHLAR_COLD void clear_slack(ashlar_heap* of, void* p, std::size_t bytes) noexcept {
  std::memset(static_cast<std::byte*>(p) + bytes, 0, usable_in(of, p) - bytes);
}

[[nodiscard]] ASHLAR_COLD void* take_zeroed(ashlar_heap* from, std::size_t bytes, std::size_t alignment) noexcept {
  void* const p = in_heap(from, [=](auto& heap) { return heap.try_allocate_zeroed(bytes, alignment); });
  if (p != nullptr && settings().zeroes) clear_slack(from, p, bytes);
  return p;
}

[[nodiscard]] ASHLAR_NOINLINE void* take(ashlar_heap* from, std::size_t bytes, std::size_t alignment) noexcept {
  if (settings().zeroes) return take_zeroed(from, bytes, alignment);
  return from != nullptr ? from->try_allocate(bytes, alignment) : process_heap_type::allocate_slow(bytes, alignment);
}

/// Returns: as `try_resize` of the heap; what the block has grown by is zero if the options have it so.
[[nodiscard]] ASHLAR_COLD bool resize_in_place(ashlar_heap* in, void* p, std::size_t bytes) noexcept {
  const std::size_t had = usable_in(in, p);
  if (!in_heap(in, [=](auto& heap) { return heap.try_resize(p, bytes); })) return false;
  if (!settings().zeroes) return true;
  if (bytes > had) std::memset(static_cast<std::byte*>(p) + had, 0, bytes - had);
  return clear_slack(in, p, bytes), true;
}

/// Returns: as `try_reallocate` of the heap, and what the block has grown by is zero.
[[nodiscard]] ASHLAR_COLD void* resize_zeroed(ashlar_heap* in, void* p, std::size_t bytes,
                                              std::size_t alignment) noexcept {
  if (detail::is_aligned(p, alignment) && resize_in_place(in, p, bytes)) return p;
  const std::size_t had = usable_in(in, p);
  void* const moved = take_zeroed(in, bytes, alignment);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, p, detail::min(had, bytes));
  in_heap(in, [=](auto& heap) { heap.deallocate(p); });
  return moved;
}

/// Returns: `p` where it has `bytes` bytes, else null: glibc never fails to make a block smaller.
[[nodiscard]] ASHLAR_COLD void* kept(ashlar_heap* in, void* p, std::size_t bytes, std::size_t alignment) noexcept {
  return detail::is_aligned(p, alignment) && bytes <= usable_in(in, p) ? p : nullptr;
}

[[nodiscard]] ASHLAR_NOINLINE void* resize(ashlar_heap* in, void* p, std::size_t bytes,
                                           std::size_t alignment) noexcept {
  void* const moved = settings().zeroes
                          ? resize_zeroed(in, p, bytes, alignment)
                          : in_heap(in, [=](auto& heap) { return heap.try_reallocate(p, bytes, alignment); });
  return ASHLAR_LIKELY(moved != nullptr) ? moved : kept(in, p, bytes, alignment);
}

[[nodiscard]] ASHLAR_NOINLINE void* allocate_and_clear(std::size_t bytes) noexcept {
  const caller_scope within(ASHLAR_OWN_FRAME());
  void* const p = allocate_by_malloc(bytes);
  return p != nullptr ? std::memset(p, 0, bytes) : nullptr;
}

[[nodiscard]] ASHLAR_COLD void* resize_cell_slow(void* p, std::size_t had, std::size_t bytes) noexcept {
  const caller_scope within(ASHLAR_OWN_FRAME());
  if (void* const to = allocate_by_malloc(bytes)) return moved_from(p, had, to, bytes);
  return bytes <= had ? p : nullptr;
}

/// As `resize_block`, for a cell of `had` bytes of the calling thread. What stays does not count as a candidate for a
/// sample; what moves counts as malloc does. Expects: `bytes < fast_paths.end_of_small`.
[[nodiscard]] ASHLAR_NOINLINE void* resize_cell(void* p, std::size_t had, std::size_t bytes) noexcept {
  if (process_heap_type::keeps_cell(had, bytes)) return p;
  void* const to = allocate_fast(bytes);
  return ASHLAR_LIKELY(to != nullptr) ? moved_from(p, had, to, bytes) : resize_cell_slow(p, had, bytes);
}

}  // namespace

void* allocate_slow(std::size_t bytes) noexcept {
  if (ASHLAR_UNLIKELY(bytes >= fast_paths.end_of_cells)) return allocate_aligned(bytes, granule);
  ASHLAR_ASSUME(bytes <= largest_cell);
  if (counts_down(1)) return sample_cell(bytes);
  if (counts_bytes(bytes)) return profile_aligned(bytes, granule);
  return or_refused(process_heap().allocate_or_errno(bytes), bytes);
}

void* allocate_missed(std::size_t bytes) noexcept {
  void* const p = or_refused(process_heap_type::allocate_slow(bytes), bytes);
  if constexpr (checking_level != checking::fast) return p;  // it has been counted
  return counts_down(allocations_of_missed(p)) ? sample_missed(p, bytes) : p;
}

void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > most_bytes) return refuse(ENOMEM);
  const std::size_t at = detail::max(alignment, granule);
  if (counts_down(1)) return sample_aligned(bytes, at);
  return counts_bytes(bytes) ? profile_aligned(bytes, at) : allocate_uncounted(bytes, at);
}

void* allocate_uncounted(std::size_t bytes, std::size_t alignment) noexcept {
  return or_refused(take(default_of_thread(), bytes, alignment), bytes);
}

ASHLAR_COLD void* allocate_in(ashlar_heap* heap, std::size_t bytes, std::size_t alignment) noexcept {
  if (heap == nullptr && !settings().zeroes) return process_heap().try_allocate(bytes, alignment);
  return take(heap, bytes, alignment);
}

void* allocate_beside(const void* p, std::size_t bytes, std::size_t alignment) noexcept {
  return or_refused(take(guard_pool::has(p) ? nullptr : object_of(p), bytes, alignment), bytes);
}

void* allocate_zeroed(std::size_t bytes) noexcept {
  if (ASHLAR_LIKELY(bytes < fast_paths.end_of_cells)) {
    if constexpr (process_heap_type::cells_are_zero) return allocate(bytes);
    void* const p = allocate_fast(bytes);
    return ASHLAR_LIKELY(p != nullptr) ? std::memset(p, 0, bytes) : allocate_and_clear(bytes);
  }
  if (bytes > most_bytes) return refuse(ENOMEM);
  if (counts_down(1)) return sample_zeroed(bytes);
  return counts_bytes(bytes) ? profile_zeroed(bytes) : allocate_zeroed_uncounted(bytes);
}

void* allocate_zeroed_uncounted(std::size_t bytes) noexcept {
  return or_refused(allocate_zeroed_in(default_of_thread(), bytes), bytes);
}

void* allocate_zeroed_in(ashlar_heap* heap, std::size_t bytes) noexcept { return take_zeroed(heap, bytes, granule); }

void* resize_block(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes < fast_paths.end_of_small && alignment == granule)
    if (const std::size_t had = process_heap_type::own_cell_bytes(p); had != 0) return resize_cell(p, had, bytes);
  if (p == nullptr) return alignment == granule ? allocate(bytes) : allocate_aligned(bytes, alignment);
  if (bytes > most_bytes) return refuse(ENOMEM);
  if (guard_pool::has(p)) return resize_guarded(p, bytes, alignment);
  if (heap_profile::is_on()) return resize_profiled(p, bytes, alignment);
  return counts_down(1) ? sample_resized(p, bytes, alignment) : resize_uncounted(p, bytes, alignment);
}

void* resize_uncounted(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  return or_refused(resize(object_of(p), p, bytes, alignment), bytes);
}

void* resize_in(ashlar_heap& heap, void* p, std::size_t bytes) noexcept { return resize(&heap, p, bytes, granule); }

void* reallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  if (p == nullptr || bytes != 0) return resize_block(p, bytes, alignment);
  deallocate_by_free(p);
  return nullptr;
}

// At level `fast` a heap that is an object comes here with each of its blocks: no thread has a part of it.
void deallocate_slow(void* p) noexcept {
  if (p == nullptr) return;
  if (guard_pool::has(p)) return deallocate_guarded(p);
  if (heap_profile::may_have(p)) heap_profile::take_out(p);
  ashlar_heap* const other = object_of(p);
  other != nullptr ? other->deallocate(p) : process_heap_type::deallocate_slow(p);
}

void deallocate_remote(void* p) noexcept {
  if (guard_pool::has(p)) return deallocate_guarded(p);
  ashlar_heap* const other = object_of(p);
  other != nullptr ? other->deallocate(p) : process_heap_type::deallocate_remote(p);
}

void deallocate_sized(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  if constexpr (checking_level < checking::checked) return deallocate_by_free(p);  // the size would save nothing
  if (p == nullptr) return;
  if (guard_pool::has(p)) return deallocate_guarded(p, bytes);
  if (heap_profile::may_have(p) && heap_profile::find(p).bytes != 0) return deallocate_profiled(p, bytes);
  in_heap(object_of(p), [=](auto& heap) { heap.deallocate(p, bytes, detail::max(alignment, granule)); });
}

void deallocate_between(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  if constexpr (checking_level >= checking::checked) {
    constexpr bool keeps_sizes = checking_level >= checking::hardened;
    const std::size_t has = usable_size(p);
    const bool is_more = bytes > detail::max(has, good_size(has, alignment));
    if (is_more || good_size(bytes, alignment) < has)
      detail::report({.kind = fault::size_mismatch,
                      .what = is_more ? "freed with more bytes than the block has"
                                      : "freed with fewer bytes, or a lower alignment, than were requested",
                      .pointer = p,
                      .size = keeps_sizes ? has : 0,
                      .expected = keeps_sizes ? has : 0,
                      .got = bytes,
                      .block_bytes = keeps_sizes ? 0 : has,
                      .alignment = is_more ? 0 : alignment});
  }
  deallocate_slow(p);
}

std::size_t usable_size(const void* p) noexcept {
  if (guard_pool::has(p)) return guard_pool::bytes_of(p, guarded_use::asks_size);
  if (heap_profile::may_have(p))
    if (const std::size_t bytes = heap_profile::find(p).bytes; bytes != 0) return bytes;
  return p != nullptr ? usable_in(object_of(p), p) : 0;
}

ASHLAR_COLD bool try_expand(void* p, std::size_t bytes, bool shrinks) noexcept {
  if (guard_pool::has(p) || heap_profile::may_have(p)) return bytes <= usable_size(p);
  if (bytes > most_bytes) return false;
  ashlar_heap* const of = object_of(p);
  return (!shrinks && bytes <= usable_in(of, p)) || resize_in_place(of, p, bytes);
}

ASHLAR_COLD std::size_t good_size(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > most_bytes || alignment > most_alignment) return 0;
  const std::size_t least = detail::max<std::size_t>(bytes, 1);
  if constexpr (keeps_requests) return least;
  if (least <= largest_cell && alignment <= largest_cell) return detail::size_classes::rounded(least, alignment);
  const std::size_t unit = detail::is_plain_span(least, alignment) ? detail::slice_bytes : os::pages::page_bytes();
  const std::size_t whole = detail::align_up(least, unit);
  return whole <= most_bytes ? whole : 0;
}

}  // namespace ashlar::drop_in
