// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The thread heaps of a heap, its common heap, and the slow paths over them.
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_faults.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap_threads/shared_extent_map.hpp>
#include <ashlar/detail/heap_threads/thread_heaps.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/per_thread.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The threads policy of a `heap`: a program may have several, and each ends before the program does.
struct threads_of_any_heap {
  template <class Owner, class T>
  using parts = per_thread<Owner, T, look_up::last_used>;
  static constexpr bool keeps_half_used_cells = false;  // a sized free expects the class of the new size
};

/// Behind the API of `heap`: the extent map, the common heap, and the thread heap of each thread.
///
///     thread --Threads::parts--> thread_heap --> extent map
///     thread without one, huge blocks --> common heap --> extent map
///
/// Thread safety: any thread, unless stated otherwise.
template <resource Upstream, class Threads = threads_of_any_heap>
class thread_heap_registry {
public:
  using source = extent_resource<Upstream>;
  using thread_heap = detail::thread_heap<source>;
  using owner = owner_engine<source>;
  using threads = typename Threads::template parts<thread_heap_registry, thread_heap>;
  /// A scope in which no other thread takes the calling thread's heap.
  using use = typename threads::use;
  /// Whether the freeing call reports misuse; then it frees the block itself, under the owner's lock.
  static constexpr bool checks = !frees_travel;

  /// `heap`: named in reports. A constant-initialised one enters the registry of heaps by `enter_registry`.
  constexpr thread_heap_registry(const heap_options& options, Upstream upstream, void* heap)
      : space_(options.max_bytes, std::move(upstream), options.retain_bytes, heap),
        common_(of_each(options), source(space_)), heaps_(of_each(options), source(space_)) {
    common_.unlocked().share(common_.sharing().lock());
    space_.before_growth(&heaps_, [](void* of) noexcept { static_cast<thread_heaps<source>*>(of)->scavenge(); });
  }
  thread_heap_registry(const thread_heap_registry&) = delete;
  thread_heap_registry& operator=(const thread_heap_registry&) = delete;
  /// Expects: no other thread uses them; those that did may be ending. No token of a detached heap is left.
  ~thread_heap_registry() {
    ASHLAR_EXPECTS(!heaps_.are_in_transit(), "a heap ended before a token of its blocks");
    threads_.end();
  }

  /// Effects: enters the registry of heaps, once.
  void enter_registry() noexcept { space_.enter_registry(); }

  /// Effects: changes limits. What is held or retained beyond them stays until it is freed. Complexity: O(threads).
  void set_options(const heap_options& options) noexcept {
    space_.set_limits(options.max_bytes, options.retain_bytes);
    heaps_.set_options(of_each(options));
    with_common([&] { common_.drained()->set_retention(options.retain_bytes, options.decay_ms); });
  }

  /// Effects: threads take the heaps of idle ones from now on, or no longer. Returns: whether they do: never without a
  /// barrier of the process, nor where an owner uses its cache under a lock.
  bool share_idle(bool shares) noexcept {
    threads_.expect_forks();
    const bool may_share = shares && threads::expect_moves();
    heaps_.share_idle(may_share);
    return may_share;
  }

  /// @{ The calling thread's heap; segments of its blocks name the same address. See `per_thread`.
  [[nodiscard]] ASHLAR_INLINE thread_heap* cached() const noexcept { return threads_.cached(); }
  /// As `cached`; of a thread without a heap perhaps one with empty free lists that nothing but `take_or` may use.
  [[nodiscard]] ASHLAR_INLINE thread_heap* last_used_or_empty() const noexcept {
    if constexpr (owner::owner_skips_lock && threads::has_empty_part) return threads::last_used();
    else return threads_.cached();
  }
  [[nodiscard]] static ASHLAR_INLINE thread_heap* last_used() noexcept { return threads::last_used(); }
  static ASHLAR_INLINE void enter() noexcept { threads::enter(); }
  static ASHLAR_INLINE void leave() noexcept { threads::leave(); }
  [[nodiscard]] ASHLAR_INLINE bool is_last_used() const noexcept { return threads_.is_last_used(); }
  [[nodiscard]] thread_heap* find() const noexcept { return threads_.find(); }
  [[nodiscard]] thread_heap* find_or_attach() noexcept {
    thread_heap* const mine = threads_.find_or_attach();
    if constexpr (threads::parts_move)
      if (mine != nullptr && heaps_.may_share()) threads_.let_move();
    return mine;
  }
  /// @}

