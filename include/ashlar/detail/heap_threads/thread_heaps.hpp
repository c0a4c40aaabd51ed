// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The thread heaps of one heap: one for each running thread, parked ones of ended threads for the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/parcel_sender.hpp>
#include <ashlar/detail/heap/purge.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/random_bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

template <class T>
struct thread_place;

/// A thread's part of a heap: its blocks, and its unsent remote frees. All thread heaps end together, so that a sender
/// needs no check whether one still exists.
///
///     made -> used by one thread -> parked -> used by another -> … -> all end at once
///
/// Noted frees of a thread that stops freeing go with its next slow calls.
/// Invariant: a parked heap has no notes, and its lock guards all of it: the thread cache too, which is as the last
/// thread has left it.
template <resource Upstream>
struct alignas(64) thread_heap {
  using link = default_atomics::plain<thread_heap*>;
  /// Whether others may take it of an idle thread, which uses it without the lock.
  static constexpr bool may_move = owner_engine<Upstream>::owner_skips_lock;

  explicit thread_heap(const heap_options& options, const Upstream& upstream) : blocks(options, upstream) {
    blocks.sharing().set_sender(freer);
    ASHLAR_REQUIRE(static_cast<void*>(this) == &blocks, "a segment names another thread's heap");
  }
  thread_heap(const thread_heap&) = delete;
  thread_heap& operator=(const thread_heap&) = delete;

  owner_engine<Upstream> blocks;
  parcel_sender<Upstream> freer;
  thread_heap* next = nullptr;          // of all, while both live
  link next_parked = nullptr;           // under the lock of parking
  atomic<std::uint32_t> parked_ms = 0;  // by the coarse clock
  atomic<std::size_t> free_bytes = 0;   // as it was parked or purged last; an estimate
  struct {
    atomic<thread_place<thread_heap>*> place = nullptr;
    atomic<bool> is_asked_for = false;
    std::uint32_t thread = 0;
  } moves;                             // see `thread_place`, which writes it under its lock
  atomic<std::uint32_t> asked_us = 0;  // for it, last; written under the lock of asking
  bool is_parked = false;              // under the lock of parking
  bool is_in_transit = false;          // the same: in transit between two threads
};

/// Thread safety: any thread.
template <resource Upstream>
class thread_heaps {
public:
  using thread_heap = detail::thread_heap<Upstream>;

  constexpr thread_heaps(const heap_options& options, Upstream upstream)
      : options_(options), upstream_(std::move(upstream)) {}
  thread_heaps(const thread_heaps&) = delete;
  thread_heaps& operator=(const thread_heaps&) = delete;
  /// Expects: no thread uses any of them.
  ~thread_heaps() {
    for_each([](thread_heap& each) { each.freer.forget(); });  // while all inboxes are there
    for (thread_heap* each = first_.load(memory_order_relaxed); each != nullptr;) {
      thread_heap* const next = each->next;
      each->~thread_heap();
      upstream_.deallocate(each, sizeof(thread_heap), alignof(thread_heap));
      each = next;
    }
  }

  /// Returns: a parked heap, or a new one; null without memory. Of the 16 parked last it is the one with most free
  /// memory, since remote frees go on while heaps are parked.
  [[nodiscard]] ASHLAR_COLD thread_heap* adopt() noexcept {
    if (thread_heap* const parked = resumed(take_parked())) return parked;
    void* const memory = try_allocate_from(upstream_, sizeof(thread_heap), alignof(thread_heap));
    if (memory == nullptr) return nullptr;
    const check_scope<spin_lock> held(making_lock_);
    auto* const made = ::new (memory) thread_heap(options_, upstream_);
    const std::uint32_t number = made_.load(memory_order_relaxed);
    made_.store(number + 1, memory_order_relaxed);
    made->blocks.set_number(number);
    made->next = first_.load(memory_order_relaxed);
    first_.store(made, memory_order_release);     // pairs with for_each()
    if (number == most_free_to_grow) let_grow();  // of more each waits as it is made
    else made->blocks.set_waits_to_grow(may_share());
    return made;
  }

  /// Effects: changes the options of all heaps, of present and of future ones.
  ASHLAR_INLINE_FOR_SIZE void set_options(const heap_options& options) noexcept {
    const report_scope<spin_lock> held(making_lock_);  // a cell that comes back twice is found at every level
    options_ = options;
    decay_ms_.store(options.decay_ms, memory_order_relaxed);
    for_each([&](thread_heap& each) { each.blocks.drained()->set_retention(options.retain_bytes, options.decay_ms); });
  }

