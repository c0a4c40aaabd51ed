// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap with a plan in front: one deallocate(p) for planned buffers and for the blocks of any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/static_arena.hpp>

namespace ashlar::ASHLAR_ABI {

/// The memory of a plan, and its use.
struct planned_statistics {
  std::size_t buffers = 0;        ///< in the plan
  std::size_t planned_bytes = 0;  ///< held for all buffers
  std::size_t live_buffers = 0;   ///< at the present moment; 0 if the plan has no lifetimes
  std::size_t live_bytes = 0;     ///< of the live buffers
};

namespace detail {

/// Blocks with addresses known in advance: the memory of a `static_arena`, and its clock. Thread safety: as
/// `static_arena`: any thread; `advance` by one, concurrent only with `has` and `statistics`.
template <class Plan>
class planned_tier {
  using layout = typename Plan::layout_type;
  using arena = static_arena<layout>;

public:
  /// The report texts for one kind of use of a planned address.
  struct use {
    const char* inside;
    const char* dead;
    const char* size;
  };
  static constexpr use freeing = {.inside = "freed a pointer into the middle of a planned buffer",
                                  .dead = "freed a planned buffer that is not live",
                                  .size = "freed a planned buffer with a larger size than was planned"};
  static constexpr use resizing = {.inside = "resized at a pointer into the middle of a planned buffer",
                                   .dead = "resized a planned buffer that is not live",
                                   .size = "resized a planned buffer with a larger size than was planned"};

  /// Effects: takes one block of `upstream`. Throws: `std::bad_alloc`. Expects: `upstream` outlives the tier.
  template <resource Upstream>
  explicit planned_tier(Upstream& upstream) : arena_(upstream, addressable(), Plan::alignment(), Plan::lives()) {}

  /// The same in given memory. Expects: the memory has the bytes and the alignment of the plan.
  explicit planned_tier(std::span<std::byte> memory) noexcept : arena_(arena_in(memory)) {}

  /// Returns: the address of a buffer, by one addition. Expects: as `static_arena::get`.
  [[nodiscard]] ASHLAR_INLINE std::byte* resolve(std::size_t position) const noexcept {
    if constexpr (checking_level >= checking::checked) return arena_.get(position);
    else return base() + Plan::offset_of(position);
  }

  /// Effects: as `static_arena::advance`.
  void advance(std::uint64_t moment) noexcept {
    arena_.advance(moment);
    now_.store(moment, memory_order_relaxed);
  }

  /// Returns: whether the address lies in the plan's memory, by a subtraction and a comparison. `p` is not read.
  [[nodiscard]] ASHLAR_INLINE bool has(const void* p) const noexcept {
    return address_of(p) - address_of(base()) < Plan::bytes();
  }

  [[nodiscard]] std::byte* base() const noexcept { return arena_.base(); }

  /// Effects: reports, as misuse of `resource`, a pointer other than the start of a live buffer of at least `bytes`
  /// bytes. Expects: it lies in the plan's memory. Complexity: O(buffers).
  ASHLAR_COLD void expect_live(const void* p, std::size_t bytes, const void* resource,
                               const use& texts = freeing) const noexcept {
    const starting_at found = buffers_at(p);
    violation wrong{.pointer = p, .resource = resource, .size = bytes};
    if (found.planned == 0) {
      wrong.kind = fault::misaligned_free;
      wrong.what = texts.inside;
    } else if (found.live == 0) {
      wrong.kind = fault::double_free;
      wrong.what = texts.dead;
    } else if (bytes > found.bytes) {
      wrong.kind = fault::size_mismatch;
      wrong.what = texts.size;
      wrong.expected = found.bytes;
      wrong.got = bytes;
    } else {
      return;
    }
    report(wrong);
  }

  /// Thread safety: any thread, also during `advance`. Complexity: O(buffers).
  [[nodiscard]] planned_statistics statistics() const noexcept {
    planned_statistics sums{.buffers = Plan::count(), .planned_bytes = Plan::bytes()};
    const std::uint64_t now = now_.load(memory_order_relaxed);
    for (std::size_t i = 0; Plan::has_lives && i < Plan::count(); ++i) {
      if (!Plan::is_live(i, now)) continue;
      ++sums.live_buffers;
      sums.live_bytes += Plan::size_of(i);
    }
    return sums;
  }

private:
  // The buffers that start at an address, and the bytes of the largest live one.
  struct starting_at {
    std::size_t planned = 0, live = 0, bytes = 0;
  };

