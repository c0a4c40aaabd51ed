// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heap of the process: the one to build a malloc on, usable before and after everything else.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/ranged_pages.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/zero_blocks.hpp>
#include <ashlar/detail/heap_threads/basic_heap.hpp>
#include <ashlar/detail/heap_threads/thread_heap_registry.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/process_threads.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/system_calls.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

/// The pages of the heap of the process, in its address range where there is room for one.
using process_pages =
    basic_page_resource<fresh::by_wish,
                        std::conditional_t<has_ranges<system_calls>, ranged_pages<system_calls>, os::pages>>;

static_assert(segment_bytes <= fresh::by_wish::most_populated_bytes, "segments are what a wish populates");

/// The threads policy of the heap of the process.
struct threads_of_process_heap {
  template <class Owner, class T>
  using parts = process_threads<Owner, T>;
  /// Whether a resize leaves a cell where it is while half of it is used, since a sized free may give any size.
  static constexpr bool keeps_half_used_cells = checking_level == checking::fast;
  /// A million or so of blocks of 0 bytes at once; more are cells.
  using zero_blocks = part_if<checking_level >= checking::checked && os::pages::releases_parts && !always_marked,
                              zero_block_range<std::size_t{1} << (sizeof(void*) == 8 ? 20 : 14)>>;
};

}  // namespace detail

/// A `heap` over pages with one object, `process_heap()`: constant-initialised and never destroyed. So it serves before
/// any constructor and after every destructor. No call reaches `operator new`, `atexit`, a guarded static, or a
/// `thread_local` object with a destructor, so a malloc may stand on it. One thread-local word leads to the heap of a
/// thread, and a thread without one finds empty free lists behind it: `allocate_or_errno(bytes)` has 16
/// instructions and no frame, `deallocate(p)` 18. Two of them mark that the thread is inside, for `share_idle`.
///
/// The end of a thread is the third round of destructors of its keys: then its blocks wait for the next thread, and
/// later calls use the common heap. The main thread keeps its heap over `exit`. A child of a fork goes on with the heap
/// of the forking thread. The code must stay loaded: link a library that contains it with `-z nodelete`, and compile it
/// with `-ftls-model=initial-exec`. Thread safety: any thread.
class process_heap_type : public detail::basic_heap<detail::process_pages, detail::threads_of_process_heap> {
  using calls = detail::basic_heap<detail::process_pages, detail::threads_of_process_heap>;

public:
  /// Whether cells come zeroed: level `hardened` clears them when they are freed.
  static constexpr bool cells_are_zero = detail::dead_cells_are_zero<detail::process_pages>;

  void release() = delete;  // it has blocks of others

  /// @{ As in `heap`; of `deallocate` the form with a known size.
  using calls::adopt;
  using calls::allocate;
  using calls::allocate_at_least;
  using calls::allocate_zeroed;
  using calls::cached_bytes;
  using calls::deallocate;
  using calls::detach;
  using calls::detached;
  using calls::flush;
  using calls::for_each_live;
  using calls::held_bytes;
  using calls::inspect;
  using calls::invariant;
  using calls::is_mine;
  using calls::least_alignment;
  using calls::owns;
  using calls::parked;
  using calls::reused_bytes;
  using calls::table_bytes;
  using calls::trim;
  using calls::try_allocate;
  using calls::try_allocate_zeroed;
  using calls::try_expand;
  using calls::try_resize;
  using calls::try_shrink;
  using calls::upstream_resource;
  using calls::usable_size;
  /// @}

  /// @{ As `try_allocate`, and sets `errno` to `ENOMEM` before it returns null.
  [[nodiscard]] ASHLAR_INLINE void* allocate_or_errno(std::size_t bytes) noexcept {
    return take_or(bytes, least_alignment, [bytes] { return allocate_slow(bytes); });
  }
  [[nodiscard]] void* allocate_or_errno(std::size_t bytes, std::size_t alignment) noexcept {
    return or_errno(try_allocate(bytes, alignment));
  }
  /// @}

  /// @{ The parts of `allocate_or_errno`, for a malloc: the fast path, in two instructions less, and a call of
  /// `missed()` if it finds no block; the path behind it. Expects: `bytes <= most_small_bytes`.
  template <class Missed>
  [[nodiscard]] ASHLAR_INLINE void* allocate_small_or(std::size_t bytes, Missed missed) noexcept {
    return take_small_or(bytes, missed);
  }
  static constexpr std::size_t most_small_bytes = detail::size_classes::most_small;
  // Without the object, which would be an argument that the fast paths make room for.
  [[nodiscard]] ASHLAR_NOINLINE static void* allocate_slow(std::size_t bytes) noexcept {
    return allocate_slow(bytes, least_alignment);
  }
  [[nodiscard]] static void* allocate_slow(std::size_t bytes, std::size_t alignment) noexcept {
    return or_errno(one().take_after_empty_list<or_null>(bytes, alignment));
  }
  /// @}

  /// As `try_allocate_zeroed`, and sets `errno` to `ENOMEM` before it returns null.
  [[nodiscard]] ASHLAR_INLINE void* allocate_zeroed_or_errno(std::size_t bytes,
                                                             std::size_t alignment = least_alignment) noexcept {
    if (ASHLAR_UNLIKELY(bytes > detail::size_classes::largest || alignment > least_alignment))
      return or_errno(try_allocate_zeroed(bytes, alignment));
    void* const p = allocate_or_errno(bytes);  // cells are not fresh as a rule
    if constexpr (cells_are_zero) return p;
    return ASHLAR_LIKELY(p != nullptr) ? std::memset(p, 0, bytes) : nullptr;
  }