  /// Effects: parks a heap for the next thread, after those with room if it has none. Expects: its user is the caller,
  /// or has ended.
  ASHLAR_COLD void park(thread_heap& leaving, bool has_room = true) noexcept {
    leaving.freer.flush();
    const std::size_t bytes = leave(leaving);
    leaving.free_bytes.store(has_room ? bytes : 0, memory_order_relaxed);
    const check_scope<spin_lock> held(parked_lock_);
    leaving.is_parked = true;
    leaving.parked_ms.store(coarse_ms(), memory_order_relaxed);
    leaving.is_in_transit = false;
    leaving.next_parked = parked_;
    parked_ = &leaving;
    parked_count_.store(parked() + 1, memory_order_relaxed);
  }

  /// Microseconds without a call after which a thread is idle.
  static constexpr std::uint32_t rest_us = 1000;

  /// Returns: whether threads share heaps: if more than the first few were made.
  [[nodiscard]] bool may_share() const noexcept {
    return shares_.load(memory_order_relaxed) && made_.load(memory_order_relaxed) > most_free_to_grow;
  }

  void share_idle(bool shares) noexcept {
    const check_scope<spin_lock> held(making_lock_);
    if (shares) most_by_rest_.store(usable_processors() + 1, memory_order_relaxed);
    shares_.store(shares, memory_order_relaxed);
    let_grow();
  }

  /// Effects: parks the heap of an idle thread with at least `least` free bytes, if one is known: one that was asked
  /// for `idle_us` ago, and of which the thread has not come back. Asks for some others, once a millisecond, or when
  /// there is none for a thread without a heap. `Threads`: as `per_thread`. Complexity: O(heaps).
  template <class Threads>
  ASHLAR_COLD void park_idle(Threads& threads, std::size_t least, std::uint32_t idle_us) noexcept {
    if (thread_heap* const idle = take_idle(threads, least, idle_us)) park(*idle);
  }

  /// Effects: asks for the heaps of all threads that are not inside, for `park_all_idle`. Complexity: O(heaps).
  template <class Threads>
  void ask_all(Threads& threads) noexcept {
    if (!may_share()) return;
    const check_scope<spin_lock> held(asking_lock_);
    for (std::size_t left = made_.load(memory_order_relaxed); left != 0; left -= detail::min(left, most_asked))
      ask_some(threads, fine_us());
  }

  /// Effects: parks the heaps of threads that have not come back since `ask_all`, once that is the time of a rest ago.
  /// Complexity: O(heaps), and a sleep.
  template <class Threads>
  void park_all_idle(Threads& threads) noexcept {
    for_each([&](thread_heap& each) {
      const std::uint32_t asked_us = each.asked_us.load(memory_order_relaxed);
      if (!each.moves.is_asked_for.load(memory_order_relaxed)) return;
      while (fine_us() - asked_us < rest_us) yield_or_sleep(most_yields);
      if (threads.try_take(each)) park(each);
    });
  }

  /// Returns: microseconds after which a thread is idle, for one that has no heap: of many heaps it takes the oldest of
  /// those that are not in use, since most are of threads that do not run, and so that the last ones drain.
  [[nodiscard]] std::uint32_t least_rest() const noexcept {
    return made_.load(memory_order_relaxed) > most_by_rest_.load(memory_order_relaxed) ? 0 : rest_us;
  }

  /// Returns: how often a thread without a heap looks for one: where there are many, until a call that another thread
  /// has begun in one ends, as a rule.
  [[nodiscard]] unsigned tries() const noexcept { return least_rest() == 0 ? most_yields + 16 : 3; }

  /// As `adopt`, of a parked heap with at least `least` free bytes, or null.
  [[nodiscard]] ASHLAR_COLD thread_heap* adopt_with(std::size_t least) noexcept { return resumed(take_parked(least)); }

  /// Effects: as `adopt`, of the heap parked longest; null if none is parked.
  [[nodiscard]] ASHLAR_COLD thread_heap* adopt_oldest() noexcept { return resumed(take_oldest()); }

  /// Effects: notes whether a heap is in transit between threads: a forked child leaves such a heap alone.
  void set_in_transit(thread_heap& moved, bool is_in_transit) noexcept {
    const check_scope<spin_lock> held(parked_lock_);
    moved.is_in_transit = is_in_transit;
  }

  /// Effects: calls `f(thread_heap)` for each, parked or not.
  template <class F>
  ASHLAR_INLINE void for_each(F f) const {
    for (thread_heap* each = first_.load(memory_order_acquire); each != nullptr; each = each->next)  // with adopt()
      f(*each);
  }

