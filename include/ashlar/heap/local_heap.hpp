// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of any size for one thread: hot cells by class in front, slabs, runs of slices and huge blocks behind.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/poison.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/heap/cell_store.hpp>
#include <ashlar/heap/heap_faults.hpp>
#include <ashlar/heap/page_discard.hpp>
#include <ashlar/heap/segment_store.hpp>
#include <ashlar/part/segment.hpp>
#include <ashlar/part/size_classes.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct local_heap_options {
  std::size_t max_bytes = max_size;                ///< held of the upstream at once
  std::size_t keep_bytes = std::size_t{16} << 20;  ///< free memory that is never given back but by `trim`
};

/// A heap of one thread.
///
///   deallocate(p) -> pocket -> stack of the class -> sweep: bits of the slabs -> empty slabs: slices -> upstream
///   allocate(n)   <- pocket <- stack of the class <- word of 64 cells <- slabs <- run of slices <- segment <- upstream
///
/// Up to 32 KiB a block is a cell of one of 72 classes; up to 63 slices of 64 KiB a run of slices; else it is a block
/// of the upstream's own. Nothing is kept in a block: what is known of it stands at the head of its 4 MiB segment.
/// Every block is aligned by 16 at least. `deallocate(p)` finds the class by one load.
/// The pocket holds the block that was freed last, so that a free followed by an allocation of the same class waits for
/// no store to be forwarded through a stack.
/// Blocks that are live when the heap ends go with it. Thread safety: none. Nothing is allocated before the first
/// block.
template <resource Upstream>
class local_heap {
public:
  /// What every block is aligned by.
  static constexpr std::size_t least_alignment = size_classes::granule;

  explicit local_heap(const local_heap_options& options = {}, Upstream upstream = {})
      : segments_({.max_bytes = options.max_bytes, .keep_bytes = options.keep_bytes}, std::move(upstream)) {}
  explicit local_heap(Upstream upstream)
    requires(!std::is_empty_v<Upstream>)
      : local_heap(local_heap_options{}, std::move(upstream)) {}

  local_heap(const local_heap&) = delete;  // live blocks belong to it
  local_heap& operator=(const local_heap&) = delete;
  ~local_heap() = default;

