// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The store of free pages of the process, under all resources that name no upstream: it gives back by time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/free_chunks.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/random_bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

template <resource Upstream>
class extent_map;

/// The free memory of the process, in chunks of powers of two, each at a multiple of its size. Chunks below a span of
/// 64 KiB are halves of larger ones; spans and larger ones come from the system, several at once where it takes parts
/// back.
///
///   take -> [ slot of the thread ] -> [ bins, under the lock ] -> halves of a larger chunk -> raw spans -> the system
///   give -> [ slot of the thread ] -> [ bins, under the lock ] -> above the limit: the system
///                                       | each window of decay_ms: what no request has needed
///                                       +-> halves meet -> spans -> the system
///
/// A slot holds one chunk, and costs one exchange; a set has one for each size up to a span, and threads share 16 sets
/// by a hash.
/// The limit of free bytes grows by what goes back and is requested again within a window or two, and falls by what a
/// window has not needed: a program that swings keeps its memory, and one that shrinks gives it back. Time passes at
/// the calls; a program that makes none keeps its free chunks. Chunks below a span do not count in the limit: they stay
/// until a window ends.
///
/// The lock is held for a few chunks at a time: what sorts many runs without it, and what is seldom fruitful seldom. A
/// fork holds it. Others only try it: where it stays held, as in a signal handler above its holder, requests go to the
/// system. Small chunks that come back meanwhile wait in a list for the next that enters. Never destroyed; a library
/// that is closed gives its free chunks back. Thread safety: any thread; waits a tenth of a second at most.
template <class Pages>
class page_store_core {
public:
  static constexpr unsigned least_order = 9;  // 512 bytes
  static constexpr unsigned span_order = 16;
  /// The largest chunk that is kept: 32 MiB; where address space or committed memory is scarce, 1 MiB or 256 KiB.
  static constexpr unsigned most_order = !Pages::releases_parts ? 18 : sizeof(void*) == 8 ? 25 : 20;
  static constexpr std::uint32_t decay_ms = 400;

  static_assert(std::size_t{1} << span_order == largest_page);

  /// Returns: a chunk of 2^order bytes, or null.
  [[nodiscard]] ASHLAR_INLINE void* take(unsigned order) noexcept {
    if (ASHLAR_LIKELY(order <= span_order)) {
      atomic<void*>& slot = slots_here().chunks[order - least_order];
      if (ASHLAR_LIKELY(slot.load(memory_order_relaxed) != nullptr))
        if (void* const p = slot.exchange(nullptr, memory_order_acquire)) return opened(p, order);
    }
    return take_slow(order);
  }

  /// Effects: takes a chunk back.
  ASHLAR_INLINE void give(void* p, unsigned order) noexcept {
    free_chunk::close(p, std::size_t{1} << order);
    if (ASHLAR_LIKELY(order <= span_order)) {
      thread_slots& mine = slots_here();
      mark_free(p, std::size_t{1} << order);
      p = mine.chunks[order - least_order].exchange(p, memory_order_acq_rel);  // pairs with the one of take
      if (ASHLAR_LIKELY(p == nullptr && !mine.is_time_to_look())) return;
    }
    give_slow(p, order);
  }

  /// Effects: makes a chunk resident, if it came from the system just now.
  void prefault(void* p, std::size_t bytes) noexcept {
    if (fresh_.load(memory_order_relaxed) != p) return;
    fresh_.store(nullptr, memory_order_relaxed);
    Pages::populate(p, bytes);
  }

  /// @{ Segments of heaps: at least `least` bytes that `give_segment` got, with their contents behind `free_chunk`, or
  /// an empty block. `give_segment` expects a mapping of its own.
  [[nodiscard]] ASHLAR_COLD block take_segment(std::size_t least) noexcept {
    if (!try_enter()) return {};
    block found;
    if (const free_chunk* const last = segments_.last(); last != nullptr && last->bytes >= least) {
      found.size = last->bytes;
      found.data = segments_.pop();
      free_bytes_ -= found.size;
    } else {
      count_again(least);
    }
    lock_.unlock(this_thread());
    mark_readable(found.data, found.size);
    return found;
  }
  ASHLAR_COLD void give_segment(void* p, std::size_t bytes) noexcept {
    expect_close();
    mark_free(p, bytes);
    if (try_enter()) {
      if (has_room_for(bytes)) segments_.push(std::exchange(p, nullptr), bytes), free_bytes_ += bytes;
      leave_and_look();
    }
    if (p != nullptr) release(p, bytes);
  }
  /// @}