  [[nodiscard]] starting_at buffers_at(const void* p) const noexcept {
    starting_at found;
    const std::uint64_t now = now_.load(memory_order_relaxed);
    for (std::size_t i = 0; i < Plan::count(); ++i) {
      if (base() + Plan::offset_of(i) != p) continue;
      ++found.planned;
      if (!Plan::is_live(i, now)) continue;
      ++found.live;
      found.bytes = std::max(found.bytes, Plan::size_of(i));
    }
    return found;
  }

  // Returns: the layout. Throws: `std::bad_alloc` if its size exceeds `std::size_t` or any block.
  [[nodiscard]] static const layout& addressable() {
    if (ASHLAR_UNLIKELY(Plan::layout().height > max_size)) throw_bad_alloc(max_size, Plan::alignment());
    return Plan::layout();
  }

  [[nodiscard]] static arena arena_in(std::span<std::byte> memory) noexcept {
    ASHLAR_EXPECTS(is_aligned(memory.data(), Plan::alignment()),
                   "gave a plan memory without the alignment of its layout");
    if constexpr (Plan::has_lives) return arena(memory.data(), memory.size(), Plan::layout(), Plan::lives());
    else return arena(memory, Plan::layout());
  }

  arena arena_;
  atomic<std::uint64_t> now_ = 0;  // moment of the plan; kept at every level, for statistics
};

}  // namespace detail

/// A plan as a type: `Layout` is an object of static storage with `offsets` and `height`; `Buffers` are the buffers of
/// its problem, in the same order. `Buffers` may be omitted if the layout has its own `sizes` and `alignment`, as the
/// tables of `ashlar plan --header` have; then lifetimes are unknown. Neither is copied: a `constexpr` object becomes
/// constants in the code; any other must be initialised before the first use of the plan.
template <const auto& Layout, const auto&... Buffers>
struct static_plan {
  static_assert(sizeof...(Buffers) <= 1, "a plan has one set of buffers");
  static_assert(sizeof...(Buffers) == 1 || requires { Layout.sizes[0], Layout.alignment; }, "a plan knows its sizes");

  using layout_type = std::remove_cvref_t<decltype(Layout)>;
  static constexpr bool has_lives = sizeof...(Buffers) == 1;

  [[nodiscard]] static constexpr const layout_type& layout() noexcept { return Layout; }
  [[nodiscard]] static constexpr std::span<const plan::buffer> lives() noexcept {
    if constexpr (has_lives) return std::span<const plan::buffer>(Buffers...);
    else return {};
  }
  [[nodiscard]] static constexpr std::size_t count() noexcept { return Layout.offsets.size(); }
  [[nodiscard]] static constexpr std::size_t bytes() noexcept { return static_cast<std::size_t>(Layout.height); }
  [[nodiscard]] static constexpr std::size_t offset_of(std::size_t position) noexcept {
    return static_cast<std::size_t>(Layout.offsets[position]);
  }
  [[nodiscard]] static constexpr std::size_t size_of(std::size_t position) noexcept {
    if constexpr (has_lives) return static_cast<std::size_t>(lives()[position].size);
    else return static_cast<std::size_t>(Layout.sizes[position]);
  }
  /// Returns: whether the buffer is live at that moment of the plan; true if lifetimes are unknown.
  [[nodiscard]] static constexpr bool is_live(std::size_t position, [[maybe_unused]] std::uint64_t moment) noexcept {
    if constexpr (has_lives) return lives()[position].birth <= moment && moment < lives()[position].death;
    else return true;
  }
  /// Returns: the greatest alignment in the plan.
  [[nodiscard]] static constexpr std::size_t alignment() noexcept {
    std::uint64_t most = 1;
    if constexpr (has_lives)
      for (const plan::buffer& each : lives()) most = std::max(most, each.alignment);
    else most = Layout.alignment;
    return static_cast<std::size_t>(most);
  }
};

/// The tier of an address in a `tiered_heap`.
enum class heap_tier : std::uint8_t {
  planned,  ///< 0: memory of the plan
  own,      ///< 1: the calling thread's part of the heap
  shared,   ///< 2: another thread's part of the heap; huge blocks, which belong to no thread
  none,     ///< memory outside of the heap
};

/// The contents of each tier. Tables and avoided page faults are not split by tier.
struct tier_statistics {
  planned_statistics planned;
  heap_statistics own;           ///< of the calling thread
  heap_statistics shared;        ///< of other threads; their cached cells count as live: only the owner reads a cache
  std::size_t cached_bytes = 0;  ///< of `shared`: approximate bytes of those cached cells; 0 from level `checked` on
  std::size_t table_bytes = 0;   ///< from the upstream, for tables and the threads' records
};

/// A heap for any thread with a plan in front:
///
///     resolve(id) --> [ 0: the plan: one block ]  <-- in its range? --- deallocate(p)
///     allocate(n) --> [ 1: this thread's part  ]  <-- its segment? -----+
///                     [ 2: of other threads    ]  <-- parcels ----------+
///
/// The tiers lie in separate ranges: the plan is one block, and two threads never share a segment. The caller of
/// `deallocate` need not know the tier. At level `fast` the free compares the address with the range of the plan, and
/// the owner of the segment with the calling thread; only huge blocks need the page map. From level `checked` on one
/// look-up finds the owner, which verifies that the block is live.
/// Thread safety: any thread. `advance` is called by one thread while no other resolves, frees or resizes planned
/// buffers; the destructor and `release` as in `heap`.
template <class Plan, thread_safe_resource Upstream>
class tiered_heap {
  using any_thread_heap = heap<Upstream>;
  using planned_type = detail::planned_tier<Plan>;

public:
  static constexpr bool is_thread_safe = true;
  /// Bytes: the alignment of every unplanned block.
  static constexpr std::size_t least_alignment = any_thread_heap::least_alignment;