  /// Returns: a block. Throws: `std::bad_alloc`. Expects: `alignment` is a power of two.
  /// Complexity: O(1) amortised.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment = least_alignment) {
    void* const p = try_allocate(bytes, alignment);
    if (ASHLAR_UNLIKELY(p == nullptr)) throw_bad_alloc(bytes, alignment);
    return p;
  }

  /// As `allocate`, but null where memory has run out.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (ASHLAR_LIKELY(bytes <= size_classes::largest && alignment <= least_alignment))
      return take(size_classes::of(bytes));
    return take_other(bytes, alignment);
  }

  /// Returns: a block whose size is known at compile time: costs what a pool of that size costs.
  /// Throws: `std::bad_alloc`.
  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  [[nodiscard]] ASHLAR_INLINE void* allocate() {
    static_assert(is_power_of_two(Alignment));
    constexpr std::size_t number = class_for(Bytes, Alignment);
    if constexpr (number == size_classes::none) {
      return allocate(Bytes, Alignment);
    } else {
      void* const p = take_hot(number);
      if (ASHLAR_UNLIKELY(p == nullptr)) throw_bad_alloc(Bytes, Alignment);
      return p;
    }
  }

  /// Returns: a block and how large it really is; any size from `bytes` to that gives it back.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment = least_alignment) {
    void* const p = allocate(bytes, alignment);
    return {p, usable_size(p)};
  }

  /// Returns: a block whose first `bytes` bytes are zero. Pages fresh from the system are not written to.
  /// Throws: `std::bad_alloc`.
  [[nodiscard]] void* allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const std::size_t number = class_for(bytes, alignment);
    const slice_run got = number != size_classes::none ? slice_run{static_cast<std::byte*>(take(number)), false}
                                                       : take_large(bytes, alignment);
    if (ASHLAR_UNLIKELY(got.data == nullptr)) throw_bad_alloc(bytes, alignment);
    if (!got.is_zero) std::memset(got.data, 0, bytes);
    return got.data;
  }

  /// Effects: takes a block back; nothing where `p` is null. Expects: it is live and of this heap.
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    if (ASHLAR_UNLIKELY(is_aligned(p, window_bytes))) return deallocate_huge(p);
    if constexpr (checking_level >= checking::checked) check_free(p);
    if constexpr (marks_memory) mark_free(p, usable_size(p));
    front* const hot = front_in_register();
    void* const waiting = hot->pocket;
    const std::size_t number = hot->pocket_number;
    hot->pocket = p;
    hot->pocket_number = segment::owner_of(p);
    if (waiting == nullptr) return;
    if (ASHLAR_LIKELY(number != size_classes::none)) return hot->stacks.push(number, waiting);
    give_run(waiting);
  }

  /// As `deallocate(p)`, and faster: the size says the class.
  /// Expects: the block was allocated with this size and alignment, or made this large by `try_expand`, or `bytes` is
  /// between what was asked for and what `allocate_at_least` gave. `p` is not null.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    const std::size_t number = class_for(bytes, alignment);
    if constexpr (checking_level >= checking::checked) check_sized_free(p, bytes, number);
    if (ASHLAR_UNLIKELY(number == size_classes::none)) return deallocate_large(p);
    if constexpr (marks_memory) mark_free(p, size_classes::bytes_of(number));
    front_in_register()->stacks.push(number, p);
  }

  /// As `deallocate(p, bytes, alignment)`, with the class resolved at compile time.
  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    deallocate(p, Bytes, Alignment);
  }

  /// Returns: whether the block at `p` has `new_bytes` bytes now, where it stands. Expects: it was allocated with
  /// `bytes` and `alignment`. A run grows into free slices behind it, and gives its tail back where it shrinks.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return resize(p, class_for(bytes, alignment), class_for(new_bytes, alignment), new_bytes);
  }

  /// Returns: a block of `new_bytes` with the contents of the one at `p`, as far as both reach; `p` itself if it can be
  /// resized where it stands. A null `p` is a block of nothing. Throws: `std::bad_alloc`; the block at `p` stays then.
  [[nodiscard]] void* reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) {
    void* const moved = try_reallocate(p, new_bytes, alignment);
    if (ASHLAR_UNLIKELY(moved == nullptr)) throw_bad_alloc(new_bytes, alignment);
    return moved;
  }

  /// As `reallocate`, but null where memory has run out.
  [[nodiscard]] void* try_reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) noexcept {
    if (p == nullptr) return try_allocate(new_bytes, alignment);
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const std::size_t bytes = checked_size(p);
    const std::size_t number = class_for(bytes, least_alignment), wanted = class_for(new_bytes, alignment);
    if (is_aligned(p, alignment) && resize(p, number, wanted, new_bytes)) return p;
    void* const moved = try_allocate(new_bytes, alignment);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, p, std::min(bytes, new_bytes));
    deallocate(p);
    return moved;
  }

  /// Returns: how many bytes of the block may be used: what was asked for, or more. Expects: it is live.
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
    void* const at = const_cast<void*>(p);
    if (is_aligned(p, window_bytes)) return segments_.find(p)->bytes();
    const std::size_t number = segment::owner_of(at);
    if (number != size_classes::none) return size_classes::bytes_of(number);
    return segment::of(at)->record(segment::slice_of(p)).length * slice_bytes;
  }

  /// Returns: whether the address lies in memory that this heap has for blocks, live or free. `p` is not read.
  [[nodiscard]] bool owns(const void* p) const noexcept {
    const window* const found = segments_.find(p);
    return found != nullptr && (!found->is_segment() || segments_.is_taken(p));
  }

  /// Calls `f(p, bytes)` for each live block: those in segments by address within each, then huge ones.
  /// `f` may not use the heap. Complexity: O(slabs and free cells).
  template <class F>
  void visit(F f) {
    settle();
    segments_.for_each_run([&](segment& home, std::size_t first, std::size_t length) {
      run_record& run = home.record(first);
      if (run.number == size_classes::none) return f(static_cast<void*>(home.slice(first)), length * slice_bytes);
      slab_cells(run).for_each_taken(
          [&](std::byte* cell) { f(static_cast<void*>(cell), std::size_t{run.cell_bytes}); });
    });
    segments_.for_each_huge([&](std::byte* p, std::size_t bytes) { f(static_cast<void*>(p), bytes); });
  }

  /// Effects: takes all blocks back and gives all memory to the upstream.
  void release() noexcept {
    front_ = {};
    cells_.clear();
    segments_.release();
  }

  /// Effects: gives memory back that no block needs, all but `keep_bytes`: whole segments, the contents of free slices,
  /// and those of whole free pages inside slabs. Returns: bytes given back.
  /// Complexity: O(slabs and free cells).
  std::size_t trim(std::size_t keep_bytes = 0) noexcept {
    settle();
    const std::size_t slices = segments_.trim(keep_bytes);
    return keep_bytes == 0 ? slices + cells_.discard_free_pages() : slices;
  }

  [[nodiscard]] std::size_t held_bytes() const noexcept { return segments_.held_bytes(); }  ///< of the upstream
  [[nodiscard]] std::size_t segments() const noexcept { return segments_.segments(); }
  [[nodiscard]] const Upstream& upstream() const noexcept { return segments_.upstream(); }

  /// Complexity: O(slabs and free cells).
  [[nodiscard]] bool invariant() const noexcept {
    return segments_.invariant() && cells_.invariant() && are_hot_free();
  }

  [[nodiscard]] friend bool operator==(const local_heap& a, const local_heap& b) noexcept { return &a == &b; }