  /// As in `heap`; but at level `fast` a cell that has the alignment stays where it is unless less than half of it
  /// would be used; and to a smaller size the call never fails at an address that has the
  /// alignment. Where memory is short, the block then stays as large as it was, also for a sized free.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE void* try_reallocate(void* p, std::size_t new_bytes,
                                                            std::size_t alignment = least_alignment) noexcept {
    void* const moved = calls::try_reallocate(p, new_bytes, alignment);
    if (moved != nullptr || p == nullptr || !is_aligned(p, alignment)) return moved;
    return new_bytes <= usable_size(p) ? p : nullptr;
  }

  /// As `try_reallocate`, and sets `errno` to `ENOMEM` before it returns null.
  [[nodiscard]] void* reallocate_or_errno(void* p, std::size_t new_bytes,
                                          std::size_t alignment = least_alignment) noexcept {
    return or_errno(try_reallocate(p, new_bytes, alignment));
  }

  /// Throws: `std::bad_alloc`; the block at `p` stays then.
  [[nodiscard]] void* reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) {
    return block_or_throw(try_reallocate(p, new_bytes, alignment), new_bytes, alignment);
  }

  /// As in `heap`.
  ASHLAR_INLINE void deallocate(void* p) noexcept { put_or(p, deallocate_slow, deallocate_remote); }

  /// @{ For the `realloc` of a malloc, in front of its other decisions. Returns: the usable bytes of a cell of the
  /// calling thread, 0 for other blocks and from level `checked` on; whether `try_reallocate` leaves such a cell where
  /// it is.
  using calls::keeps_cell;
  using calls::own_cell_bytes;
  /// @}

  /// @{ The parts of `deallocate(p)`, for a malloc that has other heaps too and tests for their blocks in `slow(p)` and
  /// `remote(p)` alone: the fast path, which frees no block of another heap, and its misses. At level `fast` each block
  /// is for `slow(p)` where `bits` is 0.
  template <class Slow, class Remote>
  ASHLAR_INLINE void deallocate_or(void* p, Slow slow, Remote remote,
                                   std::uintptr_t bits = detail::sampled_bits) noexcept {
    put_or(p, slow, remote, bits);
  }
  ASHLAR_NOINLINE static void deallocate_slow(void* p) noexcept { one().put_slow(p); }
  ASHLAR_NOINLINE static void deallocate_remote(void* p) noexcept { one().put_remote_slow(p); }
  /// @}

  /// As `deallocate(p)`: at level `fast` the size is ignored, since C programs give wrong ones; from `checked` on it is
  /// verified. `p` may be null.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    if (!checks || p == nullptr) return deallocate(p);
    calls::deallocate(p, bytes, alignment);
  }

  using calls::set_options;

  /// Effects: from now on threads take the heaps of idle ones, or leave them alone, which is the default. Returns:
  /// whether they do: not without a barrier of the process, nor where a thread's own calls take a lock. Complexity:
  /// O(threads).
  using calls::share_idle;

  /// Effects: installs the handlers of forks, once. Static initialisation calls it; a malloc calls it earlier, in the
  /// first constructor of its library, but never from malloc: it allocates. Handlers that others install later may
  /// allocate. By the call a process that never had a second thread forks without locks, also in a signal handler that
  /// interrupted the heap. Expects: no other thread forks.
  static void expect_forks() noexcept {
    detail::fork_participants::spare_only_thread();
    detail::fork_participants::install_at_start();
  }

private:
  friend detail::immortal<process_heap_type>;
  constexpr process_heap_type() noexcept : calls(heap_options{}, detail::process_pages{}) {}
  ~process_heap_type() = default;

  [[nodiscard]] static ASHLAR_INLINE process_heap_type& one() noexcept {
    return detail::immortal_instance<process_heap_type>.value;
  }

  [[nodiscard]] static ASHLAR_INLINE void* or_errno(void* p) noexcept {
    if (ASHLAR_UNLIKELY(p == nullptr)) errno = ENOMEM;
    return p;
  }
};

/// Returns: the heap of the process. Complexity: an address.
[[nodiscard]] ASHLAR_INLINE process_heap_type& process_heap() noexcept {
  return detail::immortal_instance<process_heap_type>.value;
}

/// The same heap as a resource without data, for a `stateless_allocator` or a `coroutine_frame`.
struct process_heap_resource {
  static constexpr bool is_process_wide = true, is_thread_safe = true;

  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return process_heap().allocate(bytes, alignment);
  }
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    process_heap().deallocate(p, bytes, alignment);
  }
  [[nodiscard]] friend bool operator==(process_heap_resource, process_heap_resource) noexcept { return true; }
};

static_assert(process_wide_resource<process_heap_resource> && thread_safe_resource<process_heap_resource>);
static_assert(try_resource<process_heap_type> && owning_resource<process_heap_type> &&
              !releasable_resource<process_heap_type>);
static_assert(self_describing_resource<process_heap_type> && expanding_resource<process_heap_type> &&
              thread_safe_resource<process_heap_type>);

}  // namespace ashlar::ASHLAR_ABI
