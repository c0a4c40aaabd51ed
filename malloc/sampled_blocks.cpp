// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of the pool of guarded ones in place of blocks of the heap.
#include "malloc/sampled_blocks.hpp"

#include <cstddef>
#include <cstring>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/blocks.hpp"
#include "malloc/guard_pool.hpp"
#include "malloc/heap_profile.hpp"
#include "malloc/heaps.hpp"
#include "malloc/sampling.hpp"

namespace ashlar::drop_in {

namespace {

// A heap that is an object frees all its blocks at once, and so takes part in no samples.
[[nodiscard]] void* take_sample(std::size_t bytes, std::size_t alignment, const caller_frame& caller) noexcept {
  return is_sample() && default_of_thread() == nullptr ? guard_pool::take(bytes, alignment, caller) : nullptr;
}

ASHLAR_COLD void expect_size(const void* p, std::size_t has, std::size_t bytes) noexcept {
  if (bytes != has)
    detail::report({.kind = fault::size_mismatch,
                    .what = "freed with another size than it was allocated with",
                    .pointer = p,
                    .size = has,
                    .expected = has,
                    .got = bytes});
}

[[nodiscard]] bool is_profile_sample(std::size_t bytes) noexcept {
  return heap_profile::is_sample(bytes) && default_of_thread() == nullptr;
}

// Such a heap also keeps its blocks when they are resized.
[[nodiscard]] bool is_of_object(const void* p) noexcept { return has_heaps() && heap_of_block(p) != nullptr; }

// Bytes of the least block that starts with a slice.
[[nodiscard]] std::size_t bytes_for_profile(std::size_t bytes) noexcept { return detail::max(bytes, largest_cell + 1); }

// Returns: the block, which is in the profile unless it is null or lies inside of a slice.
void* profiled(void* p, std::size_t bytes, const caller_frame& caller) noexcept {
  if (p != nullptr && heap_profile::may_have(p)) heap_profile::add(p, bytes, caller);
  return p;
}

constexpr std::size_t zeroed = 0;  // in place of an alignment

[[nodiscard]] void* take_profiled(std::size_t bytes, bool is_sample, std::size_t alignment,
                                  const caller_frame& caller) noexcept {
  const std::size_t wide = is_sample ? bytes_for_profile(bytes) : bytes;
  void* const p = alignment == zeroed ? allocate_zeroed_uncounted(wide) : allocate_uncounted(wide, alignment);
  return is_sample ? profiled(p, bytes, caller) : p;
}

// A guarded sample or, where the request is none after all, a block that the profile counts as any other.
[[nodiscard]] void* sample_or_profile(std::size_t bytes, std::size_t alignment, const caller_frame& caller) noexcept {
  if (void* const p = take_sample(bytes, detail::max(alignment, granule), caller)) return p;
  return take_profiled(bytes, counts_bytes(bytes) && is_profile_sample(bytes), alignment, caller);
}

}  // namespace

ASHLAR_COLD void* profile_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  return take_profiled(bytes, is_profile_sample(bytes), alignment, ASHLAR_CALLER_FRAME());
}

ASHLAR_COLD void* profile_zeroed(std::size_t bytes) noexcept {
  return take_profiled(bytes, is_profile_sample(bytes), zeroed, ASHLAR_CALLER_FRAME());
}

// A resized block counts as one that is freed and allocated again. Large ones stay where they are, as without a
// profile; a small sample moves to a cell.
ASHLAR_NOINLINE void* resize_profiled(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  const profiled_block former = heap_profile::may_have(p) ? heap_profile::find(p) : profiled_block{};
  const bool is_sample = counts_bytes(bytes) && is_profile_sample(bytes) && !is_of_object(p);
  const bool moves = former.bytes != 0 && former.bytes <= largest_cell;
  if (moves || (is_sample && bytes <= largest_cell)) {
    void* const moved = allocate_beside(p, is_sample ? bytes_for_profile(bytes) : bytes, alignment);
    if (is_sample) profiled(moved, bytes, ASHLAR_CALLER_FRAME());
    void* const result = moved_from(p, usable_size(p), moved, bytes);
    if (result == nullptr && former.bytes == 0) return resize_uncounted(p, bytes, alignment);
    return result == nullptr && bytes <= former.bytes && detail::is_aligned(p, alignment) ? p : result;
  }
  if (former.bytes != 0) heap_profile::take_out(p);
  void* const resized = resize_uncounted(p, bytes, alignment);
  if (resized == nullptr && former.bytes != 0) heap_profile::put_back(former);
  return is_sample ? profiled(resized, bytes, ASHLAR_CALLER_FRAME()) : resized;
}

ASHLAR_COLD void deallocate_profiled(void* p, std::size_t bytes) noexcept {
  expect_size(p, heap_profile::find(p).bytes, bytes);
  deallocate_by_free(p);
}

ASHLAR_COLD void* sample_cell(std::size_t bytes) noexcept {
  return sample_or_profile(bytes, granule, ASHLAR_CALLER_FRAME());
}

ASHLAR_COLD void* sample_missed(void* p, std::size_t bytes) noexcept {
  void* const sample = p != nullptr ? take_sample(bytes, granule, ASHLAR_CALLER_FRAME()) : nullptr;
  if (sample == nullptr) return p;
  process_heap_type::deallocate_slow(p);
  return sample;
}

ASHLAR_COLD void* sample_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  return sample_or_profile(bytes, alignment, ASHLAR_CALLER_FRAME());
}

ASHLAR_COLD void* sample_zeroed(std::size_t bytes) noexcept {
  return sample_or_profile(bytes, zeroed, ASHLAR_CALLER_FRAME());
}

ASHLAR_COLD void* sample_resized(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  void* const sample = is_of_object(p) ? nullptr : take_sample(bytes, alignment, ASHLAR_CALLER_FRAME());
  if (sample == nullptr) return resize_uncounted(p, bytes, alignment);
  return moved_from(p, usable_size(p), sample, bytes);
}

ASHLAR_COLD void deallocate_guarded(void* p) noexcept { guard_pool::give(p, ASHLAR_CALLER_FRAME()); }

ASHLAR_COLD void deallocate_guarded(void* p, std::size_t bytes) noexcept {
  expect_size(p, guard_pool::bytes_of(p, guarded_use::frees), bytes);
  guard_pool::give(p, ASHLAR_CALLER_FRAME());
}

ASHLAR_COLD void* resize_guarded(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  const caller_frame caller = ASHLAR_CALLER_FRAME();
  const std::size_t had = guard_pool::bytes_of(p, guarded_use::resizes);
  const std::size_t at = detail::max(alignment, granule);
  void* const sample = counts_down(1) ? take_sample(bytes, at, caller) : nullptr;
  void* const moved = sample != nullptr ? sample : allocate_beside(p, bytes, at);
  if (moved == nullptr) return bytes <= had && detail::is_aligned(p, alignment) ? p : nullptr;
  std::memcpy(moved, p, detail::min(had, bytes));
  guard_pool::give(p, caller);
  return moved;
}

}  // namespace ashlar::drop_in
