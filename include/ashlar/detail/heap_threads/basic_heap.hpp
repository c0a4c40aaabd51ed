// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of a heap for any thread, on thread heaps that a threads policy attaches and finds.
#pragma once

#include <concepts>
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
#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/sharing.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/heap/zero_blocks.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/thread/fork.hpp>

namespace ashlar::ASHLAR_ABI::detail {

// Each heap includes it, with the stores of its engines.
template <resource Upstream, class Threads>
class thread_heap_registry;

/// The members of `heap` and of the heap of the process. Their contracts are at `heap`. `Threads::parts<Owner, T>`
/// attaches and finds the thread heaps, as `per_thread`.
///
///     allocate - take_or           the thread cache, by the thread-local words of `Threads`
///      +- take_after_empty_list         a cached span
///          +- try_take_after_empty_cache    a cell batch, another span
///              +- try_take_slow    any other block of the thread heap; of another one, of the common heap
///     deallocate - put             a block of the thread heap last used
///      +- put_remote               a parcel to the owner of a block
///      +- put_slow                 sampled addresses, and all frees from level `checked` on
template <thread_safe_resource Upstream, class Threads>
class basic_heap : public heap_api<basic_heap<Upstream, Threads>> {
  using members = thread_heap_registry<Upstream, Threads>;
  using thread_heap = typename members::thread_heap;
  using owner = typename members::owner;
  using zero_blocks = zero_blocks_of<Threads>;
  using use = typename members::use;

protected:
  static constexpr bool checks = members::checks;

public:
  static constexpr bool is_thread_safe = true;
  using heap_api<basic_heap>::least_alignment;

  basic_heap(const basic_heap&) = delete;  // live blocks belong to it
  basic_heap& operator=(const basic_heap&) = delete;

  [[nodiscard]] bool owns(const void* p) const noexcept { return (zero_ && zero_->has(p)) || members_.owns(p); }

  [[nodiscard]] bool is_mine(const void* p) const noexcept {
    const thread_heap* const mine = members_.find();
    return mine != nullptr && mine->blocks.owns(p);
  }

  class detached {
  public:
    detached(detached&& from) noexcept : heap_(from.heap_), what_(std::exchange(from.what_, nullptr)) {}
    detached& operator=(detached&& from) noexcept {
      std::swap(what_, from.what_);
      std::swap(heap_, from.heap_);
      return *this;
    }
    ~detached() {
      if (what_ != nullptr) heap_->members_.park(*what_);
    }

  private:
    friend basic_heap;
    detached(basic_heap& of, thread_heap* what) noexcept : heap_(&of), what_(what) {}

    basic_heap* heap_;
    thread_heap* what_;
  };

  [[nodiscard]] detached detach() noexcept { return detached(*this, members_.detach()); }

  void adopt(detached from) noexcept {
    ASHLAR_REQUIRE(from.heap_ == this, "adopted blocks of another heap");
    from.what_ = members_.adopt(from.what_);
  }

  void flush() noexcept { members_.flush(); }

  void release() noexcept { members_.release(); }

  std::size_t trim(std::size_t retain_bytes = 0) noexcept { return members_.trim(retain_bytes); }

  /// @{ The parts are visited one after the other: while threads allocate and free, a sum describes no single moment. A
  /// thread changes its cache without a lock. So at level `fast` cached cells and spans of other threads count as live;
  /// `cached_bytes` estimates them, except up to 64 cells of each class up to 1 KiB. Unsent remote frees of other
  /// threads count as live too, about 256 KiB for each thread. Ended threads have neither. From level `checked` on all
  /// counts are exact. Callbacks run under locks, one part's at a time, and forks wait. They may use pools, and other
  /// heaps that no callback of another thread visits meanwhile to use this one: two such visits would wait for each
  /// other.
  template <class F>
  void for_each_live(F f) {
    const fork_participants::callback_scope calling;
    members_.for_each_part([&](auto& part, heap_part whose) {
      const auto tell = [&](void* p, std::size_t bytes) { f(p, bytes); };
      whose == heap_part::others ? part.for_each_live_remote(tell) : part.for_each_live(tell);
    });
  }