  /// Effects: detaches the heap of the calling thread and sends its remote frees. Returns: the heap, or null.
  [[nodiscard]] thread_heap* detach() noexcept {
    const use inside;
    thread_heap* const mine = threads_.attach(nullptr);
    if (mine == nullptr) return nullptr;
    mine->freer.flush();
    heaps_.set_in_transit(*mine, true);
    return mine;
  }

  /// Effects: attaches the heap to the calling thread. Returns: its former heap, or null; `adopted` itself if the
  /// thread cannot have one.
  [[nodiscard]] thread_heap* adopt(thread_heap* adopted) noexcept {
    if (adopted == nullptr) return nullptr;
    const use inside;
    heaps_.set_in_transit(*adopted, false);
    return threads_.attach(adopted);
  }

  /// Effects: leaves a detached heap to the next thread without one.
  void park(thread_heap& left) noexcept { heaps_.park(left); }

  /// Effects: sends the remote frees of the calling thread.
  void flush() noexcept {
    const use inside;
    if (thread_heap* const mine = find(); mine != nullptr) mine->freer.flush();
  }

  /// Returns: the result of `allocate(from, is_huge)`, a block or null, for the heap of the request; huge blocks are of
  /// the common heap, which others may be using. Before it returns null, it gives empty segments of all heaps back and
  /// tries the parked heaps.
  template <class Allocate>
  [[nodiscard]] ASHLAR_COLD void* allocate_by(std::size_t bytes, std::size_t alignment, Allocate allocate) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const use inside;
    const bool huge = is_huge(bytes, alignment);
    if (void* const p = allocate_somewhere(huge, allocate); p != nullptr) return p;
    if (!is_valid_request(bytes, alignment)) return nullptr;
    if constexpr (threads::parts_move)
      if (void* const p = huge ? nullptr : allocate_of_others(allocate); p != nullptr) return p;
    const growth_scope grows(*this, huge);
    if (grows)
      if (void* const p = allocate_somewhere(false, allocate); p != nullptr) return p;
    give_unused();
    if (void* const p = allocate_somewhere(huge, allocate); p != nullptr || huge) return p;
    if (void* const p = allocate_parked(allocate); p != nullptr) return p;
    return allocate_common(allocate);
  }

  /// Calls `free(home)` on the owner's thread, or on any thread at levels with a lock in every call. Otherwise the
  /// block is a remote free. Expects: `p` is not null.
  template <class Free>
  void deallocate_by(void* p, Free free) noexcept {
    if (!checks) expect_known(p);
    const use inside;
    owner& home = home_of(p);
    if (checks) return free(home);
    thread_heap* const mine =
        owner::segment::is_in_slab(p) ? find_or_attach() : find();  // without a note no heap is needed
    if (mine != nullptr && &home == &mine->blocks) return free(home);
    mine != nullptr ? mine->freer.defer_free(home, p) : home.give_now(p);
  }

  /// Calls `free(home, is_own)` for the owner of a block that is known to be none of a fast path. Expects: level
  /// `checked`, the owner needs no lock.
  template <class Free>
  void deallocate_checked(void* p, Free free) noexcept {
    owner& home = home_of(p);
    thread_heap* const mine = find();
    free(home, mine != nullptr && &home == &mine->blocks);
  }

  /// Returns: whether `owner`, which a segment at `p` would name, may own the address: false if there is none, but also
  /// for segments outside of the range. Right where an address alone leads to the owner, otherwise true.
  [[nodiscard]] static ASHLAR_INLINE bool may_own(const segment_owner* owner, const void* p) noexcept {
    if constexpr (finds_owners<source>) return shared_extent_map<Upstream>::is_of(owner, p);
    return true;
  }
  /// Effects: reports an address that no heap has, where an address alone leads to the owner. Slow for huge blocks.
  void expect_known(void* p) const noexcept {
    if constexpr (finds_owners<source>)
      if (is_aligned(p, window_bytes) ? !space_.has(p) : space_.owner_of(p) == nullptr) report_foreign(p);
  }

  /// Returns: whether the block is of a segment of `mine`; false is a hint only. Expects: as `deallocate_checked`.
  [[nodiscard]] static ASHLAR_INLINE bool is_of(const thread_heap* mine, const void* p) noexcept {
    if constexpr (finds_owners<source>) return mine != nullptr && shared_extent_map<Upstream>::is_of(&mine->blocks, p);
    return false;
  }

  /// Returns: the owner of a block; the common heap for huge blocks. From level `checked` on `p` may be any address;
  /// the common heap reports foreign ones.
  [[nodiscard]] owner& home_of(void* p) const noexcept {
    if (is_aligned(p, window_bytes)) return common();
    if constexpr (!checks) return owner::of(p);
    segment_owner* const found = space_.owner_of(p);
    if constexpr (finds_owners<source>)  // perhaps the owner in another heap
      if (found != nullptr && &owner::of(*found).upstream().get() != &space_) return common();
    return found != nullptr ? owner::of(*found) : common();
  }

  [[nodiscard]] bool owns(const void* p) const noexcept {
    if (!space_.has(p)) return false;
    if (common_.owns(p)) return true;
    bool found = false;
    heaps_.for_each([&](const thread_heap& each) { found = found || each.blocks.owns(p); });
    return found;
  }

  /// Effects: calls `f(engine, heap_part)` for each thread heap, then for the common heap, after sending the
  /// calling thread's remote frees.
  void for_each_part(function_ref<owner&, heap_part> f) const {
    const use inside;
    thread_heap* const mine = find();
    if (mine != nullptr) mine->freer.flush();
    heaps_.for_each([&](thread_heap& each) { f(each.blocks, &each == mine ? heap_part::own : heap_part::others); });
    with_common([&] { f(common(), heap_part::common); });
  }

  /// Expects: no other thread uses the heap; those that did may be ending.
  void release() noexcept {
    const auto release_all = [this] {
      heaps_.for_each([](thread_heap& each) { each.freer.forget(); });  // no parcel may name a released heap
      heaps_.for_each([](thread_heap& each) { each.blocks.release(); });
      common_.release();
      space_.trim();
    };
    threads_.for_each([](thread_heap&) {}, release_all);
  }

  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    const use inside;
    flush();
    if constexpr (threads::parts_move) heaps_.ask_all(threads_);
    const std::size_t held = space_.held_bytes();
    std::size_t given = 0;
    thread_heap* const mine = find();
    if (mine != nullptr) given += mine->blocks.trim(retain_bytes);
    with_common([&] { given += common_.trim(); });
    if constexpr (threads::parts_move) heaps_.park_all_idle(threads_);
    heaps_.for_each([&](thread_heap& each) { given += each.blocks.trim_remote(&each == mine ? retain_bytes : 0); });
    heaps_.forget_free_bytes();
    space_.trim();
    return detail::max(given, held - detail::min(held, space_.held_bytes()));
  }

  [[nodiscard]] shared_extent_map<Upstream>& space() noexcept { return space_; }
  [[nodiscard]] const shared_extent_map<Upstream>& space() const noexcept { return space_; }
  [[nodiscard]] std::size_t parked() const noexcept { return heaps_.parked(); }

  /// Expects: no thread allocates or frees meanwhile.
  [[nodiscard]] bool invariant() const noexcept {
    bool good = space_.invariant() && common_.invariant();
    heaps_.for_each([&](const thread_heap& each) { good = good && each.blocks.invariant() && each.freer.invariant(); });
    return good;
  }