  /// Effects: takes one block of `upstream` for the plan, which `options.max_bytes` does not count. The heap allocates
  /// nothing before its first block. Throws: `std::bad_alloc`.
  tiered_heap() : tiered_heap(heap_options{}) {}
  explicit tiered_heap(const heap_options& options, Upstream upstream = {})
      : heap_(options, std::move(upstream)), planned_(heap_.upstream_resource()) {}

  /// The same with the plan in given memory. Expects: the memory has the bytes and the alignment of the plan, and
  /// outlives the heap.
  explicit tiered_heap(std::span<std::byte> memory, const heap_options& options = {}, Upstream upstream = {})
      : heap_(options, std::move(upstream)), planned_(memory) {}

  /// Returns: the address of a planned buffer, by its index in the problem: the sum of the base and a table entry.
  /// Expects: as `static_arena::get`, the buffer is live now if the plan has lifetimes; verified from level `checked`
  /// on.
  [[nodiscard]] ASHLAR_INLINE std::byte* resolve(std::size_t position) const noexcept {
    return planned_.resolve(position);
  }

  /// The same for a `constexpr` plan: the table entry is a constant in the code.
  template <std::size_t Position>
  [[nodiscard]] ASHLAR_INLINE std::byte* resolve() const noexcept {
    static_assert(Position < Plan::count(), "resolved a buffer that was not planned");
    return planned_.resolve(Position);
  }

  /// The same, as storage for `T`; nothing is constructed.
  template <class T>
  [[nodiscard]] ASHLAR_INLINE T* resolve(std::size_t position) const noexcept {
    std::byte* const p = resolve(position);
    ASHLAR_EXPECTS(is_aligned(p, alignof(T)), "resolved a buffer as a type with a larger alignment than planned");
    return static_cast<T*>(static_cast<void*>(p));
  }

  /// Effects: sets the clock of the plan, as `static_arena::advance`.
  void advance(std::uint64_t moment) noexcept { planned_.advance(moment); }