  /// Effects: gives free memory back to the system, except for spans of `retain_bytes`: segments of
  /// heaps go in any case. Returns: bytes given back.
  ASHLAR_COLD std::size_t trim(std::size_t retain_bytes) noexcept {
    if (!try_enter()) return 0;
    const block raw = std::exchange(raw_, {});
    const std::size_t bytes = end_window(true, retain_bytes);
    if (raw.size != 0) static_cast<void>(Pages::release(raw.data, raw.size));
    return bytes;
  }

  /// Returns: free bytes, without those never used.
  [[nodiscard]] std::size_t retained_bytes() noexcept {
    if (!try_enter()) return 0;
    empty_slots();
    std::size_t bytes = free_bytes_;
    for (unsigned order = least_order; order < span_order; ++order) bytes += bin_of(order).count() << order;
    lock_.unlock(this_thread());
    return bytes;
  }

private:
  static constexpr std::size_t least_limit = std::size_t{1} << 20;
  // Small chunks without their halves that are sorted in each window: a hundredth of its time.
  static constexpr std::size_t halves_of_window = 8192;
  // The bytes of one request to the system: its untouched part is address space alone.
  static constexpr std::size_t group_bytes =
      Pages::releases_parts ? std::size_t{1} << (sizeof(void*) == 8 ? 22 : 18) : 0;

  struct alignas(64) thread_slots {
    std::array<atomic<void*>, span_order - least_order + 1> chunks = {};
    atomic<std::uint32_t> calls = 0;

    // Only a hint: two threads may count as one.
    [[nodiscard]] ASHLAR_INLINE bool is_time_to_look() noexcept {
      const std::uint32_t count = calls.load(memory_order_relaxed) + 1;
      calls.store(count, memory_order_relaxed);
      return count % 64 == 0;
    }
  };

  [[nodiscard]] ASHLAR_INLINE thread_slots& slots_here() noexcept {
    const std::uint64_t hash = (std::uint64_t{address_of(&this_thread_)} >> 6) * 0x9E3779B97F4A7C15ULL;
    return slots_[static_cast<std::size_t>(hash >> 60)];
  }

  [[nodiscard]] chunk_bin& bin_of(unsigned order) noexcept { return bins_[order - least_order]; }

  [[nodiscard]] static ASHLAR_INLINE void* live(void* p, unsigned order) noexcept {
    mark_live(p, std::size_t{1} << order);
    return p;
  }
  [[nodiscard]] static ASHLAR_INLINE void* opened(void* p, unsigned order) noexcept {
    free_chunk::open(live(p, order), std::size_t{1} << order);
    return p;
  }

  // Returns: whether the lock is held now. A holder that is preempted has a tenth of a second to run; patience ends
  // when it has ended before.
  [[nodiscard]] ASHLAR_NOINLINE bool try_enter() noexcept {
    if (!fork_participants::try_enter(at_fork_)) return false;  // a fork would leave the lock held in the child
    constexpr unsigned most_turns = 1024;
    for (unsigned turn = is_stuck_.load(memory_order_relaxed) ? most_turns : 0; !lock_.try_lock(this_thread());
         ++turn) {
      if (turn >= most_turns) return is_stuck_.store(true, memory_order_relaxed), false;
      yield_or_sleep(turn);
    }
    is_stuck_.store(false, memory_order_relaxed);
    if (late_.load(memory_order_relaxed) != nullptr) enter_late();
    return true;
  }

  ASHLAR_COLD void enter_late() noexcept {
    for (free_chunk* each = late_.exchange(nullptr, memory_order_acquire); each != nullptr;) {
      free_chunk* const next = each->next;
      put(each, static_cast<unsigned>(log2_of(each->bytes)));
      each = next;
    }
  }

  // Of a chunk that comes back while the lock is held.
  ASHLAR_COLD void put_late(void* p, unsigned order) noexcept {
    mark_readable(p, sizeof(free_chunk));
    put_late(::new (p) free_chunk{free_chunk::seal_of(p), nullptr, std::size_t{1} << order});
  }
  ASHLAR_COLD void put_late(free_chunk* list) noexcept {
    while (list != nullptr) {
      free_chunk* const chunk = std::exchange(list, list->next);
      chunk->next = late_.load(memory_order_relaxed);
      while (!late_.compare_exchange_weak(chunk->next, chunk, memory_order_release, memory_order_relaxed)) {
      }
    }
  }

