// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of the pool of guarded ones in place of those of the heap.
#include "malloc/sampled_blocks.hpp"

#include <cstddef>
#include <cstring>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/blocks.hpp"
#include "malloc/guard_pool.hpp"
#include "malloc/heaps.hpp"
#include "malloc/sampling.hpp"

namespace ashlar::drop_in {

namespace {

// A heap that is an object frees all its blocks at once, and so takes part in no samples.
[[nodiscard]] void* take_sample(std::size_t bytes, std::size_t alignment, const caller_frame& caller) noexcept {
  return is_sample() && default_of_thread() == nullptr ? guard_pool::take(bytes, alignment, caller) : nullptr;
}

}  // namespace

ASHLAR_COLD void* sample_cell(std::size_t bytes) noexcept {
  void* const p = take_sample(bytes, granule, ASHLAR_CALLER_FRAME());
  return p != nullptr ? p : process_heap().allocate_or_errno(bytes);
}

ASHLAR_COLD void* sample_missed(void* p, std::size_t bytes) noexcept {
  void* const sample = p != nullptr ? take_sample(bytes, granule, ASHLAR_CALLER_FRAME()) : nullptr;
  if (sample == nullptr) return p;
  process_heap().deallocate(p);
  return sample;
}

ASHLAR_COLD void* sample_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  void* const p = take_sample(bytes, alignment, ASHLAR_CALLER_FRAME());
  return p != nullptr ? p : allocate_uncounted(bytes, alignment);
}

ASHLAR_COLD void* sample_zeroed(std::size_t bytes) noexcept {
  void* const p = take_sample(bytes, granule, ASHLAR_CALLER_FRAME());
  return p != nullptr ? p : allocate_zeroed_uncounted(bytes);
}

ASHLAR_COLD void* sample_resized(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  void* const sample = take_sample(bytes, alignment, ASHLAR_CALLER_FRAME());
  if (sample == nullptr) return resize_uncounted(p, bytes, alignment);
  std::memcpy(sample, p, detail::min(usable_size(p), bytes));
  deallocate(p);
  return sample;
}

ASHLAR_COLD void deallocate_guarded(void* p) noexcept { guard_pool::give(p, ASHLAR_CALLER_FRAME()); }

ASHLAR_COLD void deallocate_guarded(void* p, std::size_t bytes) noexcept {
  if (const std::size_t has = guard_pool::bytes_of(p); bytes != has)
    detail::report({.kind = fault::size_mismatch,
                    .what = "freed with another size than it was allocated with",
                    .pointer = p,
                    .expected = has,
                    .got = bytes});
  guard_pool::give(p, ASHLAR_CALLER_FRAME());
}

ASHLAR_COLD void* resize_guarded(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  const caller_frame caller = ASHLAR_CALLER_FRAME();
  const std::size_t had = guard_pool::bytes_of(p);
  void* const moved = allocate_aligned(bytes, alignment);
  if (moved == nullptr) return bytes <= had && detail::is_aligned(p, alignment) ? p : nullptr;
  std::memcpy(moved, p, detail::min(had, bytes));
  guard_pool::give(p, caller);
  return moved;
}

}  // namespace ashlar::drop_in