  /// Effects: gives memory of one parked heap to the upstream. They take turns; those in use are left out. Complexity:
  /// O(parked heaps and their segments).
  ASHLAR_COLD void scavenge() noexcept {
    for (std::size_t left = parked(); left != 0; --left) {
      thread_heap* const each = next_parked();
      if (each == nullptr) return;
      if (!scavenge_parked(each->blocks, each->parked_ms.load(memory_order_relaxed),
                           decay_ms_.load(memory_order_relaxed)))
        continue;
      each->free_bytes.store(0, memory_order_relaxed);
      return;
    }
  }

  /// Effects: forgets the free bytes of parked heaps, which have gone, so that `adopt` prefers none for them.
  void forget_free_bytes() noexcept {
    for_each([](thread_heap& each) { each.free_bytes.store(0, memory_order_relaxed); });
  }

  void before_fork(fork_step step) noexcept {
    if (step == fork_step::outer_locks) asking_lock_.lock(), making_lock_.lock();
    else if (step == fork_step::inner_locks) for_each([](thread_heap& each) { each.blocks.sharing().before_fork(); });
    else if (step == fork_step::shared_locks) parked_lock_.lock();
  }
  void after_fork_in_parent() noexcept {
    parked_lock_.unlock();
    for_each([](thread_heap& each) { each.blocks.sharing().after_fork(); });
    making_lock_.unlock();
    asking_lock_.unlock();
  }
  /// Effects: in a forked child: parks the heaps of other threads. Their cached blocks stay taken.
  void after_fork_in_child(const thread_heap* mine) noexcept {
    after_fork_in_parent();
    is_of_child_ = true;
    for_each([&](thread_heap& each) {
      if (&each == mine || each.is_parked || each.is_in_transit) return;
      if (each.blocks.sharing().for_others() == cached::excluded) {  // else on its way to the parked ones, or from them
        each.freer.forget();
        each.blocks.forget_owner();
      }
      park(each);
    });
  }

  /// Returns: whether a heap is in transit; false in a forked child, where the token of another thread is lost.
  /// Expects: no thread uses any of them.
  [[nodiscard]] bool are_in_transit() const noexcept {
    bool found = false;
    for_each([&](const thread_heap& each) { found = found || each.is_in_transit; });
    return found && !is_of_child_;
  }

  [[nodiscard]] std::size_t parked() const noexcept { return parked_count_.load(memory_order_relaxed); }

private:
  // Under the lock of making. Where heaps are shared, none grows before it has looked for another one's free memory.
  void let_grow() noexcept {
    for_each([waits = may_share()](thread_heap& each) { each.blocks.set_waits_to_grow(waits); });
  }

  template <class Threads>
  [[nodiscard]] thread_heap* take_idle(Threads& threads, std::size_t least, std::uint32_t idle_us) noexcept {
    const check_scope<spin_lock> held(asking_lock_);
    const std::uint32_t now = fine_us();
    if (idle_us == 0 && now - asked_us_ >= fresh_us) ask_some(threads, now);
    thread_heap* const found = idle_us == 0 ? take_first_made(threads) : take_asked_for(threads, least, idle_us, now);
    const bool is_urgent = idle_us == 0 && found == nullptr;
    if (!is_urgent && now - asked_us_ < rest_us) return found;
    ask_some(threads, now);
    return is_urgent ? take_first_made(threads) : found;
  }

  template <class Threads>
  [[nodiscard]] thread_heap* take_first_made(Threads& threads) noexcept {
    thread_heap* best = nullptr;
    for_each([&](thread_heap& each) {
      if (each.moves.is_asked_for.load(memory_order_relaxed)) best = &each;  // the last one was made first
    });
    return best != nullptr && threads.try_take(*best) ? best : nullptr;
  }

  template <class Threads>
  [[nodiscard]] thread_heap* take_asked_for(Threads& threads, std::size_t least, std::uint32_t idle_us,
                                            std::uint32_t now) noexcept {
    thread_heap* best = nullptr;
    std::size_t most = least, looks = most_compared;
    for (std::size_t left = made_.load(memory_order_relaxed); left != 0 && looks != 0; --left) {
      thread_heap* const each = next_of(next_seen_);
      if (!each->moves.is_asked_for.load(memory_order_relaxed)) continue;
      if (now - each->asked_us.load(memory_order_relaxed) < idle_us) continue;
      --looks;
      if (const std::size_t bytes = each->blocks.try_free_bytes(); bytes >= most) most = bytes, best = each;
    }
    return best != nullptr && threads.try_take(*best) ? best : nullptr;
  }

  // In rotation. Under the lock of asking.
  [[nodiscard]] thread_heap* next_of(thread_heap*& place) noexcept {
    if (place == nullptr) place = first_.load(memory_order_acquire);  // with adopt()
    return std::exchange(place, place->next);
  }