  ASHLAR_COLD void* take_slow(unsigned order) noexcept {
    if (try_enter()) {
      void* const p = take_free(order);
      lock_.unlock(this_thread());
      if (p != nullptr) return live(p, order);
    }
    const unsigned whole = detail::max(order, span_order);
    void* const p = map(std::size_t{1} << whole);
    if (p != nullptr)
      for (unsigned half = whole; half-- != order;) put_late(upper_half(p, half), half);
    return p;
  }

  // Returns: a chunk from the bins or the raw spans, or null.
  [[nodiscard]] ASHLAR_NOINLINE void* take_free(unsigned order) noexcept {
    unsigned from = order;
    void* p = bin_of(from).pop();
    while (p == nullptr && from < span_order) p = bin_of(++from).pop();
    if (p == nullptr) p = take_raw(std::size_t{1} << from);
    else if (from >= span_order) free_bytes_ -= std::size_t{1} << from;
    if (p != nullptr) split(p, from, order);
    return p;
  }

  // Frees the upper halves of a chunk down to the lowest chunk of `order`.
  ASHLAR_NOINLINE void split(void* p, unsigned from, unsigned order) noexcept {
    while (from-- != order) put(upper_half(p, from), from);
  }
  [[nodiscard]] static void* upper_half(void* p, unsigned order) noexcept {
    return static_cast<std::byte*>(p) + (std::size_t{1} << order);
  }

  void put(void* p, unsigned order) noexcept {
    bin_of(order).push(p, std::size_t{1} << order);
    if (order >= span_order) free_bytes_ += std::size_t{1} << order;
  }

  // The spans below a multiple of `bytes` become free chunks.
  [[nodiscard]] void* take_raw(std::size_t bytes) noexcept {
    if (raw_.size < bytes + (align_up(address_of(raw_.data), bytes) - address_of(raw_.data))) return nullptr;
    while (!is_aligned(raw_.data, bytes)) {
      const auto order = static_cast<unsigned>(first_bit(address_of(raw_.data)));
      put(std::exchange(raw_, behind(raw_, std::size_t{1} << order)).data, order);
    }
    count_again(bytes);
    void* const p = std::exchange(raw_, behind(raw_, bytes)).data;
    fresh_.store(p, memory_order_relaxed);
    return p;
  }

  // What went back is requested again: the limit grows.
  void count_again(std::size_t bytes) noexcept {
    const std::size_t again = detail::min(bytes, gone_bytes_);
    gone_bytes_ -= again;
    limit_ += again;
  }

  [[nodiscard]] static block behind(const block& whole, std::size_t bytes) noexcept {
    return {static_cast<std::byte*>(whole.data) + bytes, whole.size - bytes};
  }

  // Returns: memory of the system; others of its size become raw spans. Null if the system refuses, also after a trim.
  [[nodiscard]] ASHLAR_COLD void* map(std::size_t bytes) noexcept {
    expect_close();
    block got = {};
    if (bytes < group_bytes) got = {Pages::map(group_bytes, bytes), group_bytes};
    if (!got) got = {Pages::map(bytes, bytes), bytes};
    if (!got) {
      static_cast<void>(trim(0));
      got = {Pages::map(bytes, bytes), bytes};
    }
    if (!got) return nullptr;
    fresh_.store(got.data, memory_order_relaxed);
    block rest = behind(got, bytes);
    if (try_enter()) {
      count_again(bytes);
      if (raw_.size < rest.size) std::swap(raw_, rest);
      lock_.unlock(this_thread());
    }
    if (rest.size != 0) static_cast<void>(Pages::release(rest.data, rest.size));
    return got.data;
  }

  // `p` may be null: a look at the clock.
  ASHLAR_COLD void give_slow(void* p, unsigned order) noexcept {
    const std::size_t bytes = std::size_t{1} << order;
    if (try_enter()) {
      if (p != nullptr && (order < span_order || has_room_for(bytes))) put(std::exchange(p, nullptr), order);
      leave_and_look();
    }
    if (p != nullptr) order < span_order ? put_late(p, order) : release(p, bytes);
  }

  // Returns: whether the limit admits a chunk; otherwise it counts as gone.
  [[nodiscard]] bool has_room_for(std::size_t bytes) noexcept {
    const bool has_room = free_bytes_ + bytes <= limit_;
    gone_bytes_ += has_room ? 0 : bytes;
    return has_room;
  }