  template <class F>
  ASHLAR_INLINE_FOR_SIZE void inspect(F f) const {
    const fork_participants::callback_scope calling;
    members_.for_each_part([&](auto& part, heap_part whose) {
      const auto say = [&](const heap_region& piece) { tell(f, piece, whose == heap_part::own); };
      if (whose == heap_part::others) return part.inspect_remote(say);
      part.drain_inbox();
      part.inspect(say);
    });
    members_.space().for_each_cached([&](const std::byte* start, std::size_t bytes) {
      tell(f, heap_region::huge_block(start, bytes, false), false);
    });
  }

  [[nodiscard]] std::size_t table_bytes() const noexcept { return members_.space().table_bytes(); }

  [[nodiscard]] std::uint64_t reused_bytes() const noexcept {
    std::uint64_t sum = 0;
    members_.for_each_part([&](const auto& part, heap_part) { sum += part.reused_bytes(); });
    return sum;
  }

  [[nodiscard]] std::size_t cached_bytes() const noexcept {
    std::size_t sum = 0;
    members_.for_each_part(
        [&](const auto& part, heap_part whose) { sum += whose == heap_part::others ? part.cached_bytes() : 0; });
    return sum;
  }
  /// @}

  [[nodiscard]] std::size_t held_bytes() const noexcept { return members_.space().held_bytes(); }
  [[nodiscard]] std::size_t parked() const noexcept { return members_.parked(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return members_.space().upstream(); }
  [[nodiscard]] Upstream& upstream_resource() noexcept { return members_.space().upstream(); }

  [[nodiscard]] friend bool operator==(const basic_heap& a, const basic_heap& b) noexcept { return &a == &b; }

  [[nodiscard]] bool invariant() const noexcept { return members_.invariant(); }

protected:
  /// Effects: changes the options but `max_cached_cells`; heaps of threads that are there keep their limit of frees
  /// that wait to be drained. What is held or retained beyond a limit stays until it is freed. Complexity: O(threads),
  /// a lock for each.
  void set_options(const heap_options& options) noexcept { members_.set_options(options); }
  bool share_idle(bool shares) noexcept { return members_.share_idle(shares); }

  constexpr basic_heap(const heap_options& options, Upstream upstream) : members_(options, std::move(upstream), this) {}
  ~basic_heap() = default;

  /// @{ As `try_allocate` and `deallocate`, on the fast paths; a miss is `otherwise()`, `slow(p)` for what has no fast
  /// path, `remote(p)` for the first block of a parcel. A heap with one object passes functions without the object.
  template <class Otherwise>
  [[nodiscard]] ASHLAR_INLINE void* take_or(std::size_t bytes, std::size_t alignment, Otherwise otherwise) {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (zero_blocks::is_there && ASHLAR_UNLIKELY(bytes == 0)) return otherwise();
    if (ASHLAR_UNLIKELY(with_canary(bytes) > size_classes::largest || alignment > least_alignment)) return otherwise();
    members::enter();
    thread_heap* const mine = members_.last_used_or_empty();
    if (ASHLAR_LIKELY(mine != nullptr)) return mine->blocks.take_or(bytes, after_use(otherwise), members::leave);
    return after_use(otherwise)();
  }
  template <class Otherwise>
  [[nodiscard]] ASHLAR_INLINE void* take_small_or(std::size_t bytes, Otherwise otherwise) {
    if (zero_blocks::is_there && ASHLAR_UNLIKELY(bytes == 0)) return otherwise();
    members::enter();
    thread_heap* const mine = members_.last_used_or_empty();
    if (ASHLAR_LIKELY(mine != nullptr)) return mine->blocks.take_small_or(bytes, after_use(otherwise), members::leave);
    return after_use(otherwise)();
  }
  template <class Slow, class Remote>
  ASHLAR_INLINE void put_or(void* p, Slow slow, Remote remote, std::uintptr_t bits = sampled_bits) noexcept {
    if constexpr (owner::owner_checks_without_lock) return try_put_own(p) ? static_cast<void>(0) : slow(p);
    if (ASHLAR_UNLIKELY(checks || is_sampled(p, bits))) return slow(p);
    members::enter();
    thread_heap* const mine = members::last_used();
    if (ASHLAR_UNLIKELY(!is_of(mine, p))) return put_remote(mine, p, remote);
    mine->blocks.template put<false>(p);
    members::leave();
  }
  /// @}

  /// Returns: the bytes of the cell at `p`, if it is one of the calling thread; 0 for all other blocks, for those at
  /// sampled addresses, and for all from level `checked` on.
  [[nodiscard]] static ASHLAR_INLINE std::size_t own_cell_bytes(void* p) noexcept {
    if (checks || owner::owner_checks_without_lock || is_sampled(p) || !is_of(members::last_used(), p)) return 0;
    const std::size_t size_class = owner::segment::size_class_of(p);
    return size_class != size_classes::none ? size_classes::bytes_of(size_class) : 0;
  }

  /// Returns: whether a resize leaves a cell where it is, where half-used cells are kept.
  [[nodiscard]] static ASHLAR_INLINE bool keeps_cell(std::size_t bytes, std::size_t new_bytes) noexcept {
    return new_bytes <= bytes && (new_bytes >= bytes / 2 || bytes == least_alignment);
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_INLINE_FOR_SPEED void* take(std::size_t bytes,
                                                   std::size_t alignment) noexcept(Failure != or_throw) {
    return take_or(bytes, alignment, [=, this] { return take_after_empty_list<Failure>(bytes, alignment); });
  }

private:
  friend heap_api<basic_heap>;

  template <class F>
  static void tell(F& f, const heap_region& piece, bool is_mine) {
    if constexpr (std::invocable<F&, const heap_region&, bool>) f(piece, is_mine);
    else f(piece);
  }

  [[nodiscard]] ASHLAR_INLINE basic_heap& primitives() noexcept { return *this; }
  [[nodiscard]] ASHLAR_INLINE const basic_heap& primitives() const noexcept { return *this; }

  template <std::size_t Bytes, std::size_t Alignment>
  [[nodiscard]] ASHLAR_INLINE void* take_known() {
    const auto otherwise = [this] { return take_after_empty_list<or_throw>(Bytes, Alignment); };
    members::enter();
    thread_heap* const mine = members_.last_used_or_empty();
    if (ASHLAR_UNLIKELY(mine == nullptr)) return after_use(otherwise)();
    return mine->blocks.template take_known_or<Bytes, Alignment>(after_use(otherwise), members::leave);
  }

  // Out of line, for `try_take_slow` too.
  [[nodiscard]] ASHLAR_COLD fresh_block take_unzeroed(std::size_t bytes, std::size_t alignment) noexcept {
    fresh_block got;
    if (void* const p = take_zero(bytes, alignment)) return {static_cast<std::byte*>(p), false};
    static_cast<void>(members_.allocate_by(bytes, alignment, [&](owner& from, bool is_huge) -> void* {
      got = from.take_unzeroed(bytes, alignment, is_huge);
      return got.data;
    }));
    return got;
  }

  ASHLAR_INLINE_FOR_SPEED void put(void* p) noexcept {
    put_or(p, [this](void* block) { put_slow(block); }, remote_free());
  }

  ASHLAR_INLINE void put(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (owner::owner_checks_without_lock)
      return try_put_own(p, bytes, class_of_request(bytes, alignment)) ? static_cast<void>(0)
                                                                       : put_slow(p, bytes, alignment);
    if (ASHLAR_UNLIKELY(checks || is_sampled(p))) return put_slow(p, bytes, alignment);
    members::enter();
    thread_heap* const mine = members::last_used();
    if (ASHLAR_UNLIKELY(!is_of(mine, p))) return put_remote(mine, p, remote_free());
    mine->blocks.put(p, bytes, alignment);
    members::leave();
  }

  template <std::size_t Bytes, std::size_t Alignment>
  ASHLAR_INLINE void put_known(void* p) noexcept {
    if constexpr (owner::owner_checks_without_lock) return put(p, Bytes, Alignment);
    if (ASHLAR_UNLIKELY(checks || is_sampled(p))) return put_slow(p, Bytes, Alignment);
    members::enter();
    thread_heap* const mine = members::last_used();
    if (ASHLAR_UNLIKELY(!is_of(mine, p))) return put_remote(mine, p, remote_free());
    mine->blocks.template put_known<Bytes, Alignment>(p);
    members::leave();
  }

  [[nodiscard]] bool expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    if (zero_ && zero_->has(p)) return new_bytes == 0;
    return members_.home_of(p).expand(p, bytes, new_bytes, alignment);
  }
  [[nodiscard]] bool resize(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    if (zero_ && zero_->has(p)) return new_bytes == 0;
    if constexpr (Threads::keeps_half_used_cells)
      if (owner::segment::is_in_slab(p)) return keeps_cell(bytes, new_bytes);
    return members_.home_of(p).resize(p, bytes, new_bytes, alignment);
  }
  [[nodiscard]] void* move_pages(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    if (zero_ && zero_->has(p)) return nullptr;
    return members_.home_of(p).move_pages(p, new_bytes, alignment);
  }
  [[nodiscard]] ASHLAR_INLINE_FOR_SPEED std::size_t size_of(const void* p) const noexcept {
    if (zero_ && zero_->has(p)) return zero_->expect(p, using_block, this), 0;
    if constexpr (Threads::keeps_half_used_cells)
      if (void* const block = const_cast<void*>(p); owner::segment::is_in_slab(block))
        return size_classes::bytes_of(owner::segment::size_class_of(block));
    return members_.home_of(const_cast<void*>(p)).size_of(p);
  }

  // Whether the block is of the thread heap last used: its address stands in the head of the segment. Expects: `p` is
  // not a sampled address.
  [[nodiscard]] static ASHLAR_INLINE bool is_of(const thread_heap* mine, void* p) noexcept {
    return owner::segment::heap_of(p) == static_cast<const void*>(mine);
  }

  // Effects: frees a live cell of the calling thread from level `checked` on, perhaps only one of a request: bytes and
  // size class. Returns: whether it was one.
  template <class... Request>
  [[nodiscard]] static ASHLAR_INLINE bool try_put_own(void* p, Request... requested) noexcept {
    members::enter();
    thread_heap* const mine = members::last_used();
    const bool is_put =
        ASHLAR_LIKELY(members::is_of(mine, p)) && ASHLAR_LIKELY(mine->blocks.try_put_own(p, requested...));
    members::leave();
    return is_put;
  }

  // A block of another thread, or a thread whose last used heap was another one, which may end meanwhile: then `mine`
  // is only compared. Inlined: the jumps of a call cost more than the rest.
  template <class Remote>
  ASHLAR_INLINE void put_remote(thread_heap* mine, void* p, Remote remote) noexcept {
    auto* home = owner::segment::of(p);
    ASHLAR_IN_REGISTER(home);  // otherwise `is_of` has an instruction more, to keep the owner for here
    if (ASHLAR_UNLIKELY(!members_.is_last_used() || !members::may_own(home->head.owner, p) ||
                        !mine->freer.try_defer_cell(owner::of(*home->head.owner), p))) {
      members::leave();
      return remote(p);
    }
    members::leave();
  }

  // A miss of a fast path: the slow one looks the thread heap up again, which another thread may take in between.
  template <class Slow>
  [[nodiscard]] static ASHLAR_INLINE auto after_use(Slow slow) noexcept {
    return [slow]() -> void* {
      members::leave();
      return slow();
    };
  }

  [[nodiscard]] ASHLAR_INLINE auto remote_free() noexcept {
    return [this](void* p) { put_remote_slow(p); };
  }

protected:
  // Returns: a block without memory for a request of 0 bytes, or null. The fast paths leave these requests to others.
  [[nodiscard]] ASHLAR_INLINE void* take_zero(std::size_t bytes, std::size_t alignment) noexcept {
    return zero_ && ASHLAR_UNLIKELY(bytes == 0 && alignment <= least_alignment) ? zero_->take() : nullptr;
  }

  // Out of line, since inlined they would make the fast paths save registers. They save none themselves.
  template <failure Failure>
  [[nodiscard]] ASHLAR_NOINLINE void* take_after_empty_list(std::size_t bytes,
                                                            std::size_t alignment) noexcept(Failure != or_throw) {
    if constexpr (owner::sends) {  // at other levels spans are behind the lock
      members::enter();
      void* const p = take_free_span(members_.cached(), bytes, alignment);
      members::leave();
      if (p != nullptr) return p;
    }
    if constexpr (Failure == or_throw) return take_after_empty_cache(bytes, alignment);
    else return try_take_after_empty_cache(bytes, alignment);
  }

  [[nodiscard]] static ASHLAR_INLINE void* take_free_span(thread_heap* mine, std::size_t bytes,
                                                          std::size_t alignment) noexcept {
    return bytes > size_classes::largest && mine != nullptr ? mine->blocks.take_free_span(bytes, alignment) : nullptr;
  }

  [[nodiscard]] ASHLAR_NOINLINE void* try_take_after_empty_cache(std::size_t bytes, std::size_t alignment) noexcept {
    if (void* const p = take_zero(bytes, alignment)) return p;
    const use inside;
    thread_heap* const mine = members_.cached();
    if (ASHLAR_UNLIKELY(mine == nullptr)) return try_take_after_heap_switch(bytes, alignment);
    void* p = nullptr;
    if (ASHLAR_LIKELY(with_canary(bytes) <= size_classes::largest && alignment <= least_alignment))
      p = mine->blocks.take_after_empty_list(bytes);
    else if (owner::sends && bytes > size_classes::largest && is_plain_span(bytes, alignment))
      p = mine->blocks.take_large(bytes, alignment).data;
    return ASHLAR_LIKELY(p != nullptr) ? p : try_take_slow(bytes, alignment);
  }
  [[nodiscard]] ASHLAR_NOINLINE void* take_after_empty_cache(std::size_t bytes, std::size_t alignment) {
    return block_or_throw(try_take_after_empty_cache(bytes, alignment), bytes, alignment);
  }

  // For a thread whose last used heap was another one, or none.
  [[nodiscard]] ASHLAR_NOINLINE void* try_take_after_heap_switch(std::size_t bytes, std::size_t alignment) noexcept {
    if (members_.find() == nullptr) return try_take_slow(bytes, alignment);
    return take_or(bytes, alignment, [=, this] { return try_take_slow(bytes, alignment); });
  }

  // The thread heap tries its cache again: the first try may have stopped at a sampled address, which is counted.
  [[nodiscard]] ASHLAR_NOINLINE void* try_take_slow(std::size_t bytes, std::size_t alignment) noexcept {
    constexpr std::size_t most = size_classes::largest;
    const use inside;
    if (thread_heap* const mine = members_.cached(); mine != nullptr && bytes <= most && alignment <= most)
      if (void* const p = mine->blocks.take_unzeroed(bytes, alignment).data; p != nullptr) return p;
    return take_unzeroed(bytes, alignment).data;
  }

  ASHLAR_NOINLINE void put_remote_slow(void* p) noexcept {
    members_.expect_known(p);
    const use inside;
    if (thread_heap* const mine = members_.cached(); ASHLAR_LIKELY(mine != nullptr))
      return mine->freer.defer_free_cell(owner::of(p), p);
    put_by_owner(p);
  }

  ASHLAR_NOINLINE void put_by_owner(void* p) noexcept {
    members_.deallocate_by(p, [p](owner& home) { home.put(p); });
  }

  ASHLAR_NOINLINE void put_slow(void* p) noexcept {
    const use inside;
    if constexpr (!checks && !zero_blocks::is_there)
      if (!is_aligned(p, window_bytes))
        if (thread_heap* const mine = members::last_used(); is_of(mine, p)) return mine->blocks.put_in_segment(p);
    if (p == nullptr) return;
    if (zero_ && zero_->has(p)) return zero_->give(p, this);
    if constexpr (owner::owner_checks_without_lock)
      if (thread_heap* const mine = members::last_used(); members::is_of(mine, p) && mine->blocks.try_put_larger(p))
        return;
    if constexpr (owner::owner_checks_without_lock)
      return members_.deallocate_checked(p, [p](owner& home, bool is_own) { home.put_checked(p, is_own); });
    put_by_owner(p);
  }

  ASHLAR_NOINLINE void put_slow(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const use inside;
    if (!checks && p != nullptr) return put_slow(p);
    if (zero_ && zero_->has(p)) return zero_->give(p, bytes, this);
    if constexpr (owner::owner_checks_without_lock)
      return members_.deallocate_checked(p, [&](owner& home, bool is_own) {
        home.put_checked(p, is_own, bytes, alignment, class_of_request(bytes, alignment));
      });
    if constexpr (checks)  // the other owner is known under another lock
      if (thread_heap* const mine = members_.cached();
          mine != nullptr && mine->blocks.try_put_cell(p, bytes, alignment))
        return;
    members_.deallocate_by(p, [&](owner& home) { home.put(p, bytes, alignment); });
  }

private:
  members members_;
  ASHLAR_NO_UNIQUE_ADDRESS zero_blocks zero_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
