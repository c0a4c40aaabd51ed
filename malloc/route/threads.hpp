// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The routed blocks of a thread: it allocates from chunks of its own; other threads hand their frees to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/process_threads.hpp>

#include "malloc/route/chunk.hpp"
#include "malloc/route/group.hpp"

namespace ashlar::route {

/// What a thread has of one group.
struct thread_share {
  chunk* current = nullptr;    ///< null: none yet
  chunk* with_free = nullptr;  ///< other chunks of a pool with free cells
  /// Allocations until the period ends. The thread's own; the report reads it, as it is by then.
  std::uint32_t until = period;
  atomic<std::uint32_t> periods = 0;  ///< that have ended
  atomic<std::uint64_t> bytes = 0;    ///< handed out in former chunks of an arena

  static constexpr std::uint32_t period = 4096;

  /// Returns: allocations so far.
  [[nodiscard]] std::uint64_t count() const noexcept {
    return std::uint64_t{value_of(periods)} * period + (period - until);
  }
};

/// The chunks of a thread. A thread that ends leaves its record, with its chunks, to the next thread; until then those
/// that free a block of it do its work.
///
///     free by another thread -> inbox -> the owner, when a chunk is exhausted
///                                     -> the freeing thread itself, while the record has no owner
///
/// Records are never released.
struct alignas(64) thread_record {
  enum class state : std::uint32_t {
    owned,
    idle,  ///< of a thread that has ended
    busy,  ///< a thread frees the blocks in the inbox of an idle record
    lost   ///< of a thread that a fork left behind in the middle of anything: its chunks stay as they are
  };

  thread_share shares[most_groups];
  alignas(64) atomic<free_block*> inbox = nullptr;
  atomic<state> now = state::owned;
  thread_record* next = nullptr;  ///< in the list of all records
};

/// All records: the owner of the parts of threads.
class thread_records {
public:
  constexpr thread_records() noexcept = default;

  /// @{ For `process_threads`.
  void enter_registry() noexcept {}
  [[nodiscard]] thread_record* begin_thread() noexcept;
  void end_thread(thread_record& leaving) noexcept;
  void before_fork(detail::fork_step step) noexcept;
  void after_fork_in_parent() noexcept;
  void after_fork_in_child(thread_record* mine) noexcept;
  /// @}

  /// Returns: the record of the calling thread, or one without chunks.
  [[nodiscard]] static ASHLAR_INLINE thread_record* last_used() noexcept { return parts::last_used(); }
  /// Returns: the record of the calling thread; null at its end, and without memory.
  [[nodiscard]] thread_record* find_or_attach() noexcept { return threads_.find_or_attach(); }

  /// Returns: allocations of the group so far, and their bytes.
  void sum(std::size_t number, std::uint64_t& count, std::uint64_t& bytes) const noexcept;

private:
  using parts = detail::process_threads<thread_records, thread_record>;

  [[nodiscard]] thread_record* adopt() noexcept;

  atomic<thread_record*> first_ = nullptr;
  parts threads_{*this};
};
extern constinit ASHLAR_OF_THIS_LIBRARY thread_records records;

/// Returns: a block of the group with that number, after a miss of the fast paths below; null: the default heap is to
/// serve. Thread safety: any thread.
[[nodiscard]] ASHLAR_NOINLINE void* allocate_slow(std::size_t number, std::size_t bytes) noexcept;
/// Effects: ends a period of allocations: a group whose blocks die young is given up. Returns: `p`.
[[nodiscard]] ASHLAR_NOINLINE void* end_period(std::size_t number, void* p) noexcept;
/// Effects: frees a block that is another thread's, or whose chunk has to change lists.
ASHLAR_NOINLINE void deallocate_remote(chunk& of, void* p) noexcept;
ASHLAR_NOINLINE void settle(thread_record& owner, group& of, chunk& changed) noexcept;

/// Returns: a cell or a block of the chunk, or null.
[[nodiscard]] ASHLAR_INLINE void* take_cell(chunk& from, std::size_t cell_bytes) noexcept {
  if (free_block* const cell = from.free; cell != nullptr) {
    from.free = cell->next;
    add(from.used, std::uint32_t{1});
    return cell;
  }
  std::byte* const fresh = value_of(from.fresh);
  if (fresh == from.end) return nullptr;
  ASHLAR_ASSUME(fresh != nullptr);
  set(from.fresh, fresh + cell_bytes);
  add(from.used, std::uint32_t{1});
  return fresh;
}
[[nodiscard]] ASHLAR_INLINE void* take_block(chunk& from, std::size_t bytes) noexcept {
  const std::size_t whole = (bytes + (granule - 1)) & ~(granule - 1);
  std::byte* const fresh = value_of(from.fresh);
  if (static_cast<std::size_t>(from.end - fresh) < whole) return nullptr;
  ASHLAR_ASSUME(fresh != nullptr);
  marks::put(from, static_cast<std::size_t>(fresh - from.begin) / granule);
  from.fresh.store(fresh + whole, detail::memory_order_release);  // pairs with usable_size()
  add(from.used, std::uint32_t{1});
  add(from.taken, std::uint32_t{1});
  return fresh;
}

/// Effects: counts an allocation. Returns: `p`.
[[nodiscard]] ASHLAR_INLINE void* counted(thread_share& mine, std::size_t number, void* p) noexcept {
  return ASHLAR_UNLIKELY(--mine.until == 0) ? end_period(number, p) : p;
}

/// Returns: what `Take`, which is `take_cell` for a pool and `take_block` for an arena, takes of the thread's current
/// chunk, or what `miss()` returns. Thread safety: any thread.
template <auto Take, class Miss>
[[nodiscard]] ASHLAR_INLINE void* allocate_by(std::size_t number, std::size_t bytes,
                                              Miss miss) noexcept(noexcept(miss())) {
  thread_share& mine = thread_records::last_used()->shares[number];
  if (ASHLAR_UNLIKELY(mine.current == nullptr)) return miss();
  void* const p = Take(*mine.current, bytes);
  return ASHLAR_LIKELY(p != nullptr) ? counted(mine, number, p) : miss();
}

/// Effects: frees a block of a chunk of the record `owner`, which the calling thread has.
ASHLAR_INLINE void deallocate_own(thread_record& owner, group& of, chunk& from, void* p) noexcept {
  if (of.is_pool()) {
    auto* const cell = static_cast<free_block*>(p);
    cell->next = from.free;
    from.free = cell;
  }
  const std::uint32_t left = value_of(from.used) - 1;
  set(from.used, left);
  if (ASHLAR_UNLIKELY(left < from.wake)) settle(owner, of, from);
}

/// Effects: frees a block of the group. Thread safety: any thread.
ASHLAR_INLINE void deallocate(group& of, void* p) noexcept {
  chunk& from = of.chunk_of(p);
  thread_record* const mine = thread_records::last_used();
  if (ASHLAR_UNLIKELY(from.owner.load(detail::memory_order_relaxed) != mine)) return deallocate_remote(from, p);
  deallocate_own(*mine, of, from, p);
}

/// Returns: usable bytes of a routed block.
[[nodiscard]] std::size_t usable_size(const void* p) noexcept;
/// Returns: whether the routed block has at least `bytes` bytes now, in place.
[[nodiscard]] bool try_expand(void* p, std::size_t bytes) noexcept;

}  // namespace ashlar::route
