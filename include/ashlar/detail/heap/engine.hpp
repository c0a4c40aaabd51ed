// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine of every growing heap: the fast paths over its thread cache, and the entries to what is behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_faults.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The end of a fast path to which nothing is added.
struct nothing_more {
  ASHLAR_INLINE void operator()() const noexcept {}
};

/// The calls of a heap. Those in `[ ]` begin with the scope of `Sharing::enter`, where a shared heap takes its lock.
///
///     allocate(n) - take - take_cell_or            the top of a free list, no sampled address
///      |                   +- take_sampled         another top, which is counted; of an empty list:
///      |                        +- take_without_lock   parcels that have arrived; the cell batch of a small class
///      |                        +- [ take_cell ]   cell batch <- bitmap <- slab <- segment <- upstream
///      |                        +- [ flush ]       all free cells into their bitmaps, and once more
///      +- take_aligned_or_large - take_free_span   a whole span: of the thread cache; with one thread, of the bins
///      |    +- [ take_large ]                      a span of the bins, a part of one, a new one; a huge block
///     deallocate(p) - put - cache_cell             onto a free list
///      +- put_sampled - put_in_segment - put_span    a span; or onto a free list first:
///           +- [ put_locked ]                      sweep of a long list, purge; huge blocks
///     another thread - parcel_sender - receive     a parcel into the inbox; where much waits [ into the bitmaps ]
///           +- give_now [ give_block ]             a block above cells
///
/// The owner works without the lock on the thread cache, its counts, the batches of cells up to 1 KiB, and on parcels
/// that it has taken; any thread on what is constant while a block lives. `take_free_span` and `put_span` need no stack
/// frame: slow calls are jumps. From level `checked` on whole calls lock a shared heap instead; or, where an address
/// alone leads to the owner of a block, so that it needs no lock:
///
///     free of p --> the segment of p is the caller's: try_put_own     live -> free list, without a lock
///               `-> otherwise: [ put_checked ]                        every check, report
///                     +- of the caller: onto a free list, or into the bitmap
///                     +- of another thread: into the bitmap
///
/// The lock then guards all checks but the checks of a cell that is live for its owner. At level `hardened` a cell also
/// has its size and intact guards, and waits for its bitmap instead of a free list. The owner alone looks at the cells
/// beside a block: it hands them out without the lock. Thread safety: the owner alone, unless stated otherwise.
template <class Stores, class Sharing>
class engine : public segment_owner,
               public heap_api<engine<Stores, Sharing>>,
               public heap_contents_api<engine<Stores, Sharing>> {
public:
  using upstream_type = typename Stores::upstream_type;
  using segment = typename Stores::segment;
  static constexpr bool sends = Sharing::sends, owner_skips_lock = Sharing::owner_skips_lock;
  static constexpr bool owner_checks_without_lock = owner_skips_lock && !sends;

  explicit constexpr engine(const heap_options& options, upstream_type upstream = {})
      : stores_(options, std::move(upstream), this), sharing_(options) {}
  engine(const engine&) = delete;  // live blocks belong to it
  engine& operator=(const engine&) = delete;
  ~engine() {
    const auto in = sharing_.lock_all();  // afterwards no thread is inside
    sharing_.end(stores_);
  }

  /// Returns: the engine of a cell or a span. Expects: it is live, of an engine of this type.
  [[nodiscard]] static ASHLAR_INLINE engine& of(void* p) noexcept { return of(*segment::heap_of(p)); }
  [[nodiscard]] static ASHLAR_INLINE engine& of(segment_owner& owner) noexcept { return static_cast<engine&>(owner); }

  /// @{ Returns: the stores, under the lock until the end of the result; `drained`: with all parcels in the bitmaps.
  /// Thread safety: any thread, for calls that leave the thread cache alone.
  template <class Scope, class Of>
  struct under_lock {
    Scope in;
    Of& stores;
    [[nodiscard]] Of* operator->() const noexcept { return &stores; }
  };
  template <class Scope, class Of>
  under_lock(Scope, Of&) -> under_lock<Scope, Of>;  // clang 16 deduces no arguments of an aggregate by itself
  [[nodiscard]] auto locked() noexcept { return under_lock{sharing_.lock_all(), stores_}; }
  [[nodiscard]] auto locked() const noexcept { return under_lock{sharing_.lock_all(), stores_}; }
  [[nodiscard]] auto drained() noexcept { return under_lock{sharing_.lock_all(), sharing_.drain_inbox(stores_)}; }
  /// @}

  /// @{ The primitives of `heap_api`. Any thread: `size_of`, those that resize, `take_unzeroed` if `is_shared`.
  [[nodiscard]] ASHLAR_INLINE engine& primitives() noexcept { return *this; }
  [[nodiscard]] ASHLAR_INLINE const engine& primitives() const noexcept { return *this; }

  template <failure Failure>
  [[nodiscard]] ASHLAR_INLINE void* take(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    const auto call = sharing_.lock_call();
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (ASHLAR_LIKELY(with_canary(bytes) <= size_classes::largest && alignment <= size_classes::granule))
      return take_cell<Failure>(size_classes::of(with_canary(bytes)), bytes);
    return take_aligned_or_large<Failure>(bytes, alignment);
  }

  template <std::size_t Bytes, std::size_t Alignment>
  [[nodiscard]] ASHLAR_INLINE void* take_known() {
    constexpr std::size_t size_class = class_of_request(Bytes, Alignment);
    const auto call = sharing_.lock_call();
    if constexpr (size_class == size_classes::none) return take_aligned_or_large<or_throw>(Bytes, Alignment);
    else return take_cell<or_throw>(size_class, Bytes);
  }

  [[nodiscard]] fresh_block take_unzeroed(std::size_t bytes, std::size_t alignment, bool is_shared = false) noexcept {
    const auto call = sharing_.lock_call();
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const std::size_t size_class = class_of_request(bytes, alignment);
    if (size_class == size_classes::none) return take_any_large(bytes, alignment, is_shared);
    return {static_cast<std::byte*>(take_cell<or_null>(size_class, bytes)), dead_cells_are_zero<upstream_type>};
  }

  /// Expects: `MaySample`, or `p` is not a sampled address.
  template <bool MaySample = true>
  ASHLAR_INLINE void put(void* p) noexcept {
    const auto call = sharing_.lock_call();
    if (const auto check = stores_.checks()) check->end_life(p);
    if (MaySample && ASHLAR_UNLIKELY(is_sampled(p))) return put_sampled(p);
    cache_cell(p, segment::size_class_of(p));
  }

  ASHLAR_INLINE void put(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    put_of_class(p, bytes, alignment, class_of_request(bytes, alignment));
  }

  template <std::size_t Bytes, std::size_t Alignment>
  ASHLAR_INLINE void put_known(void* p) noexcept {
    constexpr std::size_t size_class = class_of_request(Bytes, Alignment);
    put_of_class(p, Bytes, Alignment, size_class);
  }

  [[nodiscard]] bool expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    const auto call = sharing_.lock_call();
    const std::size_t size_class = class_of_request(bytes, alignment);
    expect_request(p, bytes, alignment, size_class, using_block);
    return resize_from(size_class, p, new_bytes, alignment);
  }

  [[nodiscard]] bool resize(void* p, std::size_t, std::size_t new_bytes, std::size_t alignment) noexcept {
    const auto call = sharing_.lock_call();
    return resize_from(class_of(p), p, new_bytes, alignment);
  }

  [[nodiscard]] void* move_pages(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    const bool stays_huge = is_aligned(p, window_bytes) && class_of_request(new_bytes, alignment) == size_classes::none;
    return stays_huge ? locked()->move_huge(p, new_bytes, alignment) : nullptr;
  }

  [[nodiscard]] std::size_t size_of(const void* p) const noexcept {
    if constexpr (owner_checks_without_lock) return const_cast<engine*>(this)->checked_size_of(p, using_block);
    const auto call = sharing_.lock_call();
    if (const auto check = stores_.checks(using_block)) check->expect(p);
    if (sends && !is_aligned(p, window_bytes)) return stores_.usable_size(p);  // constant while `p` lives
    const auto in = sharing_.lock_cold();
    return stores_.usable_size(p);
  }
  /// @}

  /// @{ Returns: a cached cell, after `done()`, or `otherwise()`, called without a lock. Expects: `bytes` and a canary
  /// fit the largest class.
  template <class Otherwise, class Done = nothing_more>
  [[nodiscard]] ASHLAR_INLINE void* take_or(std::size_t bytes, Otherwise otherwise, Done done = {}) {
    if constexpr (owner_skips_lock) return take_cell_or(size_classes::of(with_canary(bytes)), bytes, otherwise, done);
    void* const p = take<or_null>(bytes, size_classes::granule);
    return p != nullptr ? p : otherwise();
  }
  /// Expects: `bytes <= size_classes::most_small`.
  template <class Otherwise, class Done = nothing_more>
  [[nodiscard]] ASHLAR_INLINE void* take_small_or(std::size_t bytes, Otherwise otherwise, Done done = {}) {
    return sends ? take_cell_or(size_classes::of_small(bytes), bytes, otherwise, done)
                 : take_or(bytes, otherwise, done);
  }
  template <std::size_t Bytes, std::size_t Alignment, class Otherwise, class Done = nothing_more>
  [[nodiscard]] ASHLAR_INLINE void* take_known_or(Otherwise otherwise, Done done = {}) {
    constexpr std::size_t size_class = class_of_request(Bytes, Alignment);
    if constexpr (size_class == size_classes::none) return otherwise();
    if constexpr (owner_skips_lock) return take_cell_or(size_class, Bytes, otherwise, done);
    void* const p = take<or_null>(Bytes, Alignment);
    return p != nullptr ? p : otherwise();
  }
  /// @}

  /// After `take_or`. Returns: the cell at a sampled address, or one from behind an empty list without a lock; or null.
  /// At level hardened: a cell of the next batch.
  [[nodiscard]] ASHLAR_INLINE void* take_after_empty_list(std::size_t bytes) noexcept {
    if constexpr (!owner_skips_lock) return nullptr;
    const std::size_t size_class = size_classes::of(with_canary(bytes));
    void* p = has_no_links ? take_after_empty_cache(size_class) : pop_counted(size_class);
    if (!has_no_links && p == nullptr) p = take_without_lock(size_class);
    return ASHLAR_LIKELY(p != nullptr) ? handed_out(p, size_class, bytes) : nullptr;
  }

  /// As `put`, of a cell or a span. Expects: no block is checked. Thread safety: the owner.
  ASHLAR_NOINLINE void put_in_segment(void* p) noexcept {
    const std::size_t size_class = segment::size_class_of(p);
    if (size_class == size_classes::none) return put_span(p);
    if (!is_sampled(p)) return cache_cell(p, size_class);
    if constexpr (marks_memory) mark_free(p, size_classes::bytes_of(size_class));
    if constexpr (!has_no_links) cache().push(size_class, p);
    put_locked(p, size_class);
  }

  /// Returns: a free span for a block above cells, or null. Where parcels travel, without the lock; otherwise the
  /// call that needs one holds it. Complexity: O(1).
  [[nodiscard]] ASHLAR_INLINE std::byte* take_free_span(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes <= size_classes::largest) return nullptr;
    if constexpr (sends) {
      std::byte* p = stores_.take_cached_span(bytes, alignment);
      if (ASHLAR_UNLIKELY(p == nullptr)) return nullptr;
      p = after_arrivals(p);
      ASHLAR_ASSUME(p != nullptr);
      return p;
    } else if constexpr (!owner_skips_lock && !has_no_links) {
      return stores_.take_binned_span(bytes, alignment);
    }
    return nullptr;
  }

  /// Returns: any span or huge block, or null. Expects: `take_free_span` has found none. `is_shared`: it is a huge
  /// block, whose memory the system gives without the lock; nothing of the owner is touched. Thread safety: then any
  /// thread.
  [[nodiscard]] ASHLAR_COLD fresh_block take_large(std::size_t bytes, std::size_t alignment,
                                                   bool is_shared = false) noexcept {
    if (!is_shared) static_cast<void>(after_arrivals(nullptr));
    const auto in = sharing_.lock_cold();
    fresh_block got = stores_.take_large(with_canary(bytes), alignment);
    if (ASHLAR_UNLIKELY(got.data == nullptr) && !is_shared)
      got = sharing_.drain_inbox(stores_).take_large_retry(with_canary(bytes), alignment);
    if (auto sizes = stores_.sizes(); sizes && got.data != nullptr) sizes->hand_out_large(got.data, bytes);
    return got;
  }

  /// Returns: the calls of the upstream, which are made under the lock unless that is shared with them.
  [[nodiscard]] constexpr unlocked_calls& unlocked() noexcept { return stores_.unlocked(); }

  /// Effects: frees a live cell. Returns: false, without an effect, for all else and for cells at sampled addresses.
  /// Expects: `p` lies in a segment of this engine. Thread safety: the owner.
  [[nodiscard]] ASHLAR_INLINE bool try_put_own(void* p) noexcept {
    return try_put_own(p, any_size, segment::size_class_of(p));
  }
  /// As above, only of the class, and at level `hardened` of the size.
  [[nodiscard]] ASHLAR_INLINE bool try_put_own(void* p, std::size_t bytes, std::size_t size_class) noexcept {
    if (ASHLAR_UNLIKELY(is_sampled(p))) return false;
    if (const auto check = stores_.checks(); ASHLAR_UNLIKELY(!check || !check->ends_own_small(p, bytes, size_class)))
      return false;
    cache_cell(p, size_class);
    return true;
  }
  /// As `try_put_own` of any size, with a call for larger cells at level `hardened`; false at others.
  [[nodiscard]] bool try_put_larger(void* p) noexcept {
    if constexpr (!has_no_links) return false;
    const std::size_t size_class = segment::size_class_of(p);
    if (is_sampled(p) || !stores_.checks()->ends_own_cell(p, any_size, size_class)) return false;
    cache_cell(p, size_class);
    return true;
  }

  /// Effects: frees a block, or reports why it is none; `requested`: bytes, alignment and size class, or nothing.
  /// Expects: `p` is not null; `is_own`: the caller is the owner. Thread safety: any thread.
  template <class... Request>
  ASHLAR_NOINLINE void put_checked(void* p, bool is_own, Request... requested) noexcept {
    const auto in = sharing_.lock_all();
    if (!is_own) return take_remote(p, requested...);
    stores_.checks()->end_life(p, requested...);
    take_own(p);
  }

  /// Returns: the usable bytes of a block. Reports any other address as a wrong `use`. Thread safety: any thread.
  [[nodiscard]] std::size_t checked_size_of(const void* p, const auto& use) noexcept {
    void* const at = const_cast<void*>(p);
    const bool is_mine = !is_aligned(p, window_bytes) && upstream().get().is_of(this, p);
    const std::size_t size_class = is_mine ? segment::size_class_of(at) : size_classes::none;
    if (!has_no_links && size_class != size_classes::none && segment::is_live(at))
      return size_classes::bytes_of(size_class);
    const auto in = sharing_.lock_all();
    stores_.checks_of_block(use)->expect(p);
    return stores_.usable_size(p);
  }

  /// Effects: reports an address that is not a block of that request. Thread safety: any thread, at other levels as the
  /// caller.
  void expect_request(void* p, std::size_t bytes, std::size_t alignment, std::size_t size_class,
                      const auto& use) noexcept {
    if constexpr (owner_checks_without_lock) {
      const auto in = sharing_.lock_all();
      stores_.checks_of_block(use)->expect(p, bytes, alignment, size_class);
    } else if (const auto check = stores_.checks(use)) {
      check->expect(p, bytes, alignment, size_class);
    }
  }

  /// As `put(p, bytes, alignment)` of the engine, but false, without an effect, when the block may be of another heap
  /// or needs the slow path: at levels with a lock in every call. Thread safety: any thread.
  [[nodiscard]] ASHLAR_INLINE bool try_put_cell(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const auto call = sharing_.lock_call();
    const std::size_t size_class = class_of_request(bytes, alignment);
    if (is_sampled(p) || !stores_.checks()->ends_known_cell(p, bytes, size_class)) return false;
    cache_cell(p, size_class);
    return true;
  }

  /// Effects: moves all free cells to their slabs, and joins free slices.
  ASHLAR_COLD void flush_caches() noexcept { drained()->flush_caches(); }
  /// Effects: forgets the thread cache of an owner that a forked child does not have; at levels with a lock in every
  /// call it is whole, and flushed.
  void forget_owner() noexcept {
    if constexpr (owner_skips_lock) cache().clear();
    if constexpr (owner_skips_lock && has_no_links) stores_.freed()->clear();
    flush_caches();
  }

  /// @{ Thread safety: any thread. Where the owner uses its thread cache without the lock, the cached cells stay and
  /// count as live until it leaves. A caller of `trim_remote` holds the lock of no other heap.
  void give_now(void* p) noexcept {
    if constexpr (!owner_skips_lock) return put(p);
    if (p == nullptr) return;
    if constexpr (owner_checks_without_lock) return put_checked(p, false);
    if (is_aligned(p, window_bytes)) return put_locked(p, size_classes::none);
    if (!sharing_.try_enter()) return sharing_.leave(p, stores_.usable_size(p));  // constant while `p` lives
    const auto in = sharing_.adopt_lock();
    stores_.count_arrived(stores_.give_block(p), sharing_.for_others());
  }
  void receive(parcel_carrier<>* top, std::size_t bytes) noexcept { sharing_.receive(stores_, top, bytes); }
  [[nodiscard]] bool has_arrivals() const noexcept { return sharing_.has_arrivals(); }
  [[nodiscard]] std::size_t arrived_bytes() const noexcept { return sharing_.arrived_bytes(); }
  void drain_inbox() noexcept {
    if (has_arrivals()) static_cast<void>(drained());
  }
  template <class F>
  void for_each_live_remote(F f) {
    const auto in = visited();
    in->flush_caches(remotely()), in->for_each_live(f);
  }
  template <class F>
  void inspect_remote(F f) {
    visited()->inspect(f, remotely());
  }
  std::size_t trim_remote(std::size_t retain_bytes = 0) noexcept {
    return visited()->trim(retain_bytes, remotely(), true, [this] { sharing_.pause(); });
  }
  void give_unused_remote() noexcept { visited()->give_unused(remotely()); }
  /// @}

  /// As `trim_remote`, or for one empty segment, unless the heap is in use: for holders of another heap's lock. The
  /// thread cache stays at every level, unless its owner has left.
  std::size_t try_trim_remote() noexcept { return try_give(true); }
  bool try_give_segment() noexcept { return try_give(false) != 0; }
  [[nodiscard]] std::size_t cached_bytes() const noexcept {
    if constexpr (detail::segment::live_cells::is_there) return 0;  // `inspect` counts live cells
    return remotely() == cached::excluded ? stores_.cached_bytes() : 0;
  }
  [[nodiscard]] const upstream_type& upstream() const noexcept { return stores_.upstream(); }
  /// Effects: reports a double free of a cell.
  void report_twice(const void* cell) const noexcept { stores_.report_twice(cell); }

  /// Returns: the hook for slow calls, the lock for forks, and the mark of an owner that has left.
  [[nodiscard]] constexpr Sharing& sharing() noexcept { return sharing_; }
  void set_number(std::uint32_t number) noexcept { stores_.set_number(number); }
  void set_waits_to_grow(bool waits) noexcept { stores_.set_waits_to_grow(waits); }
  [[nodiscard]] bool waits_to_grow() const noexcept { return stores_.waits_to_grow(); }
  /// Returns: free bytes, as the owner knows them; 0 if the heap is in use. Thread safety: any thread.
  [[nodiscard]] std::size_t try_free_bytes() noexcept {
    const bool is_entered = sharing_.try_enter();
    if (!is_entered) return 0;
    const auto in = sharing_.adopt_lock();
    return stores_.free_bytes() + stores_.cached_bytes() + sharing_.arrived_bytes();
  }

