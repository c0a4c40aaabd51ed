// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Countdowns to samples: exponential distances, and a limit of samples in a time; then blocks of the pool of guarded
// ones in place of blocks of the heap.
#include "malloc/blocks.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/heap/process_heap.hpp>
#include <ashlar/os/random_bits.hpp>

#include "malloc/call_stack.hpp"
#include "malloc/guard_pool.hpp"
#include "malloc/heap_profile.hpp"
#include "malloc/sampling.hpp"

namespace ashlar::drop_in {

ASHLAR_IN_STATIC_TLS constinit thread_local sample_countdown until_sample;

namespace {

constexpr std::int32_t unsampled = 1 << 16;  // allocations until a thread looks at the interval again

// 0 before the first constructor of the library: what a sample calls may not be relocated yet.
constinit detail::atomic<std::uint32_t> sample_interval = 0;
constinit detail::atomic<std::uint32_t> last_sample_ms = 0;

// Returns: whether the last sample of the process is long enough ago; then this one is the last.
[[nodiscard]] bool passes_limit() noexcept {
  const std::uint32_t now = detail::coarse_ms();
  std::uint32_t last = last_sample_ms.load(detail::memory_order_relaxed);
  return now - last >= least_distance_ms &&
         last_sample_ms.compare_exchange_strong(last, now, detail::memory_order_relaxed, detail::memory_order_relaxed);
}

[[nodiscard]] std::int32_t next_distance(std::uint32_t interval) noexcept {
  if (interval == 1) return 0;
  return static_cast<std::int32_t>(detail::min<std::uint64_t>(exponential(interval, random_of_thread()), INT32_MAX));
}

}  // namespace

void sample_one_in(std::uint32_t interval) noexcept {
  sample_interval.store(interval, detail::memory_order_relaxed);
  if (interval != 0 && interval < least_estimated_interval) until_sample.left = 0;
}

std::uint32_t random_of_thread() noexcept {
  if (until_sample.random == 0) {
    const std::uint64_t thread = ashlar::address_of(&until_sample) ^ detail::coarse_ms();
    until_sample.random = static_cast<std::uint32_t>(detail::mixed(detail::process_secret() ^ thread)) | 1;
  }
  return until_sample.random = next_random(until_sample.random);
}

ASHLAR_COLD bool is_sample() noexcept {
  const std::uint32_t interval = sample_interval.load(detail::memory_order_relaxed);
  if (interval == 0) return until_sample.left = unsampled, false;
  const bool begins = until_sample.random == 0, estimates = interval >= least_estimated_interval;
  until_sample.left = next_distance(interval);
  if (until_sample.is_sampling || (begins && estimates)) return false;
  return !estimates || passes_limit();
}

// ---- blocks of the pool and of the profile

namespace {

// A heap that is an object frees all its blocks at once, and so takes part in no samples.
[[nodiscard]] void* take_sample(request wanted, const caller_frame& caller) noexcept {
  const bool is_one = is_sample() && default_of_thread() == nullptr;
  return is_one ? guard_pool::take(wanted.bytes, wanted.alignment, caller) : nullptr;
}

ASHLAR_COLD void expect_size(const void* p, std::size_t has, std::size_t bytes) noexcept {
  if (bytes != has)
    ashlar::report({.kind = fault::size_mismatch,
                    .what = "freed with another size than it was allocated with",
                    .pointer = p,
                    .size = has,
                    .expected = has,
                    .got = bytes});
}

[[nodiscard]] bool is_profile_sample(std::size_t bytes) noexcept {
  return heap_profile::is_sample(bytes) && default_of_thread() == nullptr;
}

// Bytes of the least block that starts with a slice.
[[nodiscard]] std::size_t bytes_for_profile(std::size_t bytes) noexcept { return detail::max(bytes, largest_cell + 1); }

// Returns: the block, which is in the profile unless it is null or lies inside of a slice.
void* profiled(void* p, std::size_t bytes, const caller_frame& caller) noexcept {
  if (p != nullptr && heap_profile::may_have(p)) heap_profile::add(p, bytes, caller);
  return p;
}

[[nodiscard]] void* take_profiled(request wanted, bool is_sample, const caller_frame& caller) noexcept {
  const std::size_t wide = is_sample ? bytes_for_profile(wanted.bytes) : wanted.bytes;
  void* const p = take_or_refused(default_of_thread(), {wide, wanted.alignment});
  return is_sample ? profiled(p, wanted.bytes, caller) : p;
}

}  // namespace

ASHLAR_COLD void* profile(request wanted) noexcept {
  return take_profiled(wanted, is_profile_sample(wanted.bytes), ASHLAR_CALLER_FRAME());
}

// A resized block counts as one that is freed and allocated again. Large ones stay where they are, as without a
// profile; a small sample moves to a cell. A heap that is an object also keeps its blocks when they are resized.
ASHLAR_NOINLINE void* resize_profiled(void* p, request wanted) noexcept {
  const profiled_block former = heap_profile::may_have(p) ? heap_profile::find(p) : profiled_block{};
  ashlar_heap* const of = object_of(p);
  const std::size_t bytes = wanted.bytes;
  const bool is_sample = counts_bytes(bytes) && is_profile_sample(bytes) && of == nullptr;
  const bool moves = former.bytes != 0 && former.bytes <= largest_cell;
  if (moves || (is_sample && bytes <= largest_cell)) {
    void* const moved = take_or_refused(of, {is_sample ? bytes_for_profile(bytes) : bytes, wanted.alignment});
    if (moved == nullptr && former.bytes == 0) return resize_or_refused(p, wanted);
    if (moved == nullptr) return bytes <= former.bytes && ashlar::is_aligned(p, wanted.alignment) ? p : nullptr;
    if (is_sample) profiled(moved, bytes, ASHLAR_CALLER_FRAME());
    if (former.bytes != 0) heap_profile::take_out(p);
    return move_to(moved, bytes, of, p, former.bytes != 0 ? former.bytes : usable_in(of, p));
  }
  if (former.bytes != 0) heap_profile::take_out(p);
  void* const resized = resize_or_refused(p, wanted);
  if (resized == nullptr && former.bytes != 0) heap_profile::put_back(former);
  return is_sample ? profiled(resized, bytes, ASHLAR_CALLER_FRAME()) : resized;
}

ASHLAR_COLD void deallocate_profiled(void* p, std::size_t bytes) noexcept {
  expect_size(p, heap_profile::find(p).bytes, bytes);
  heap_profile::take_out(p);
  give(object_of(p), p);
}

// A guarded sample or, where the request is none after all, a block that the profile counts as any other.
ASHLAR_COLD void* sample(request wanted) noexcept {
  const caller_frame caller = ASHLAR_CALLER_FRAME();
  if (void* const p = take_sample(aligned(wanted.bytes, wanted.alignment), caller)) return p;
  return take_profiled(wanted, counts_bytes(wanted.bytes) && is_profile_sample(wanted.bytes), caller);
}

ASHLAR_COLD void* sample_missed(void* p, std::size_t bytes) noexcept {
  void* const found = p != nullptr ? take_sample({bytes, granule}, ASHLAR_CALLER_FRAME()) : nullptr;
  if (found == nullptr) return p;
  process_heap_type::deallocate_slow(p);
  return found;
}

ASHLAR_COLD void* resize_sampled(void* p, request wanted) noexcept {
  void* const found = object_of(p) != nullptr ? nullptr : take_sample(wanted, ASHLAR_CALLER_FRAME());
  if (found == nullptr) return resize_or_refused(p, wanted);
  return move_to(found, wanted.bytes, nullptr, p, usable_in(nullptr, p));
}

ASHLAR_COLD void deallocate_guarded(void* p) noexcept { guard_pool::give(p, ASHLAR_CALLER_FRAME()); }

ASHLAR_COLD void deallocate_guarded(void* p, std::size_t bytes) noexcept {
  expect_size(p, guard_pool::bytes_of(p, guarded_use::frees), bytes);
  guard_pool::give(p, ASHLAR_CALLER_FRAME());
}

ASHLAR_COLD void* resize_guarded(void* p, request wanted) noexcept {
  const caller_frame caller = ASHLAR_CALLER_FRAME();
  const std::size_t had = guard_pool::bytes_of(p, guarded_use::resizes);
  void* const found = counts_down(1) ? take_sample(wanted, caller) : nullptr;
  void* const moved = found != nullptr ? found : take_or_refused(nullptr, wanted);
  if (moved == nullptr) return wanted.bytes <= had && ashlar::is_aligned(p, wanted.alignment) ? p : nullptr;
  std::memcpy(moved, p, detail::min(had, wanted.bytes));
  guard_pool::give(p, caller);
  return moved;
}

}  // namespace ashlar::drop_in