  void leave_and_look() noexcept {
    if (is_window_over()) static_cast<void>(end_window(false));
    else lock_.unlock(this_thread());
  }

  [[nodiscard]] bool is_window_over() noexcept {
    const std::uint32_t now = coarse_ms();
    if (now - window_start_ < decay_ms) return false;
    window_start_ = now;
    return true;
  }

  ASHLAR_NOINLINE void empty_slots() noexcept {
    for (thread_slots& each : slots_)
      for (unsigned order = least_order; order <= span_order; ++order)
        if (void* const p = each.chunks[order - least_order].exchange(nullptr, memory_order_acquire)) put(p, order);
  }

  // Under the lock, which it gives up. Effects: gives back the spans and larger chunks that were not needed, or all but
  // `retain_bytes`. Returns: bytes given back.
  ASHLAR_COLD std::size_t end_window(bool all, std::size_t retain_bytes = 0) noexcept {
    empty_slots();
    free_chunk* const segments = all ? segments_.take_all() : segments_.take_unneeded();
    std::size_t leaving = 0;
    for (const free_chunk* each = segments; each != nullptr; each = each->next) leaving += each->bytes;
    free_bytes_ -= leaving;
    free_chunk* large = nullptr;
    for (unsigned order = span_order; order <= most_order; ++order) {
      const std::size_t before = bin_of(order).count();
      large = chained(taken_from(order, all), large);
      free_bytes_ -= (before - bin_of(order).count()) << order;
    }
    std::array<free_chunk*, span_order - least_order> parts = {};
    if (all || windows_to_wait_ == 0)
      for (unsigned order = least_order; order < span_order; ++order)
        parts[order - least_order] = taken_from(order, all);
    else --windows_to_wait_;
    lock_.unlock(this_thread());

    std::array<chunk_list, span_order - least_order> halves;
    free_chunk* whole = nullptr;
    for (unsigned order = least_order; order < span_order; ++order)
      whole = joined(chained(parts[order - least_order], whole), order, halves[order - least_order]);
    return give_back(chained(segments, put_back(halves, chained(whole, large), retain_bytes, leaving)));
  }

  [[nodiscard]] free_chunk* taken_from(unsigned order, bool all) noexcept {
    return all ? bin_of(order).take_all() : bin_of(order).take_unneeded();
  }

  // Effects: puts back small chunks without their halves, and of the others `retain_bytes`. What goes is counted, with
  // `leaving` bytes. Returns: the chunks to give back.
  template <std::size_t Orders>
  [[nodiscard]] ASHLAR_COLD free_chunk* put_back(const std::array<chunk_list, Orders>& halves, free_chunk* whole,
                                                 std::size_t retain_bytes, std::size_t leaving) noexcept {
    if (!try_enter()) {
      for (const chunk_list& list : halves) put_late(list.first);
      return put_late(whole), nullptr;
    }
    std::size_t left = 0;
    for (unsigned order = least_order; order < span_order; ++order) {
      bin_of(order).put_back(halves[order - least_order]);
      left += halves[order - least_order].count;
    }
    windows_to_wait_ = left / halves_of_window;
    whole = without_retained(whole, retain_bytes, leaving);
    lock_.unlock(this_thread());
    return whole;
  }

  // Returns: `list` without chunks of `retain_bytes`, which are put back. What goes is counted, with `bytes` more.
  [[nodiscard]] free_chunk* without_retained(free_chunk* list, std::size_t retain_bytes, std::size_t bytes) noexcept {
    free_chunk* leaving = nullptr;
    while (list != nullptr) {
      free_chunk* const each = std::exchange(list, list->next);
      if (each->bytes <= retain_bytes) {
        retain_bytes -= each->bytes;
        put(each, static_cast<unsigned>(log2_of(each->bytes)));
      } else {
        bytes += each->bytes;
        each->next = std::exchange(leaving, each);
      }
    }
    gone_bytes_ = bytes;
    limit_ = detail::max(least_limit, limit_ - detail::min(limit_, bytes));
    return leaving;
  }