private:
  friend threads;

  // The limit is the shared extent map's.
  [[nodiscard]] static constexpr heap_options of_each(heap_options options) noexcept {
    options.max_bytes = max_size;
    return options;
  }

  [[nodiscard]] thread_heap* begin_thread() noexcept {
    if constexpr (threads::parts_move)
      for (unsigned turn = 0; heaps_.may_share() && turn != heaps_.tries(); ++turn) {  // another may adopt it first
        if (thread_heap* const parked = heaps_.adopt_with(0); parked != nullptr) return parked;
        heaps_.park_idle(threads_, 0, heaps_.least_rest());
        if (turn > 1) yield_or_sleep(turn);
      }
    return heaps_.adopt();
  }
  void end_thread(thread_heap& left) noexcept { heaps_.park(left); }

  template <class F>
  ASHLAR_INLINE void with_common(F f) const {
    threads_.expect_forks();
    const report_scope<spin_lock> held(common_lock_);  // a cell that comes back twice is found at every level
    f();
  }

  [[nodiscard]] owner& common() const noexcept { return const_cast<owner&>(common_); }

  [[nodiscard]] static bool is_huge(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t step = detail::max<std::size_t>(1, alignment / slice_bytes);
    return bytes > segment_bytes ||
           first_slice_at(step) + slices_of(with_guard<Upstream>(with_canary(bytes))) > slices_per_segment;
  }

  // Before a refusal. Free pages in segments stay: no limit counts them, and in programs at their limit they would
  // fault in again at once.
  void give_unused() noexcept {
    flush();
    if (thread_heap* const mine = find(); mine != nullptr) mine->blocks.flush_caches();
    with_common([&] { common_.give_unused_remote(); });
    heaps_.for_each([](thread_heap& each) { each.blocks.give_unused_remote(); });
  }

  template <class Allocate>
  [[nodiscard]] ASHLAR_COLD void* allocate_somewhere(bool is_huge, Allocate allocate) noexcept {
    if (is_huge) return threads_.expect_forks(), allocate(common_, true);
    thread_heap* const mine = find_or_attach();
    return mine != nullptr ? allocate(mine->blocks, false) : allocate_common(allocate);
  }

  template <class Allocate>
  [[nodiscard]] ASHLAR_COLD void* allocate_common(Allocate allocate) noexcept {
    void* p = nullptr;
    with_common([&] { p = allocate(common_, false); });
    return p;
  }

  // Where there are many heaps, one grows only if neither a parked heap nor the heap of an idle thread has room. The
  // first with room becomes the calling thread's, whose own heap is parked.
  template <class Allocate>
  [[nodiscard]] ASHLAR_COLD void* allocate_of_others(Allocate allocate) noexcept {
    if (thread_heap* const mine = find(); mine == nullptr || !mine->blocks.waits_to_grow()) return nullptr;
    for (unsigned left = 3; left != 0; --left) {
      thread_heap* next = heaps_.adopt_with(least_room);
      if (next == nullptr) {
        heaps_.park_idle(threads_, least_room, heaps_.rest_us);
        next = heaps_.adopt_with(least_room);
      }
      if (next == nullptr) return nullptr;
      if (void* const p = allocate_in(*next, allocate); p != nullptr) return threads_.let_move(), p;
    }
    return nullptr;
  }

  // Effects: allocates in a heap that was parked: with room it becomes the calling thread's, whose own heap is parked.
  template <class Allocate>
  [[nodiscard]] void* allocate_in(thread_heap& next, Allocate allocate) noexcept {
    void* const p = allocate(next.blocks, false);
    thread_heap* const idle = p != nullptr ? threads_.attach(&next) : &next;
    if (idle != nullptr) heaps_.park(*idle, p != nullptr);
    return p;
  }

  // The calling thread's heap grows meanwhile, though it would wait for others.
  class growth_scope {
  public:
    growth_scope(thread_heap_registry& of, bool is_huge) noexcept : of_(of), heap_(is_huge ? nullptr : of.find()) {
      if (heap_ != nullptr && !heap_->blocks.waits_to_grow()) heap_ = nullptr;
      if (heap_ != nullptr) heap_->blocks.set_waits_to_grow(false);
    }
    growth_scope(const growth_scope&) = delete;
    growth_scope& operator=(const growth_scope&) = delete;
    ~growth_scope() {
      if (heap_ != nullptr) heap_->blocks.set_waits_to_grow(of_.heaps_.may_share());
    }
    [[nodiscard]] explicit operator bool() const noexcept { return heap_ != nullptr; }

  private:
    thread_heap_registry& of_;
    thread_heap* heap_;
  };
  static constexpr std::size_t least_room = std::size_t{256} * 1024;

  // Tries each parked heap once. The first with room becomes the calling thread's, whose own heap is parked.
  template <class Allocate>
  [[nodiscard]] ASHLAR_COLD void* allocate_parked(Allocate allocate) noexcept {
    for (std::size_t left = heaps_.parked(); left != 0; --left) {
      thread_heap* const next = heaps_.adopt_oldest();
      if (next == nullptr) return nullptr;
      if (void* const p = allocate_in(*next, allocate); p != nullptr) return p;
    }
    return nullptr;
  }

  [[noreturn]] ASHLAR_COLD void report_foreign(const void* p) const noexcept {
    report(
        {.kind = fault::invalid_free, .what = freeing_block.foreign, .pointer = p, .resource = space_.reported_heap()});
  }

  ASHLAR_INLINE_FOR_SIZE void before_fork(fork_step step) noexcept {
    heaps_.before_fork(step);
    if (step == fork_step::outer_locks) common_lock_.lock();
    else if (step == fork_step::inner_locks) common_.unlocked().begin_fork();
    else if (step == fork_step::shared_locks) space_.before_fork();
  }

  void after_fork_in_parent() noexcept {
    space_.after_fork();
    common_.unlocked().end_fork();
    heaps_.after_fork_in_parent();
    common_lock_.unlock();
  }

  void after_fork_in_child(const thread_heap* mine) noexcept {
    space_.after_fork();
    common_.unlocked().end_fork();
    if constexpr (threads::parts_move) heaps_.for_each([](thread_heap& each) { threads::forget(each); });
    heaps_.after_fork_in_child(mine);
    common_lock_.unlock();
  }

  mutable threads threads_{*this};  // first: `cached` compares its address, which then is the heap's
  shared_extent_map<Upstream> space_;
  owner common_;                   // not mutable: g++ 12 would refuse a constant-initialised one
  mutable spin_lock common_lock_;  // held by its user
  thread_heaps<source> heaps_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
