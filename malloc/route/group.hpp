// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The groups of a plan: each has a slice of one range of addresses, and hands chunks of it to threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/heap/purge.hpp>

#include "malloc/route/chunk.hpp"
#include "malloc/route/text.hpp"

namespace ashlar::route {

/// What a group has done; figures may be of different moments.
struct group_figures {
  std::size_t chunks = 0, most_chunks = 0;
  std::size_t pinned_when_given_up = 0;  ///< bytes
  bool dies_young = false;
  bool is_given_up = false;
};

/// What chunks in use hold, of what they have handed out.
struct group_usage {
  std::size_t held_bytes = 0, live_bytes = 0;
};

/// A group. Chunks come from a list of free ones, else from the rest of the slice. An eighth of the chunks in use, or
/// the whole ones in the group's share of 256 KiB, at least 64 KiB, may be free and keep their memory for good. More
/// keep it until they have been free throughout a window of the option `decay`, or until the process heap or another
/// group asks the system for memory: so one that is filled and emptied again and again keeps its memory, and no peak is
/// higher for it.
///
///     slice: | chunk 0 | chunk 1 | … | mapped | nothing |      heads: | head 0 | head 1 | … | nothing |
///
/// Nothing is reserved: the system is asked for memory at the end of what there is. So address space and limits on it
/// are of the chunks alone, and a slice ends where another mapping is.
///
/// Guard: where the group takes a chunk, at each growth by a 16th of its most chunks, what its chunks hold is counted:
/// live blocks, and what is pinned beside them, which is neither live nor never used. What requests leave of a pool's
/// cells is pinned too. The group gives out no chunks any more
///
///     if   pinned > budget   or   live + pinned > 5/4 * most live + share of 512 KiB, at least 128 KiB
///
/// since a heap would need no more than the most that was live. A chunk that the plan wants above 64 KiB is at most a
/// quarter of the budget, with room for four cells. Thread safety: any thread.
class alignas(64) group {
public:
  /// Effects: takes the slice. Expects: no other thread knows the group.
  void begin(const planned_group& plan, std::size_t number, std::byte* slice, std::size_t slice_bytes, std::byte* heads,
             std::uint32_t decay_ms) noexcept;

  [[nodiscard]] ASHLAR_INLINE bool is_pool() const noexcept { return cell_bytes_ != 0; }
  [[nodiscard]] ASHLAR_INLINE bool is_given_up() const noexcept { return value_of(is_given_up_); }
  /// Bytes of the largest request that is served.
  [[nodiscard]] ASHLAR_INLINE std::size_t most_bytes() const noexcept { return most_bytes_; }
  [[nodiscard]] ASHLAR_INLINE std::size_t cell_bytes() const noexcept { return cell_bytes_; }  ///< 0: an arena
  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return std::size_t{1} << shift_; }
  [[nodiscard]] std::string_view name() const noexcept { return name_; }

