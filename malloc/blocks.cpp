// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The decision in front of the blocks of malloc and its relatives, and the slow paths behind their fast ones.
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
#include "malloc/guard_pool.hpp"
#include "malloc/heap_profile.hpp"
#include "malloc/sampling.hpp"

namespace ashlar::drop_in {

constinit fast_path_limits fast_paths;

namespace {

// Whether a block knows its request: then each resize is noted, also one in place.
constexpr bool keeps_requests = detail::segment::requested_sizes::is_there;

[[nodiscard]] ASHLAR_NOINLINE void* allocate_and_clear(std::size_t bytes) noexcept {
  const caller_scope within(ASHLAR_OWN_FRAME());
  void* const p = allocate_by_malloc(bytes);
  return p != nullptr ? std::memset(p, 0, bytes) : nullptr;
}

/// Effects: moves a cell of `had` bytes, of any thread by now.
ASHLAR_INLINE void* moved_cell(void* p, std::size_t had, void* moved, std::size_t bytes) noexcept {
  std::memcpy(moved, p, detail::min(had, bytes));
  deallocate_by_free(p);
  return moved;
}

[[nodiscard]] ASHLAR_COLD void* resize_cell_slow(void* p, std::size_t had, std::size_t bytes) noexcept {
  const caller_scope within(ASHLAR_OWN_FRAME());
  if (void* const to = allocate_by_malloc(bytes)) return moved_cell(p, had, to, bytes);
  return bytes <= had ? p : nullptr;
}

/// As `resize_block`, for a cell of `had` bytes of the calling thread. What stays does not count as a candidate for a
/// sample; what moves counts as malloc does. Expects: `bytes < fast_paths.end_of_small`.
[[nodiscard]] ASHLAR_NOINLINE void* resize_cell(void* p, std::size_t had, std::size_t bytes) noexcept {
  if (process_heap_type::keeps_cell(had, bytes)) return p;
  void* const to = allocate_fast(bytes);
  return ASHLAR_LIKELY(to != nullptr) ? moved_cell(p, had, to, bytes) : resize_cell_slow(p, had, bytes);
}

}  // namespace

void* allocate(request wanted) noexcept {
  if (wanted.bytes > most_bytes) return refuse(ENOMEM);
  switch (decide(wanted.bytes)) {
    case way::sampled: return sample(wanted);
    case way::profiled: return profile(wanted);
    case way::plain: break;
  }
  return take_or_refused(default_of_thread(), wanted);
}

void* allocate_slow(std::size_t bytes) noexcept {
  if (ASHLAR_UNLIKELY(bytes >= fast_paths.end_of_cells)) return allocate({bytes, granule});
  ASHLAR_ASSUME(bytes <= largest_cell);
  switch (decide(bytes)) {
    case way::sampled: return sample({bytes, granule});
    case way::profiled: return profile({bytes, granule});
    case way::plain: break;
  }
  return or_refused(process_heap().allocate_or_errno(bytes), bytes);
}

void* allocate_missed(std::size_t bytes) noexcept {
  void* const p = or_refused(process_heap_type::allocate_slow(bytes), bytes);
  if constexpr (checking_level != checking::fast) return p;  // it has been counted
  return counts_down(allocations_of_missed(p)) ? sample_missed(p, bytes) : p;
}

void* allocate_zeroed(std::size_t bytes) noexcept {
  if (ASHLAR_UNLIKELY(bytes >= fast_paths.end_of_cells)) return allocate({bytes, zeroed});
  if constexpr (process_heap_type::cells_are_zero) return allocate(bytes);
  void* const p = allocate_fast(bytes);
  return ASHLAR_LIKELY(p != nullptr) ? std::memset(p, 0, bytes) : allocate_and_clear(bytes);
}

void* resize_block(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes < fast_paths.end_of_small && alignment == granule)
    if (const std::size_t had = process_heap_type::own_cell_bytes(p); had != 0) return resize_cell(p, had, bytes);
  if (p == nullptr) return alignment == granule ? allocate(bytes) : allocate(aligned(bytes, alignment));
  if (bytes > most_bytes) return refuse(ENOMEM);
  const request wanted = aligned(bytes, alignment);
  if (guard_pool::has(p)) return resize_guarded(p, wanted);
  if (heap_profile::is_on()) return resize_profiled(p, wanted);
  return counts_down(1) ? resize_sampled(p, wanted) : resize_or_refused(p, wanted);
}

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
    const bool is_huge = ashlar::is_aligned(p, detail::window_bytes);  // and keeps up to a quarter more, as it shrank
    const std::size_t least = is_huge && !keeps_sizes ? has - has / 4 : has;
    if (is_more || good_size(bytes, alignment) < least)
      ashlar::report({.kind = fault::size_mismatch,
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
  const std::size_t whole = ashlar::align_up(least, unit);
  return whole <= most_bytes ? whole : 0;
}

}  // namespace ashlar::drop_in