  // Joins halves that lie side by side. Returns: the chunks of twice the size; others go into `rest`.
  [[nodiscard]] ASHLAR_COLD static free_chunk* joined(free_chunk* halves, unsigned order, chunk_list& rest) noexcept {
    free_chunk* whole = nullptr;
    const std::size_t bytes = std::size_t{1} << order;
    for (halves = sorted(halves); halves != nullptr;) {
      free_chunk* const low = std::exchange(halves, halves->next);
      if (is_aligned(low, 2 * bytes) && address_of(halves) == address_of(low) + bytes) {
        halves = halves->next;
        *low = {low->seal, std::exchange(whole, low), 2 * bytes};
      } else {
        rest.push(low);
      }
    }
    return whole;
  }

  void release(void* p, std::size_t bytes) noexcept {
    mark_readable(p, bytes);
    static_cast<void>(Pages::release(p, bytes));
  }

  // Neighbours go in one call. Returns: their bytes.
  ASHLAR_COLD std::size_t give_back(free_chunk* list) noexcept {
    std::size_t sum = 0;
    for (list = sorted(list); list != nullptr;) {
      void* const start = list;
      std::size_t bytes = 0;
      do bytes += std::exchange(list, list->next)->bytes;
      while (Pages::releases_parts && address_of(list) == address_of(start) + bytes);
      release(start, bytes);
      sum += bytes;
    }
    return sum;
  }

  // A library that is closed leaves no free chunks behind: no code would find them. Made before all other objects of
  // the library, so that it trims after their destructors.
  struct trim_at_close {
    trim_at_close() noexcept { static_cast<void>(std::atexit(trim)); }
    static void trim() { static_cast<void>(basic_page_store<Pages>::trim()); }
  };
  ASHLAR_MADE_FIRST ASHLAR_OF_THIS_LIBRARY static inline const trim_at_close at_close_;
  static void expect_close() noexcept {
    if constexpr (ASHLAR_MAY_BE_CLOSED) static_cast<void>(&at_close_);
  }

  // The lock is free in a moment, unless this thread has it: a signal handler forks above its holder.
  ASHLAR_OF_THIS_LIBRARY static void before_fork(void* self, fork_step step) noexcept {
    auto& core = *static_cast<page_store_core*>(self);
    if (step != fork_step::last_locks) return;
    const std::uintptr_t me = this_thread();
    for (unsigned turn = 0; !(core.is_held_by_fork_ = core.lock_.try_lock(me)) && core.lock_.holder() != me; ++turn)
      yield_or_sleep(turn);
  }
  ASHLAR_OF_THIS_LIBRARY static void after_fork(void* self) noexcept {
    auto& core = *static_cast<page_store_core*>(self);
    if (std::exchange(core.is_held_by_fork_, false)) core.lock_.unlock(this_thread());
  }

  [[nodiscard]] static std::uintptr_t this_thread() noexcept { return address_of(&this_thread_); }

  std::array<thread_slots, 16> slots_ = {};
  lock_word lock_;
  atomic<bool> is_stuck_ = false;
  std::uint32_t window_start_ = 0;
  std::size_t windows_to_wait_ = 0;  // until small chunks are looked at again
  std::size_t free_bytes_ = 0;       // of segments, and of spans and larger chunks in the bins
  std::size_t limit_ = least_limit;
  std::size_t gone_bytes_ = 0;  // given back in this window or at the end of the last one, and not requested again
  std::array<chunk_bin, most_order - least_order + 1> bins_ = {};
  chunk_bin segments_;
  atomic<free_chunk*> late_ = nullptr;
  block raw_ = {};  // spans of the system that were never in use
  atomic<void*> fresh_ = nullptr;
  fork_participant at_fork_ = {.before = before_fork, .in_parent = after_fork, .in_child = after_fork, .self = this};
  bool is_held_by_fork_ = false;

  static inline constinit ASHLAR_THREAD_LOCAL const short this_thread_ = 0;  // its address identifies the thread
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// The default upstream. A block of up to 32 MiB is a power of two, 512 bytes at least. A free one waits for the next
/// request of its size from any resource, and goes back to the system when a window of 0.4 s has not needed it, or
/// beyond a limit at once: see docs/upstreams.md. So a resource that comes and goes makes no system call, and two
/// thousand small ones share pages. A larger block is mapped and unmapped each time. A heap over the same pages
/// has the records of its threads here, and leaves a short segment behind.
///
/// Contents of a block: any. Stateless: all instances are equal, in one library or program. Never destroyed.
/// Complexity: one exchange up to 64 KiB, else a lock and O(1); the end of a window O(n log n) of what it has not
/// needed. Thread safety: any thread.
template <class Pages>
class basic_page_store {
  using core = detail::page_store_core<Pages>;

public:
  static constexpr bool is_thread_safe = true;
  static constexpr bool is_process_wide = true;
  static constexpr bool keeps_blocks = true;