private:
  // What the straight paths touch, side by side.
  struct alignas(64) front {
    hot_stacks stacks;
    void* pocket = nullptr;         // the block freed last by its address alone
    std::size_t pocket_number = 0;  // its class; none: a run of slices
  };

  [[nodiscard]] static ASHLAR_INLINE constexpr std::size_t class_for(std::size_t bytes,
                                                                     std::size_t alignment) noexcept {
    if (ASHLAR_UNLIKELY(bytes > size_classes::largest)) return size_classes::none;
    if (ASHLAR_LIKELY(alignment <= least_alignment)) return size_classes::of(bytes);
    return alignment <= size_classes::largest ? size_classes::of(bytes, alignment) : size_classes::none;
  }

  // A block that has shrunk by more than a quarter is better moved.
  [[nodiscard]] static constexpr bool fits_huge(std::size_t held, std::size_t wanted) noexcept {
    return wanted <= held && wanted >= held - held / 4;
  }

  // A heap that is a global object would else be named by address in each instruction, which costs 1.5 ns a pair.
  [[nodiscard]] ASHLAR_INLINE front* front_in_register() noexcept {
    front* hot = &front_;
    ASHLAR_IN_REGISTER(hot);
    return hot;
  }

  [[nodiscard]] ASHLAR_INLINE void* take(std::size_t number) noexcept {
    front* const hot = front_in_register();
    if (number != hot->pocket_number) return take_hot(number);
    hot->pocket_number = size_classes::none;
    return handed_out(std::exchange(hot->pocket, nullptr), number);
  }

  [[nodiscard]] ASHLAR_INLINE void* take_hot(std::size_t number) noexcept {
    void* const p = front_in_register()->stacks.pop(number);
    return ASHLAR_LIKELY(p != nullptr) ? handed_out(p, number) : take_cold(number);
  }

  ASHLAR_INLINE void* handed_out(void* p, std::size_t number) noexcept {
    if constexpr (checking_level >= checking::hardened) checks().expect_link(front_.stacks.next_of(number), number);
    if constexpr (checking_level >= checking::checked) slab_cells(segment::slab_of(p)).flip_live(p);
    if constexpr (marks_memory) mark_live(p, size_classes::bytes_of(number));
    return p;
  }

  // Over-aligned or large.
  [[nodiscard]] ASHLAR_NOINLINE void* take_other(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > size_classes::largest) return take_large(bytes, alignment).data;
    const std::size_t number = class_for(bytes, alignment);
    return number != size_classes::none ? take(number) : take_large(bytes, alignment).data;
  }

  [[nodiscard]] ASHLAR_COLD void* take_cold(std::size_t number) noexcept {
    void* p = cells_.take(number, front_.stacks);
    if (p == nullptr && front_.pocket != nullptr) {
      empty_pocket();
      p = cells_.take(number, front_.stacks);
    }
    return p != nullptr ? handed_out(p, number) : nullptr;
  }

  [[nodiscard]] slice_run take_large(std::size_t bytes, std::size_t alignment) noexcept {
    if (!is_valid_request(bytes, alignment)) return {};
    const std::size_t length = slices_of(bytes), step = std::max<std::size_t>(1, alignment / slice_bytes);
    if (std::max(first_slice, step) + length > slices_per_segment)
      return {static_cast<std::byte*>(segments_.map_huge(bytes, alignment)), page_discard<Upstream>::gives_zeroes};
    slice_run run =
        step == 1 ? segments_.take_block(length) : segments_.made_block(segments_.take(length, step), length);
    return ASHLAR_LIKELY(run.data != nullptr) ? run : take_after_growth(length, step);
  }

  [[nodiscard]] ASHLAR_COLD slice_run take_after_growth(std::size_t length, std::size_t step) noexcept {
    empty_pocket();
    cells_.sweep(front_.stacks);
    slice_run run = segments_.take(length, step);
    if (run.data == nullptr && segments_.grow(length, step)) run = segments_.take(length, step);
    return segments_.made_block(run, length);
  }

  ASHLAR_COLD void deallocate_huge(void* p) noexcept {
    if (p == nullptr) return;
    if constexpr (checking_level >= checking::checked) check_free(p);
    segments_.unmap_huge(p);
  }

  ASHLAR_NOINLINE void deallocate_large(void* p) noexcept {
    is_aligned(p, window_bytes) ? segments_.unmap_huge(p) : give_run(p);
  }

  ASHLAR_NOINLINE void give_run(void* p) noexcept { segments_.give_block(p); }

  // A block stays where it is only if a sized free finds it by its new size and alignment: `wanted` is their class.
  [[nodiscard]] bool resize(void* p, std::size_t number, std::size_t wanted, std::size_t new_bytes) noexcept {
    if (is_aligned(p, window_bytes))
      return wanted == size_classes::none && fits_huge(segments_.find(p)->bytes(), new_bytes);
    if (number != size_classes::none || wanted != size_classes::none) return number == wanted;
    return new_bytes <= segment_bytes && resize_run(p, slices_of(new_bytes));
  }

  [[nodiscard]] bool resize_run(void* p, std::size_t wanted) noexcept {
    segment& home = *segment::of(p);
    const std::size_t first = segment::slice_of(p), length = home.record(first).length;
    if (wanted > length && (wanted > most_slices || !segments_.extend(p, length, wanted))) return false;
    home.set_block(first, wanted);
    if (wanted < length) segments_.give(home.slice(first + wanted), length - wanted);
    return true;
  }

  ASHLAR_COLD void empty_pocket() noexcept {
    void* const waiting = std::exchange(front_.pocket, nullptr);
    const std::size_t number = std::exchange(front_.pocket_number, size_classes::none);
    if (waiting == nullptr) return;
    number != size_classes::none ? cells_.give(waiting) : give_run(waiting);
  }

  void settle() noexcept {
    empty_pocket();
    cells_.settle(front_.stacks);
    segments_.join_spare();
  }

  [[nodiscard]] block_check<Upstream> checks() const noexcept { return {segments_, this, front_.pocket}; }

  // Returns: the bytes of a live block.
  [[nodiscard]] std::size_t checked_size(void* p) const noexcept {
    if constexpr (checking_level >= checking::checked) return checks().size_of(p);
    else return usable_size(p);
  }

  ASHLAR_NOINLINE void check_free(void* p) noexcept {
    static_cast<void>(checks().size_of(p));
    leave(p);
  }

  ASHLAR_NOINLINE void check_sized_free(void* p, std::size_t bytes, std::size_t number) noexcept {
    checks().expect_size(p, bytes, number);
    leave(p);
  }

  void leave(void* p) noexcept {
    if (!is_aligned(p, window_bytes) && segment::owner_of(p) != size_classes::none)
      slab_cells(segment::slab_of(p)).flip_live(p);
  }

  // Whether what waits in front is cells of its class that nobody else has.
  [[nodiscard]] bool are_hot_free() const noexcept {
    bool right = front_.pocket != nullptr || front_.pocket_number == size_classes::none;
    const auto is_free = [&](void* cell, std::size_t number) {
      const run_record& slab = segment::slab_of(cell);
      return segment::owner_of(cell) == number && slab.is_cell(cell) && cells_.is_at_large(cell);
    };
    if (front_.pocket_number != size_classes::none) right = right && is_free(front_.pocket, front_.pocket_number);
    for (std::size_t number = 1; number <= size_classes::count; ++number)
      front_.stacks.for_each(number, [&](void* cell) { right = right && is_free(cell, number); });
    return right;
  }

  front front_;
  segment_store<Upstream> segments_;
  cell_store<Upstream> cells_{segments_, this};
};

static_assert(try_resource<local_heap<>> && owning_resource<local_heap<>> && releasable_resource<local_heap<>>);
static_assert(self_describing_resource<local_heap<>> && expanding_resource<local_heap<>>);
static_assert(at_least_resource<local_heap<>>);

}  // namespace ashlar::inline ASHLAR_ABI