  /// Returns: whether the address, of the slice, is one of its memory.
  [[nodiscard]] ASHLAR_INLINE bool has(const void* p) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(p) - slice_) < value_of(committed_);
  }
  [[nodiscard]] ASHLAR_INLINE chunk& chunk_of(const void* p) const noexcept {
    return head(static_cast<std::size_t>(static_cast<const std::byte*>(p) - slice_) >> shift_);
  }
  /// Returns: the bytes from the start of its chunk.
  [[nodiscard]] ASHLAR_INLINE std::size_t offset_in_chunk(const void* p) const noexcept {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(p) - slice_);
    return offset & ((std::size_t{1} << shift_) - 1);
  }
  /// Expects: the chunk has been in use.
  [[nodiscard]] ASHLAR_INLINE std::byte* memory_of(const chunk& head) const noexcept {
    return head.end - usable_bytes_;
  }

  /// Returns: an empty chunk of that owner, or null: without memory, or since the group is given up. `grows`: the owner
  /// has used up another one. `bytes`: of the request, a sample of all.
  [[nodiscard]] chunk* take_chunk(thread_record* owner, bool grows, std::size_t bytes) noexcept;
  /// Expects: no block of the chunk is in use.
  void give_chunk(chunk& empty) noexcept;

  /// @{ Calls of a group that is given up leave its filter, but for some after other threads have freed many blocks:
  /// their owners take those back as they allocate. Returns: whether `takes_calls` has changed.
  [[nodiscard]] bool leaves_calls() noexcept {
    const std::uint32_t left = value_of(calls_left_);
    set(calls_left_, left - detail::min(left, std::uint32_t{1}));
    return left == 0 && takes_calls_.exchange(false, detail::memory_order_relaxed);
  }
  [[nodiscard]] ASHLAR_INLINE bool counts_arrival() noexcept {
    return ASHLAR_UNLIKELY(is_given_up()) && wants_calls_again();
  }
  [[nodiscard]] bool takes_calls() const noexcept { return value_of(takes_calls_); }
  /// @}

  /// Effects: gives the group up if its blocks die young: for all that has been allocated, `bytes` by the calling
  /// thread, it has never had more than 128 KiB or two chunks a thread. The process heap, whose caches hold such
  /// blocks, serves them in less time.
  void judge(std::size_t bytes) noexcept;

  [[nodiscard]] group_figures figures() noexcept;

  /// Effects: up to `bytes` of the memory that free chunks may not keep for good go to the system; none if another
  /// thread has the group. Returns: the bytes that went. Thread safety: any thread; under the locks of the process
  /// heap too, since it waits for nothing.
  [[nodiscard]] std::size_t release_idle(std::size_t bytes) noexcept;

  /// @{ Over a fork.
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }
  /// @}

private:
  static constexpr std::size_t least_commit_bytes = std::size_t{1} << 20;
  static constexpr std::uint32_t most_arrivals = 1024;
  static constexpr std::size_t least_judged_bytes = std::size_t{1} << 19;
  static constexpr std::size_t least_long_lived_bytes = std::size_t{1} << 17;
  static constexpr std::size_t least_kept_of_group = std::size_t{1} << 16;
  static constexpr std::size_t spare_bytes = std::size_t{1} << 19;  // of all groups, that the guard allows them
  static constexpr std::size_t least_spare_of_group = std::size_t{1} << 17;
  static constexpr std::size_t chunks_of_step = 16;  // that leave their memory as one is freed

  [[nodiscard]] ASHLAR_INLINE chunk& head(std::size_t number) const noexcept {
    return *reinterpret_cast<chunk*>(heads_ + number * stride_);
  }
  /// As `memory_of`, of any chunk, by a division.
  [[nodiscard]] std::byte* memory_by_number(const chunk& head) const noexcept {
    const auto at = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&head) - heads_);
    return slice_ + (at / stride_ << shift_);
  }
  [[nodiscard]] chunk* reuse() noexcept;
  [[nodiscard]] chunk* extend(bool grows) noexcept;
  [[nodiscard]] bool commit(std::size_t chunks) noexcept;
  void populate() noexcept;
  [[nodiscard]] std::size_t kept_chunks() const noexcept;
  void trim_warm() noexcept;
  void leave_to_system() noexcept;
  void guard() noexcept;
  void give_up() noexcept;
  [[nodiscard]] bool wants_calls_again() noexcept;
  [[nodiscard]] group_usage usage() const noexcept;
  [[nodiscard]] std::size_t guard_step() const noexcept { return detail::max(std::size_t{1}, begun_ / 16); }

  std::byte* slice_ = nullptr;
  std::byte* heads_ = nullptr;
  std::size_t stride_ = 0;  // bytes from head to head
  std::size_t cell_bytes_ = 0, most_bytes_ = 0;
  std::size_t usable_bytes_ = 0;       // of a chunk: whole cells
  atomic<std::size_t> committed_ = 0;  // bytes
  std::uint32_t shift_ = 0;            // logarithm of the bytes of a chunk
  atomic<bool> is_given_up_ = false;
  atomic<bool> is_exhausted_ = false;  // no chunk is free, and the system refused another

  alignas(64) spin_lock lock_;
  chunk* warm_list_ = nullptr;                // free chunks that have memory
  chunk* cold_list_ = nullptr;                // free chunks whose memory the system has
  std::size_t chunks_ = 0, most_chunks_ = 0;  // in use
  std::size_t begun_ = 0;                     // chunks that have ever been in use
  std::size_t warm_ = 0;                      // length of the warm list
  std::size_t idle_ = 0;                      // of them: that have been free throughout a window, and go step by step
  detail::idle_window window_{0};
  std::size_t mapped_ = 0, committed_heads_ = 0;  // bytes, with the colour in front
  std::size_t colour_ = 0;                        // bytes of the first page before the first chunk, and the first head
  std::size_t populated_ = 0;                     // bytes of the slice that are resident, or have been in use
  std::size_t slice_bytes_ = 0;
  std::size_t next_guard_ = 0;                   // chunks in use
  std::size_t takers_ = 0;                       // threads that have had a chunk
  std::size_t sampled_bytes_ = 0, sampled_ = 0;  // requests, in whole granules, and their number
  bool dies_young_ = false;
  atomic<bool> takes_calls_ = true;
  atomic<std::uint32_t> arrivals_ = 0;    // freed by other threads since calls left
  atomic<std::uint32_t> calls_left_ = 0;  // until calls leave again
  std::size_t budget_bytes_ = 0, pinned_when_given_up_ = 0;
  std::size_t most_live_bytes_ = 0;  // at a count of the guard
  std::string_view name_;
};