  /// Throws: `std::bad_alloc`. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return ashlar::allocate_or_throw(*this, bytes, alignment);
  }

  /// Returns: a block, or null. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const unsigned order = order_of(bytes, alignment);
    return ASHLAR_LIKELY(order <= core::most_order) ? core_.take(order) : map_larger(bytes, alignment);
  }

  /// Expects: `p` was allocated with the same `bytes` and `alignment`.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const unsigned order = order_of(bytes, alignment);
    if (ASHLAR_LIKELY(order <= core::most_order)) core_.give(p, order);
    else static_cast<void>(Pages::release(p, Pages::round_up(bytes)));
  }

  /// Returns: the new address of a block of at least 64 KiB, moved by its pages without a copy; or null, and it is
  /// unchanged. Expects: `new_bytes` is not less than `bytes`. Complexity: three system calls.
  [[nodiscard]] void* try_move(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires requires { Pages::move(p, bytes, p, new_bytes); }
  {
    if (!Pages::releases_parts || order_of(bytes, alignment) < core::span_order) return nullptr;
    if (!is_valid_request(new_bytes, alignment)) return nullptr;
    const std::size_t whole = mapped_bytes(new_bytes, alignment);
    void* const place = whole != 0 ? Pages::reserve(whole, detail::max(alignment, chunk_alignment(whole))) : nullptr;
    return place != nullptr && Pages::move(p, mapped_bytes(bytes, alignment), place, whole) ? place : nullptr;
  }

  /// Effects: makes the whole pages inside the range resident now, if the block is the last one that came from the
  /// system, and has never been in use.
  void prefault(void* p, std::size_t bytes) noexcept { core_.prefault(p, align_down(bytes, Pages::page_bytes())); }

  /// Effects: gives free memory of the process back to the system now, except for `retain_bytes`. Returns: bytes given
  /// back. Complexity: O(n log n) of the free blocks.
  static std::size_t trim(std::size_t retain_bytes = 0) noexcept { return core_.trim(retain_bytes); }

  /// Returns: bytes of the free blocks, without the rest of a mapping that no block has come from.
  [[nodiscard]] static std::size_t retained_bytes() noexcept { return core_.retained_bytes(); }

  [[nodiscard]] friend bool operator==(const basic_page_store&, const basic_page_store&) noexcept = default;

private:
  template <resource Upstream>
  friend class detail::extent_map;
  [[nodiscard]] static block take_segment(std::size_t least) noexcept { return core_.take_segment(least); }
  static void give_segment(void* p, std::size_t bytes) noexcept { core_.give_segment(p, bytes); }

  [[nodiscard]] static ASHLAR_INLINE unsigned order_of(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t last = (bytes - (bytes != 0)) | (alignment - 1) | ((std::size_t{1} << core::least_order) - 1);
    return static_cast<unsigned>(std::bit_width(last));
  }

  /// Returns: the bytes of a block: a chunk, or whole pages. / What a chunk of that size is aligned to.
  [[nodiscard]] static std::size_t mapped_bytes(std::size_t bytes, std::size_t alignment) noexcept {
    const unsigned order = order_of(bytes, alignment);
    return order <= core::most_order ? std::size_t{1} << order : Pages::round_up(bytes);
  }
  [[nodiscard]] static std::size_t chunk_alignment(std::size_t whole) noexcept {
    return whole <= std::size_t{1} << core::most_order ? whole : 1;
  }

  [[nodiscard]] ASHLAR_COLD static void* map_larger(std::size_t bytes, std::size_t alignment) noexcept {
    if (!is_valid_request(bytes, alignment)) return nullptr;
    const std::size_t whole = Pages::round_up(bytes);
    if (whole == 0) return nullptr;
    void* const p = Pages::map(whole, alignment);
    return p != nullptr || core_.trim(0) == 0 ? p : Pages::map(whole, alignment);
  }

  static inline constinit core core_;
};

ASHLAR_COMPILED(class detail::page_store_core<os::pages>);

static_assert(try_resource<page_store> && prefaulting_resource<page_store> && process_wide_resource<page_store>);

}  // namespace ashlar::ASHLAR_ABI