private:
  static constexpr bool has_no_links = !thread_cache::has_links;
  static constexpr std::size_t any_size = max_size;

  [[nodiscard]] ASHLAR_INLINE auto& cache() noexcept { return stores_.cache(); }
  // Without the register each instruction holds the address of a global heap, which costs 1.5 ns a pair.
  [[nodiscard]] ASHLAR_INLINE auto* cache_in_register() noexcept {
    auto* lists = &cache();
    ASHLAR_IN_REGISTER(lists);
    return lists;
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_INLINE void* take_cell(std::size_t size_class, std::size_t bytes) noexcept(Failure == or_null) {
    return take_cell_or(
        size_class, bytes, [=, this] { return take_sampled<Failure>(size_class, bytes); }, nothing_more());
  }

  template <class Otherwise, class Done>
  [[nodiscard]] ASHLAR_INLINE void* take_cell_or(std::size_t size_class, std::size_t bytes, Otherwise otherwise,
                                                 Done done) {
    if constexpr (has_no_links) return take_unlinked(size_class, bytes, otherwise, done);
    auto* const lists = cache_in_register();
    void* const p = lists->top_of(size_class);
    if (ASHLAR_UNLIKELY(is_sampled(p))) return otherwise();
    stores_.expect_link(p, size_class);
    lists->pop_top(size_class, p);
    void* const block = handed_out(p, size_class, bytes);
    done();  // after the mark of a life, which the owner alone writes
    return block;
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_COLD void* take_sampled(std::size_t size_class, std::size_t bytes) noexcept(Failure == or_null) {
    void* const top = pop_counted(size_class);
    void* const p = top != nullptr ? top : take_after_empty_cache(size_class);
    return p != nullptr ? handed_out(p, size_class, bytes) : failed<Failure>(bytes, size_classes::granule);
  }

  // Returns: the top of a list behind the fast path, removed, or null.
  [[nodiscard]] ASHLAR_INLINE void* pop_counted(std::size_t size_class) noexcept {
    void* const p = cache().top_of(size_class);
    if (p == nullptr) return nullptr;
    stores_.expect_link(p, size_class);
    cache().pop_top(size_class, p);
    if (is_sampled(p)) cache().count_taken(size_class);
    return p;
  }

  [[nodiscard]] ASHLAR_NOINLINE void* take_after_empty_cache(std::size_t size_class) noexcept {
    if constexpr (owner_skips_lock)
      if (void* const cell = take_without_lock(size_class)) return cell;
    sharing_.count_slow();
    const auto in = sharing_.lock_cold();
    void* cell = stores_.take_cell(size_class);
    if (ASHLAR_UNLIKELY(cell == nullptr)) {
      sharing_.drain_inbox(stores_).flush_caches();
      cell = stores_.take_cell(size_class);
    }
    if constexpr (owner_skips_lock && !has_no_links) stores_.fetch_ahead(size_class);
    return cell;
  }

  [[nodiscard]] ASHLAR_NOINLINE void* take_without_lock(std::size_t size_class) noexcept {
    if (ASHLAR_UNLIKELY(sharing_.has_arrivals()) && cache().is_empty(size_class))
      if (void* const cell = sharing_.take_arrived(stores_, size_class)) return cell;
    return stores_.take_cell_unlocked(size_class);
  }

  [[nodiscard]] auto visited() noexcept { return sharing_.let_owner_in(), drained(); }  // by other threads, for long
  // Expects: the lock is held, as by an object of the call to which it is an argument; else it is a hint.
  [[nodiscard]] cached remotely() const noexcept { return owner_skips_lock ? sharing_.for_others() : cached::included; }

  // Returns: the size class of a live block, or none, by the segments of the stores, which models replace.
  [[nodiscard]] static std::size_t class_of(void* p) noexcept {
    return is_aligned(p, window_bytes) ? size_classes::none : segment::size_class_of(p);
  }

  // Over-aligned or large.
  template <failure Failure>
  [[nodiscard]] ASHLAR_NOINLINE void* take_aligned_or_large(std::size_t bytes,
                                                            std::size_t alignment) noexcept(Failure == or_null) {
    void* const p = take_free_span(bytes, alignment);
    return ASHLAR_LIKELY(p != nullptr) ? p : take_without_free_span<Failure>(bytes, alignment);
  }
  template <failure Failure>
  [[nodiscard]] ASHLAR_NOINLINE void* take_without_free_span(std::size_t bytes,
                                                             std::size_t alignment) noexcept(Failure == or_null) {
    if (bytes <= size_classes::largest)
      if (const std::size_t size_class = class_of_request(bytes, alignment); size_class != size_classes::none)
        return take_cell<Failure>(size_class, bytes);
    void* const p = take_large(bytes, alignment).data;
    return ASHLAR_LIKELY(p != nullptr) ? p : failed<Failure>(bytes, alignment);
  }

  ASHLAR_INLINE void* handed_out(void* p, std::size_t size_class, [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (marks_memory) mark_live(p, size_classes::bytes_of(size_class));
    if (auto sizes = stores_.sizes()) sizes->hand_out_cell(p, bytes);
    if (const auto check = stores_.checks()) check->begin_life(p);
    return p;
  }

  ASHLAR_INLINE void put_of_class(void* p, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] std::size_t alignment,
                                  std::size_t size_class) noexcept {
    const auto call = sharing_.lock_call();
    if (const auto check = stores_.checks()) check->end_life(p, bytes, alignment, size_class);
    if (ASHLAR_UNLIKELY(is_sampled(p))) return put_sampled(p);
    cache_cell(p, size_class);
  }

  ASHLAR_INLINE void cache_cell(void* p, std::size_t size_class) noexcept {
    if constexpr (marks_memory) mark_free(p, size_classes::bytes_of(size_class));
    if constexpr (has_no_links) give_unlinked(p, size_class);
    else cache_in_register()->push(size_class, p);
  }

  // A cell at a sampled address, null, a span or a huge block.
  ASHLAR_NOINLINE void put_sampled(void* p) noexcept {
    if (!is_aligned(p, window_bytes)) return put_in_segment(p);
    if (p != nullptr) put_locked(p, size_classes::none);
  }

  [[nodiscard]] bool resize_from(std::size_t size_class, void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t wanted = class_of_request(bytes, alignment);
    if (owner_skips_lock && !has_no_links && size_class != size_classes::none) return size_class == wanted;
    const auto in = sharing_.lock_cold();
    return stores_.resize(p, size_class, wanted, bytes);
  }

  [[nodiscard]] fresh_block take_any_large(std::size_t bytes, std::size_t alignment, bool is_shared) noexcept {
    std::byte* const p = take_free_span(bytes, alignment);
    return p != nullptr ? fresh_block{p, false} : take_large(bytes, alignment, is_shared);
  }

  ASHLAR_INLINE void put_span(void* p) noexcept {
    if constexpr (sends) {
      if (ASHLAR_LIKELY(stores_.cache_span(p))) return;
    } else if constexpr (!owner_skips_lock) {
      if (ASHLAR_LIKELY(stores_.bin_span(p))) return;
    }
    put_locked(p, size_classes::none);
  }

  // Effects: takes back a span or a huge block; counts a cell at a sampled address, which is in its free list.
  ASHLAR_COLD void put_locked(void* p, std::size_t size_class) noexcept {
    if (size_class != size_classes::none) sharing_.count_slow();
    const auto in = sharing_.lock_cold();
    if (size_class == size_classes::none) is_aligned(p, window_bytes) ? stores_.give_huge(p) : stores_.give_span(p);
    else has_no_links ? stores_.give_sampled(p, size_class) : stores_.count_freed(size_class);
  }

  // Returns: `p`, after the call is counted and waiting parcels are unpacked, so that their memory serves the next
  // requests.
  [[nodiscard]] ASHLAR_INLINE std::byte* after_arrivals(std::byte* p) noexcept {
    if constexpr (!sends) return p;
    else return ASHLAR_UNLIKELY(sharing_.has_arrivals()) ? unpacked(p) : sharing_.count_slow(p);
  }
  [[nodiscard]] ASHLAR_COLD std::byte* unpacked(std::byte* p) noexcept {
    static_cast<void>(sharing_.take_arrived(stores_, size_classes::none));  // no cell has this class
    return p;
  }

  // At level `hardened`, where free cells have no links: a cell of the batch, or `otherwise()`; the free of a dead
  // cell. Where the owner frees without the lock, both are without it until the batch is empty, or too many wait.
  template <class Otherwise, class Done>
  [[nodiscard]] ASHLAR_INLINE void* take_unlinked(std::size_t size_class, std::size_t bytes, Otherwise otherwise,
                                                  Done done) {
    if (owner_skips_lock && ASHLAR_UNLIKELY(size_class >= stores_.first_common_batch)) return otherwise();
    void* const cell = stores_.hand_out_of_batch(size_class, bytes);
    if (ASHLAR_UNLIKELY(cell == nullptr)) return otherwise();
    stores_.checks()->begin_life(cell);
    done();
    return cell;
  }
  ASHLAR_INLINE void give_unlinked(void* cell, std::size_t size_class) noexcept {
    if (owner_skips_lock && ASHLAR_LIKELY(stores_.freed()->try_add(size_class, cell))) return;
    give_with_waiting(cell, size_class);
  }

  ASHLAR_NOINLINE void give_with_waiting(void* cell, std::size_t size_class) noexcept {
    const auto in = sharing_.lock_cold();
    stores_.give_freed(size_class);
    stores_.give_cell(cell);
  }

  // Under the lock.
  template <class... Request>
  void take_remote(void* p, Request... requested) noexcept {
    stores_.checks_of_block()->end_life_by_other(p, requested...);
    if (is_aligned(p, window_bytes)) return stores_.give_huge(p);
    stores_.count_arrived(stores_.give_block(p), sharing_.for_others());
  }

  void take_own(void* p) noexcept {  // the same
    const std::size_t size_class = segment::size_class_of(p);
    if (size_class == size_classes::none) return stores_.give_span(p);
    if constexpr (marks_memory) mark_free(p, size_classes::bytes_of(size_class));
    if constexpr (has_no_links) return is_sampled(p) ? stores_.give_sampled(p, size_class) : stores_.give_cell(p);
    stores_.cache().push(size_class, p);
    if (is_sampled(p)) stores_.count_freed(size_class);
  }

  // Returns: bytes of all free memory, or 1 for a segment; 0 if another thread holds the lock.
  ASHLAR_COLD std::size_t try_give(bool is_everything) noexcept {
    if (!sharing_.try_enter()) return 0;
    const auto in = sharing_.adopt_lock();
    sharing_.drain_inbox(stores_);
    return is_everything ? stores_.trim(0, sharing_.for_others(), false) : stores_.give_segment(sharing_.for_others());
  }

  Stores stores_;
  ASHLAR_NO_UNIQUE_ADDRESS mutable Sharing sharing_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
