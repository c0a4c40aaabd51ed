// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slow paths of malloc and its relatives: refusals with errno, cleared blocks, blocks of heaps that are objects.
#include "malloc/blocks.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
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

/// Effects: clears what a block has beyond its request, so that a later growth in place finds zeros.
template <class Heap>
void clear_slack(const Heap& of, void* p, std::size_t bytes) noexcept {
  std::memset(static_cast<std::byte*>(p) + bytes, 0, of.usable_size(p) - bytes);
}

template <class Heap>
[[nodiscard]] ASHLAR_COLD void* take_zeroed(Heap& from, std::size_t bytes, std::size_t alignment) noexcept {
  void* const p = from.try_allocate_zeroed(bytes, alignment);
  if (p != nullptr && settings().zeroes) clear_slack(from, p, bytes);
  return p;
}

template <class Heap>
[[nodiscard]] ASHLAR_NOINLINE void* take(Heap& from, std::size_t bytes, std::size_t alignment) noexcept {
  if (settings().zeroes) return take_zeroed(from, bytes, alignment);
  if constexpr (requires { Heap::allocate_slow(bytes, alignment); }) return Heap::allocate_slow(bytes, alignment);
  else return from.try_allocate(bytes, alignment);
}

/// Returns: as `Heap::try_resize`; what the block has grown by is zero if the options have it so.
template <class Heap>
[[nodiscard]] ASHLAR_COLD bool resize_in_place(Heap& in, void* p, std::size_t bytes) noexcept {
  const std::size_t had = in.usable_size(p);
  if (!in.try_resize(p, bytes)) return false;
  if (!settings().zeroes) return true;
  if (bytes > had) std::memset(static_cast<std::byte*>(p) + had, 0, bytes - had);
  return clear_slack(in, p, bytes), true;
}

/// Returns: as `Heap::try_reallocate`, and what the block has grown by is zero.
template <class Heap>
[[nodiscard]] ASHLAR_COLD void* resize_zeroed(Heap& in, void* p, std::size_t bytes, std::size_t alignment) noexcept {
  if (detail::is_aligned(p, alignment) && resize_in_place(in, p, bytes)) return p;
  const std::size_t had = in.usable_size(p);
  void* const moved = take_zeroed(in, bytes, alignment);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, p, detail::min(had, bytes));
  in.deallocate(p);
  return moved;
}

/// Returns: `p` where it has `bytes` bytes, else null: glibc never fails to make a block smaller.
template <class Heap>
[[nodiscard]] ASHLAR_COLD void* kept(const Heap& in, void* p, std::size_t bytes, std::size_t alignment) noexcept {
  return detail::is_aligned(p, alignment) && bytes <= in.usable_size(p) ? p : nullptr;
}

template <class Heap>
[[nodiscard]] ASHLAR_NOINLINE void* resize(Heap& in, void* p, std::size_t bytes, std::size_t alignment) noexcept {
  void* const moved =
      settings().zeroes ? resize_zeroed(in, p, bytes, alignment) : in.try_reallocate(p, bytes, alignment);
  return ASHLAR_LIKELY(moved != nullptr) ? moved : kept(in, p, bytes, alignment);
}

/// Effects: calls `f(heap)`; null is the heap of the process.
template <class F>
ASHLAR_INLINE auto in_heap(ashlar_heap* heap, F f) noexcept {
  return heap != nullptr ? f(*heap) : f(process_heap());
}

/// Effects: calls `f(heap)` for the heap of a block.
template <class F>
ASHLAR_INLINE auto in_heap_of(const void* p, F f) noexcept {
  return in_heap(has_heaps() ? heap_of_block(p) : nullptr, f);
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
  return or_refused(in_heap(default_of_thread(), [=](auto& heap) { return take(heap, bytes, alignment); }), bytes);
}

ASHLAR_COLD void* allocate_in(ashlar_heap* heap, std::size_t bytes, std::size_t alignment) noexcept {
  if (heap == nullptr && !settings().zeroes) return process_heap().try_allocate(bytes, alignment);
  return in_heap(heap, [=](auto& from) { return take(from, bytes, alignment); });
}

void* allocate_beside(const void* p, std::size_t bytes, std::size_t alignment) noexcept {
  const auto taken = [=](auto& heap) { return take(heap, bytes, alignment); };
  return or_refused(guard_pool::has(p) ? taken(process_heap()) : in_heap_of(p, taken), bytes);
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

void* allocate_zeroed_in(ashlar_heap* heap, std::size_t bytes) noexcept {
  return in_heap(heap, [=](auto& from) { return take_zeroed(from, bytes, granule); });
}

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
  return or_refused(in_heap_of(p, [=](auto& heap) { return resize(heap, p, bytes, alignment); }), bytes);
}

void* resize_in(ashlar_heap& heap, void* p, std::size_t bytes) noexcept { return resize(heap, p, bytes, granule); }

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
  ashlar_heap* const other = has_heaps() ? heap_of_block(p) : nullptr;
  other != nullptr ? other->deallocate(p) : process_heap_type::deallocate_slow(p);
}

void deallocate_remote(void* p) noexcept {
  if (guard_pool::has(p)) return deallocate_guarded(p);
  ashlar_heap* const other = has_heaps() ? heap_of_block(p) : nullptr;
  other != nullptr ? other->deallocate(p) : process_heap_type::deallocate_remote(p);
}

void deallocate_sized(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  if constexpr (checking_level < checking::checked) return deallocate_by_free(p);  // the size would save nothing
  if (p == nullptr) return;
  if (guard_pool::has(p)) return deallocate_guarded(p, bytes);
  if (heap_profile::may_have(p) && heap_profile::find(p).bytes != 0) return deallocate_profiled(p, bytes);
  in_heap_of(p, [=](auto& heap) { heap.deallocate(p, bytes, detail::max(alignment, granule)); });
}

void deallocate_between(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  if constexpr (checking_level >= checking::checked) {
    const std::size_t has = usable_size(p);
    const bool is_more = bytes > detail::max(has, good_size(has, alignment));
    if (is_more || good_size(bytes, alignment) < has)
      detail::report({.kind = fault::size_mismatch,
                      .what = is_more ? "freed with more bytes than the block has"
                                      : "freed with fewer bytes, or a lower alignment, than were requested",
                      .pointer = p,
                      .expected = has,
                      .got = bytes});
  }
  deallocate_slow(p);
}

std::size_t usable_size(const void* p) noexcept {
  if (guard_pool::has(p)) return guard_pool::bytes_of(p, guarded_use::asks_size);
  if (heap_profile::may_have(p))
    if (const std::size_t bytes = heap_profile::find(p).bytes; bytes != 0) return bytes;
  return p != nullptr ? in_heap_of(p, [=](auto& heap) { return heap.usable_size(p); }) : 0;
}

ASHLAR_COLD bool try_expand(void* p, std::size_t bytes, bool shrinks) noexcept {
  if (guard_pool::has(p) || heap_profile::may_have(p)) return bytes <= usable_size(p);
  return bytes <= most_bytes && in_heap_of(p, [=](auto& heap) {
           return (!shrinks && bytes <= heap.usable_size(p)) || resize_in_place(heap, p, bytes);
         });
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