  /// @{ As in `heap`: unplanned blocks.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment = least_alignment) {
    return heap_.allocate(bytes, alignment);
  }
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    return heap_.try_allocate(bytes, alignment);
  }
  [[nodiscard]] void* allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) {
    return heap_.allocate_zeroed(bytes, alignment);
  }
  [[nodiscard]] void* try_allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    return heap_.try_allocate_zeroed(bytes, alignment);
  }
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment = least_alignment) {
    return heap_.allocate_at_least(bytes, alignment);
  }
  /// @}

  /// Effects: takes a block of any tier and any thread back; nothing for null. Nothing happens to a planned buffer,
  /// whose lifetime is the plan's. Expects: the block is live.
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    if (ASHLAR_UNLIKELY(planned_.has(p))) return leave_planned(p, 0);
    heap_.deallocate(p);
  }

  /// As `deallocate(p)`. Expects: the block was allocated with this size and alignment, or `bytes` lies between the
  /// request and the result of `allocate_at_least`, or is at most the planned size. `p` is not null.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    if (ASHLAR_UNLIKELY(planned_.has(p))) return leave_planned(p, bytes);
    heap_.deallocate(p, bytes, alignment);
  }

  /// Returns: whether the block at `p` has `new_bytes` bytes now, in place; a planned one never grows. Expects: it was
  /// allocated or planned with `bytes` and `alignment`.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    if (!planned_.has(p)) return heap_.try_expand(p, bytes, new_bytes, alignment);
    leave_planned(p, bytes, planned_type::resizing);
    return new_bytes <= bytes;
  }

  /// Returns: a block of `new_bytes` bytes with the contents of the block of `bytes` bytes at `p`, up to the smaller
  /// size; `p` itself if it can be resized in place. A null `p` is an empty block. A planned buffer that grows moves to
  /// the heap. Throws: `std::bad_alloc`; the block at `p` stays then. The alignment has no default: three arguments
  /// would mean the call of `heap`.
  [[nodiscard]] void* reallocate(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) {
    return block_or_throw(try_reallocate(p, bytes, new_bytes, alignment), new_bytes, alignment);
  }

  /// As `reallocate`, but null when memory has run out.
  [[nodiscard]] void* try_reallocate(void* p, std::size_t bytes, std::size_t new_bytes,
                                     std::size_t alignment) noexcept {
    if (!planned_.has(p)) return heap_.try_reallocate(p, new_bytes, alignment);
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (try_expand(p, bytes, new_bytes, alignment) && is_aligned(p, alignment)) return p;
    void* const moved = heap_.try_allocate(new_bytes, alignment);
    if (moved != nullptr) std::memcpy(moved, p, std::min(bytes, new_bytes));
    return moved;
  }

  /// Returns: whether the address lies in memory of any tier. `p` is not read.
  [[nodiscard]] bool owns(const void* p) const noexcept { return tier_of(p) != heap_tier::none; }

  /// Returns: the tier of the address, as the calling thread sees it. `p` is not read.
  [[nodiscard]] heap_tier tier_of(const void* p) const noexcept {
    if (planned_.has(p)) return heap_tier::planned;
    if (heap_.is_mine(p)) return heap_tier::own;
    return heap_.owns(p) ? heap_tier::shared : heap_tier::none;
  }

  /// Effects: sends the remote frees of the calling thread, so that they count as free. Returns: the contents of each
  /// tier now. Complexity: O(planned buffers, slices and cells outside bitmaps).
  [[nodiscard]] tier_statistics statistics() noexcept {
    heap_.flush();
    tier_statistics sums{.planned = planned_.statistics(),
                         .own = {},
                         .shared = {},
                         .cached_bytes = heap_.cached_bytes(),
                         .table_bytes = heap_.table_bytes()};
    heap_.inspect([&](const heap_region& piece, bool is_mine) { (is_mine ? sums.own : sums.shared).add(piece); });
    return sums;
  }

  /// @{ As in `heap`. The plan and its memory stay.
  void release() noexcept { heap_.release(); }
  std::size_t trim(std::size_t retain_bytes = 0) noexcept { return heap_.trim(retain_bytes); }
  void flush() noexcept { heap_.flush(); }
  /// @}

  /// Returns: the heap of tiers 1 and 2, for `detach`, `adopt` and its other calls.
  [[nodiscard]] any_thread_heap& dynamic() noexcept { return heap_; }
  [[nodiscard]] const any_thread_heap& dynamic() const noexcept { return heap_; }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return heap_.upstream_resource(); }
  /// Returns: bytes that the heap holds from the upstream, without the plan's.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return heap_.held_bytes(); }
  /// Returns: the memory of the plan.
  [[nodiscard]] block planned() const noexcept { return {planned_.base(), Plan::bytes()}; }

  [[nodiscard]] friend bool operator==(const tiered_heap& a, const tiered_heap& b) noexcept { return &a == &b; }

  /// Expects: no thread allocates or frees meanwhile. Complexity: O(slabs and free cells).
  [[nodiscard]] bool invariant() const noexcept { return heap_.invariant() && !heap_.owns(planned_.base()); }

private:
  void leave_planned([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes,
                     [[maybe_unused]] const typename planned_type::use& use = planned_type::freeing) const noexcept {
    if constexpr (checking_level >= checking::checked) planned_.expect_live(p, bytes, this, use);
  }

  any_thread_heap heap_;
  planned_type planned_;  // after the heap, whose upstream provides its memory
};

namespace detail {

struct least_plan {
  std::array<std::uint64_t, 1> offsets, sizes;
  std::uint64_t height, alignment;
};
inline constexpr least_plan one_buffer{{0}, {1}, 1, 1};
using least_tiered_heap = tiered_heap<static_plan<one_buffer>>;
static_assert(try_resource<least_tiered_heap> && owning_resource<least_tiered_heap>);
static_assert(self_describing_resource<least_tiered_heap> && expanding_resource<least_tiered_heap>);
static_assert(releasable_resource<least_tiered_heap> && thread_safe_resource<least_tiered_heap>);

}  // namespace detail

}  // namespace ashlar::ASHLAR_ABI
