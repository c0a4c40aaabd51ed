// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap with a bound on every call: small cells lie in pages of cells; these pages and larger blocks come from TLSF.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_pages.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

namespace ashlar::ASHLAR_ABI {

/// A heap of one thread for deadlines: each call takes a bounded number of instructions, regardless of the number of
/// blocks and the history. docs/bounded-heap.md gives the figures. The interface is as in `local_heap`, without `trim`
/// and `inspect`. The constructor takes all memory from the upstream; no later call asks the upstream or the system.
///
///     allocate(n)   n <= 1024:  bit of a page <- spare page <- TLSF <- region      else:  TLSF <- region
///     deallocate(p)             record of the 16 KiB around p -> bit of a page, or TLSF; an empty page -> TLSF
///
/// A small block has no header; a large one has 8 bytes (docs/tlsf.md). Once no page is left, TLSF serves small
/// blocks too. Records take 1.2 % of the region, or 13.7 % at level `hardened`, which keeps the size of each small
/// block.
///
/// This is a type of its own and not a policy of `local_heap`, which owes its mean time to unbounded steps: deferred
/// frees that are swept, segments fetched on demand, purges. The heap does not grow, since growth is a system call.
/// `fallback<bounded_heap<>, local_heap<>>` waits for the system instead of failing.
///
/// Complexity: O(1) at level `fast`; `allocate_zeroed` and a `reallocate` that moves add O(bytes). At higher levels
/// TLSF checks each freed block, still in O(1) for one region. Thread safety: none. Live blocks end with the heap.
template <resource Upstream, class Scale>
class bounded_heap : public detail::heap_api<bounded_heap<Upstream, Scale>> {
  using cells_type = detail::cell_pages;
  using page = cells_type::page_type;

public:
  using detail::heap_api<bounded_heap>::least_alignment;

  /// Effects: takes `bytes` bytes from the upstream; the default upstream makes them resident now. Throws: as the
  /// upstream.
  explicit bounded_heap(std::size_t bytes, Upstream upstream = {})
      : upstream_(std::move(upstream)), memory_{upstream_.allocate(bytes, page::bytes), bytes}, goes_upstream_(true) {
    begin();
  }

  /// Effects: uses `buffer` and never the upstream. Lifetime: the buffer outlives the heap and every block.
  explicit bounded_heap(std::span<std::byte> buffer, Upstream upstream = {}) noexcept
      : upstream_(std::move(upstream)), memory_{buffer.data(), buffer.size()}, goes_upstream_(false) {
    begin();
  }

  bounded_heap(const bounded_heap&) = delete;  // live blocks belong to it
  bounded_heap& operator=(const bounded_heap&) = delete;

  ~bounded_heap() {
    sweep_pages();
    blocks_.release();  // otherwise TLSF reports leaks
    std::destroy_at(&blocks_);
    if (goes_upstream_) upstream_.deallocate(memory_.data, memory_.size, page::bytes);
  }

  /// Returns: whether the address lies in memory of this heap for blocks, live or free. `p` is not read.
  [[nodiscard]] bool owns(const void* p) const noexcept { return blocks_.owns(p); }

  /// Effects: calls `f(p, bytes)` for each live block in order of addresses. `f` may not use the heap. Complexity:
  /// O(blocks, live and free).
  template <class F>
  void for_each_live(F f) const {
    blocks_.for_each_block([&](const block& each, bool is_free) {
      if (is_free) return;
      if (!cells_.has_cells(each.data)) return f(each.data, blocks_.usable_size(each.data));
      const page& home = cells_.of(each.data);
      home.for_each_taken([&](std::byte* cell) { f(static_cast<void*>(cell), size_of_cell(cell)); });
    });
  }

  /// Effects: takes all blocks back; the memory stays. Complexity: O(pages); from level `checked` on O(blocks) more,
  /// at `hardened` O(bytes in pages).
  void release() noexcept {
    sweep_pages();
    blocks_.release();
    cells_.clear();
  }

  [[nodiscard]] std::size_t held_bytes() const noexcept { return memory_.size; }  ///< from the upstream, or the buffer

  /// Returns: the bytes of the largest request that is certain to succeed.
  [[nodiscard]] std::size_t largest_free() const noexcept {
    // On 32 bits the granule of TLSF is smaller: some bytes may be skipped.
    constexpr std::size_t skipped = block_space::slack_for(least_alignment);
    const std::size_t free = blocks_.largest_free();
    return free > skipped ? free - skipped : 0;
  }

  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

  /// Complexity: O(blocks).
  [[nodiscard]] bool invariant() const noexcept { return blocks_.invariant() && cells_.invariant(); }

  [[nodiscard]] friend bool operator==(const bounded_heap& a, const bounded_heap& b) noexcept { return &a == &b; }

private:
  friend detail::heap_api<bounded_heap>;

  using classes = page::classes;
  using block_space = tlsf_resource<null_resource, Scale>;

