// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The groups of a plan: each has a slice of one range of addresses, and hands chunks of it to threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

#include "malloc/route/chunk.hpp"
#include "malloc/route/text.hpp"

namespace ashlar::route {

/// What a group has done; figures may be those of different moments.
struct group_figures {
  std::size_t chunks = 0, most_chunks = 0;
  std::size_t pinned_when_given_up = 0;  ///< bytes
  bool is_given_up = false;
};

/// A group. Chunks come from a list of free ones, else from the rest of the slice; free ones leave their memory to
/// the system above a quarter of those in use, above the group's share of 1 MiB, at least 128 KiB, and above as many as
/// have come back from the system: so one that is filled and emptied again and again keeps its memory.
///
///     slice: | chunk 0 | chunk 1 | … | mapped | nothing |      heads: | head 0 | head 1 | … | nothing |
///
/// Nothing is reserved: the system is asked for memory at the end of what there is. So address space and limits on it
/// are those of the chunks alone, and a slice ends where another mapping is.
///
/// Guard: where the group takes a chunk, memory that is pinned, but neither live nor never used, is counted at each
/// growth by a 16th of its most chunks; beyond the budget the group gives out no chunks any more. Thread safety: any
/// thread.
class alignas(64) group {
public:
  /// Effects: takes the slice. Expects: no other thread knows the group.
  void begin(const planned_group& plan, std::size_t number, std::byte* slice, std::size_t slice_bytes,
             std::byte* heads) noexcept;

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
  /// has used up another one.
  [[nodiscard]] chunk* take_chunk(thread_record* owner, bool grows) noexcept;
  /// Expects: no block of the chunk is in use.
  void give_chunk(chunk& empty) noexcept;

  [[nodiscard]] group_figures figures() noexcept;

  /// @{ Over a fork.
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }
  /// @}

private:
  static constexpr std::size_t least_commit_bytes = std::size_t{1} << 20;
  static constexpr std::size_t warm_bytes = std::size_t{1} << 20;  // of all groups
  static constexpr std::size_t least_warm_bytes = std::size_t{1} << 17;

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
  void forget_unused() noexcept;
  void leave_to_system() noexcept;
  void guard() noexcept;
  [[nodiscard]] std::size_t pinned_bytes() const noexcept;

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
  chunk* warm_list_ = nullptr;                    // free chunks that have memory
  chunk* cold_list_ = nullptr;                    // free chunks whose memory the system has
  std::size_t chunks_ = 0, most_chunks_ = 0;      // in use
  std::size_t begun_ = 0;                         // chunks that have ever been in use
  std::size_t warm_ = 0, wanted_warm_ = 0;        // length of the warm list, and the one that is learnt
  std::size_t least_warm_ = 0, given_ = 0;        // least length, and chunks given back, since wanted ones were dropped
  std::size_t mapped_ = 0, committed_heads_ = 0;  // bytes, with the colour in front
  std::size_t colour_ = 0;                        // bytes of the first page before the first chunk, and the first head
  std::size_t populated_ = 0;                     // bytes of the slice that are resident, or have been in use
  std::size_t slice_bytes_ = 0;
  std::size_t next_guard_ = 0;  // chunks in use
  std::size_t budget_bytes_ = 0, pinned_when_given_up_ = 0;
  std::string_view name_;
};

/// All groups, and the range of addresses that has their slices.
class group_range {
public:
  group groups[most_groups];
  std::uint32_t count = 0;  ///< 0: nothing is routed

  /// Returns: whether the address lies in the range, where others may have mapped something too.
  [[nodiscard]] ASHLAR_INLINE bool includes(const void* p) const noexcept {
    return reinterpret_cast<std::uintptr_t>(p) - value_of(begin_) < value_of(bytes_);
  }
  /// Returns: whether a block is a routed one. Complexity: for most others one comparison.
  [[nodiscard]] ASHLAR_INLINE bool has(const void* p) const noexcept {
    return ASHLAR_UNLIKELY(includes(p)) && groups[number_of(p)].has(p);
  }
  /// Returns: the number of the group of a block. Expects: `includes(p)`.
  [[nodiscard]] ASHLAR_INLINE std::size_t number_of(const void* p) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(p) - value_of(begin_)) >> slice_shift_;
  }
  [[nodiscard]] ASHLAR_INLINE group& group_of(const void* p) noexcept { return groups[number_of(p)]; }

  /// Effects: chooses the range. Expects: it is called once; no group is in use.
  void begin(const planned_group* plans, std::size_t n) noexcept;

private:
  // While there is no range, other threads compare with an address that no block has, for any number of bytes that they
  // see.
  static constexpr std::uintptr_t nowhere = std::uintptr_t{1} << 63;

  atomic<std::uintptr_t> begin_ = nowhere;
  atomic<std::size_t> bytes_ = 0;
  std::uint32_t slice_shift_ = 0;
};
extern constinit ASHLAR_OF_THIS_LIBRARY group_range range;

}  // namespace ashlar::route