  template <class Threads>
  void ask_some(Threads& threads, std::uint32_t now) noexcept {
    std::array<thread_heap*, most_asked> asked;
    std::size_t count = 0;
    for (std::size_t left = made_.load(memory_order_relaxed); left != 0 && count != asked.size(); --left) {
      thread_heap* const each = next_of(next_asked_);
      if (each->moves.place.load(memory_order_relaxed) == nullptr ||
          each->moves.is_asked_for.load(memory_order_relaxed))
        continue;
      each->asked_us.store(now, memory_order_relaxed);
      asked[count++] = each;
    }
    asked_us_ = now;
    if (count != 0) threads.ask(asked.data(), count);
  }

  using link = typename thread_heap::link;
  static constexpr std::size_t most_compared = 16;
  static constexpr std::size_t most_asked = 32;          // at once
  static constexpr std::uint32_t fresh_us = 200;         // since then some may be idle that were not
  static constexpr std::uint32_t most_free_to_grow = 2;  // heaps; of more all wait to grow

  // The lock passes the writes of the last user to the next one.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE thread_heap* take_parked(std::size_t least = 0) noexcept {
    const check_scope<spin_lock> held(parked_lock_);
    link* best = least == 0 ? &parked_ : nullptr;
    std::size_t most = least, left = most_compared;
    for (link* at = &parked_; *at != nullptr && left != 0; at = &(*at)->next_parked, --left)
      if (const std::size_t bytes = free_bytes_of(**at); bytes > most) most = bytes, best = at;
    return best != nullptr ? take_parked_at(*best) : nullptr;
  }

  [[nodiscard]] thread_heap* take_oldest() noexcept {
    const check_scope<spin_lock> held(parked_lock_);
    link* last = &parked_;
    while (*last != nullptr && (*last)->next_parked != nullptr) last = &(*last)->next_parked;
    return take_parked_at(*last);
  }

  // Effects: leaves a heap to the next owner, with what is cached, without quarantine. Returns: free bytes, of cached
  // cells by sampled addresses.
  [[nodiscard]] static std::size_t leave(thread_heap& leaving) noexcept {
    const auto inside = leaving.blocks.drained();
    leaving.blocks.sharing().set_left(true);
    inside->end_quarantine();
    return inside->free_bytes() + inside->cached_bytes();
  }

  // Effects: makes the calling thread the owner of a heap that is no longer parked, and joins the free slices that
  // remote frees left behind, for other span lengths. Returns: the heap, or null.
  [[nodiscard]] static thread_heap* resumed(thread_heap* found) noexcept {
    if (found == nullptr) return nullptr;
    const auto inside = found->blocks.locked();
    inside->join_spare();
    found->blocks.sharing().set_left(false);
    return found;
  }

  // Those that other threads have freed since are counted until they are drained.
  [[nodiscard]] static std::size_t free_bytes_of(const thread_heap& parked) noexcept {
    return parked.free_bytes.load(memory_order_relaxed) + parked.blocks.arrived_bytes();
  }

  // Under the lock: removes it from the list.
  [[nodiscard]] thread_heap* take_parked_at(link& place) noexcept {
    thread_heap* const found = place;
    if (found == nullptr) return nullptr;
    place = found->next_parked;
    found->next_parked = nullptr;
    found->is_parked = false;
    parked_count_.store(parked() - 1, memory_order_relaxed);
    return found;
  }

  // It may be adopted once the lock is free: only data under its own lock may be touched.
  [[nodiscard]] thread_heap* next_parked() noexcept {
    const check_scope<spin_lock> held(parked_lock_);
    turn_ = turn_ != nullptr && turn_->next_parked != nullptr ? turn_->next_parked : parked_;
    return turn_;
  }

  heap_options options_;  // under the lock of making
  atomic<std::uint32_t> decay_ms_ = options_.decay_ms;
  Upstream upstream_;
  atomic<bool> shares_ = false;
  atomic<thread_heap*> first_ = nullptr;
  atomic<std::uint32_t> made_ = 0;  // written under the lock of making
  spin_lock making_lock_;           // held while a heap is added, and during a fork
  mutable spin_lock parked_lock_;   // may be taken under the lock of a heap
  link parked_ = nullptr;
  atomic<std::size_t> parked_count_ = 0;    // written under the same lock
  bool is_of_child_ = false;                // of a fork
  atomic<std::uint32_t> most_by_rest_ = 0;  // processors + 1
  spin_lock asking_lock_;
  std::uint32_t asked_us_ = 0;         // under the lock of asking
  thread_heap* next_asked_ = nullptr;  // the same
  thread_heap* next_seen_ = nullptr;   // the same
  thread_heap* turn_ = nullptr;        // the heap purged last; a removed heap has no successor
};

}  // namespace ashlar::ASHLAR_ABI::detail