  static_assert(classes::granule == detail::size_classes::granule);

  [[nodiscard]] ASHLAR_INLINE bounded_heap& primitives() noexcept { return *this; }
  [[nodiscard]] ASHLAR_INLINE const bounded_heap& primitives() const noexcept { return *this; }

  template <failure Failure>
  [[nodiscard]] ASHLAR_INLINE void* take(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    void* const p = try_take(bytes, alignment);
    if constexpr (Failure == or_null) return p;
    else return block_or_throw(p, bytes, alignment);
  }

  template <std::size_t Bytes, std::size_t Alignment>
  [[nodiscard]] void* take_known() {
    return take<or_throw>(Bytes, Alignment);
  }

  [[nodiscard]] std::byte* take_unzeroed(std::size_t bytes, std::size_t alignment) noexcept {
    return static_cast<std::byte*>(try_take(bytes, alignment));
  }

  [[nodiscard]] ASHLAR_INLINE void* try_take(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const std::size_t size_class = cells_type::class_of_request(bytes, alignment);
    if (size_class == classes::none) return take_block(bytes, alignment);
    if constexpr (detail::keeps_canaries)
      if (page* const next = cells_.next_to_format(size_class)) watch(*next)->sweep();
    std::byte* const cell = cells_.take(size_class);
    return ASHLAR_LIKELY(cell != nullptr) ? handed_out(cell, size_class, bytes)
                                          : take_in_new_page(size_class, bytes, alignment);
  }

  ASHLAR_INLINE void put(void* p) noexcept {
    if (ASHLAR_UNLIKELY(p == nullptr)) return;
    check(p);
    give(p);
  }

  // The size is verified from level `checked` on.
  ASHLAR_INLINE void put(void* p, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] std::size_t alignment) noexcept {
    if constexpr (checking_level >= checking::checked) {
      check(p);
      if (!cells_.has_cells(p)) return blocks_.deallocate(p, bytes, aligned_enough(alignment));
      check_size(p, bytes, alignment);
      return give(p);
    }
    put(p);
  }

  template <std::size_t Bytes, std::size_t Alignment>
  void put_known(void* p) noexcept {
    put(p, Bytes, Alignment);
  }