/// All groups, and the range of addresses that has their slices.
class group_range {
public:
  static constexpr std::size_t least_kept_bytes = std::size_t{1} << 18;  ///< of all groups that may be free for good

  group groups[most_groups];
  std::uint32_t count = 0;  ///< 0: nothing is routed

  /// Returns: the group of a block, or null: it is not a routed one. Complexity: for most others one comparison.
  [[nodiscard]] ASHLAR_INLINE group* find(const void* p) noexcept {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(p) - value_of(begin_);
    if (ASHLAR_LIKELY(offset >= value_of(bytes_))) return nullptr;
    group& of = groups[offset >> slice_shift_];
    return ASHLAR_LIKELY(of.has(p)) ? &of : nullptr;
  }
  [[nodiscard]] ASHLAR_INLINE bool has(const void* p) noexcept { return find(p) != nullptr; }
  /// Returns: the number of the group of a block. Expects: it is a routed one.
  [[nodiscard]] ASHLAR_INLINE std::size_t number_of(const void* p) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(p) - value_of(begin_)) >> slice_shift_;
  }
  [[nodiscard]] ASHLAR_INLINE group& group_of(const void* p) noexcept { return groups[number_of(p)]; }

  /// Effects: chooses the range. `decay_ms`: after which free chunks leave their memory. Expects: it is called once; no
  /// group is in use.
  void begin(const planned_group* plans, std::size_t n, std::uint32_t decay_ms) noexcept;

  /// Effects: as `group::release_idle`, of all groups, before `bytes` are taken of the system. Complexity: O(1) while
  /// no more is free than may be.
  void release_idle(std::size_t bytes) noexcept;
  /// Effects: counts free chunks with memory.
  void count_warm(std::size_t more, std::size_t less) noexcept {
    warm_bytes_.fetch_add(more - less, detail::memory_order_relaxed);
  }

private:
  // While there is no range, other threads compare with an address that no block has, for any number of bytes that they
  // see.
  static constexpr std::uintptr_t nowhere = std::uintptr_t{1} << 63;

  atomic<std::uintptr_t> begin_ = nowhere;
  atomic<std::size_t> bytes_ = 0;
  std::uint32_t slice_shift_ = 0;
  atomic<std::size_t> warm_bytes_ = 0;
};
extern constinit ASHLAR_OF_THIS_LIBRARY group_range range;

}  // namespace ashlar::route