  // A small block is resized within its size class, a large one into a free neighbour.
  [[nodiscard]] bool expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    check(p);
    if (cells_.has_cells(p)) return check_size(p, bytes, alignment), resize_cell(p, new_bytes, alignment);
    return blocks_.try_expand(p, bytes, new_bytes, aligned_enough(alignment));
  }

  [[nodiscard]] bool resize(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    if (cells_.has_cells(p)) return resize_cell(p, new_bytes, alignment);
    return blocks_.try_expand(p, bytes, new_bytes, least_alignment);
  }

  [[nodiscard]] static void* move_pages(void*, std::size_t, std::size_t) noexcept { return nullptr; }

  [[nodiscard]] std::size_t size_of(const void* p) const noexcept {
    check(p);
    return cells_.has_cells(p) ? size_of_cell(p) : blocks_.usable_size(const_cast<void*>(p));
  }

  // Together with the header of the next block this fills a page, so that pages lie side by side.
  static constexpr std::size_t page_room = page::bytes - block_space::bytes_beside;

  [[nodiscard]] static constexpr std::size_t aligned_enough(std::size_t alignment) noexcept {
    return std::max(alignment, least_alignment);
  }

  // The records lie at the start of the region.
  void begin() noexcept {
    const block whole = memory_;
    auto* const from = static_cast<std::byte*>(whole.data);
    const std::size_t pad = (0 - address_of(from)) % alignof(page);
    const std::size_t taken = pad + cells_type::record_bytes(whole);
    const bool has_room = taken < whole.size;
    if (has_room) cells_.begin(from + pad, whole, page_room);
    const std::span<std::byte> rest = has_room ? std::span(from, whole.size).subspan(taken) : std::span<std::byte>();
    std::construct_at(&blocks_, rest);
  }

  [[nodiscard]] ASHLAR_INLINE void* handed_out(std::byte* p, [[maybe_unused]] std::size_t size_class,
                                               [[maybe_unused]] std::size_t bytes) const noexcept {
    if (const auto at = watch(cells_.of(p))) at->hand_out(p, bytes);
    else if constexpr (detail::marks_memory) detail::mark_live(p, classes::bytes_of(size_class));
    return p;
  }

  // Expects: the block at `p` is live.
  ASHLAR_INLINE void give(void* p) noexcept {
    if (!cells_.has_cells(p)) return blocks_.deallocate(p);
    page& home = cells_.of(p);
    if (const auto at = watch(home)) at->poison(p);
    else if constexpr (detail::marks_memory) detail::mark_free(p, home.cell_bytes);
    std::byte* const emptied = cells_.give(home, p);
    if (ASHLAR_LIKELY(emptied == nullptr)) return;
    if constexpr (detail::keeps_canaries) watch(home)->sweep();
    blocks_.deallocate(emptied);
  }

  [[nodiscard]] ASHLAR_NOINLINE void* take_in_new_page(std::size_t size_class, std::size_t bytes,
                                                       std::size_t alignment) noexcept {
    void* const memory = blocks_.try_allocate(page_room, page::bytes);
    if (ASHLAR_UNLIKELY(memory == nullptr)) return take_block(bytes, alignment);
    detail::mark_free(memory, page_room);
    return handed_out(cells_.take_from_new(memory, size_class), size_class, bytes);
  }

  [[nodiscard]] ASHLAR_NOINLINE void* take_block(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = blocks_.try_allocate(bytes, aligned_enough(alignment));
    return ASHLAR_LIKELY(p != nullptr) ? p : take_where_spare_was(bytes, alignment);
  }

  [[nodiscard]] ASHLAR_COLD void* take_where_spare_was(std::size_t bytes, std::size_t alignment) noexcept {
    std::byte* const spare = cells_.drop_spare();
    if (spare == nullptr) return nullptr;
    if constexpr (detail::keeps_canaries) watch(cells_.of(spare))->sweep();
    blocks_.deallocate(spare);
    return blocks_.try_allocate(bytes, aligned_enough(alignment));
  }

  // A cell is resized within its size class only.
  [[nodiscard]] bool resize_cell(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    page& home = cells_.of(p);
    if (cells_type::class_of_request(new_bytes, alignment) != home.size_class) return false;
    if (const auto at = watch(home)) at->resize(p, at->size_of(p), new_bytes);
    return true;
  }

  // Returns: the bytes of a live cell that its caller may use.
  [[nodiscard]] std::size_t size_of_cell(const void* p) const noexcept {
    const auto at = watch(cells_.of(p));
    return at ? at->size_of(p) : cells_.of(p).cell_bytes;
  }

  using watch_type = cells_type::watch_type;
  [[nodiscard]] watch_type watch(page& home) const noexcept { return {home, static_cast<const void*>(this)}; }

  // Effects: reports writes beside live cells and into free ones, before the heap forgets the cells.
  void sweep_pages() const noexcept {
    if constexpr (detail::keeps_canaries) cells_.for_each_page([this](page& home) { watch(home)->sweep(); });
  }

  ASHLAR_INLINE void check([[maybe_unused]] const void* p) const noexcept {
    if constexpr (checking_level >= checking::checked) expect_live(p);
  }

  // Effects: reports an address that is not a live cell; at level `hardened` also a cell with a write beside it. TLSF
  // checks its blocks when they are freed.
  ASHLAR_NOINLINE void expect_live(const void* p) const noexcept {
    if (!owns(p)) report_fault(p, fault::invalid_free, "freed a pointer that is not of this heap");
    if (!cells_.has_cells(p)) return;
    page& home = cells_.of(p);
    if (!home.is_cell(p)) report_fault(p, fault::misaligned_free, "freed a pointer into the middle of a block");
    if (home.is_free(home.index_of(p))) report_fault(p, fault::double_free, "freed a block that is free");
    if (const auto at = watch(home)) at->expect_intact(p);
  }

  void check_size(void* p, std::size_t bytes, std::size_t alignment) const noexcept {
    if constexpr (checking_level < checking::checked) return;
    const std::size_t expected = size_of_cell(p);
    constexpr bool keeps_sizes = watch_type::is_there;
    const bool is_exact = !keeps_sizes || cells_type::kept_size(bytes) == expected;
    if (ASHLAR_LIKELY(is_exact && cells_type::class_of_request(bytes, alignment) == cells_.of(p).size_class)) return;
    report({.kind = fault::size_mismatch,
            .what = keeps_sizes && is_exact ? "freed a block with another alignment than it was allocated with"
                                            : "freed a block with another size than it was allocated with",
            .pointer = p,
            .resource = this,
            .size = keeps_sizes ? expected : 0,
            .expected = keeps_sizes ? expected : 0,
            .got = bytes,
            .block_bytes = keeps_sizes ? 0 : expected,
            .alignment = is_exact ? alignment : 0});
  }

  [[noreturn]] ASHLAR_COLD void report_fault(const void* p, fault kind, const char* what) const noexcept {
    report({.kind = kind, .what = what, .pointer = p, .resource = this});
  }

  // The first member, since its address names the heap in reports. A union, since it ends before its memory does.
  union {
    block_space blocks_;
  };
  cells_type cells_;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
  block memory_;
  bool goes_upstream_;
};

static_assert(try_resource<bounded_heap<>> && owning_resource<bounded_heap<>> && releasable_resource<bounded_heap<>>);
static_assert(self_describing_resource<bounded_heap<>> && expanding_resource<bounded_heap<>>);
static_assert(at_least_resource<bounded_heap<>>);

}  // namespace ashlar::ASHLAR_ABI
