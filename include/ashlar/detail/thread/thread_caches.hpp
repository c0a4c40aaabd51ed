// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The directory of a thread's caches in pools, found by the number of the pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/system/system_calls.hpp>
#include <ashlar/detail/thread/thread_end.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// One cache of one thread. The owner embeds it in a larger object and supplies the functions.
struct thread_cache_record {
  thread_cache_record* next = nullptr;
  std::uint64_t pool = 0;  ///< the pool's number, see `thread_caches::new_pool`
  void* cache = nullptr;   ///< what `find` returns
  /// Returns: whether the pool is destroyed. Takes no lock, since callers may hold locks of other pools.
  bool (*is_orphan)(thread_cache_record*) noexcept = nullptr;
  /// Effects: returns the contents to the pool, if it still exists, and ends the record.
  void (*retire)(thread_cache_record*) noexcept = nullptr;
};

/// The caches of one thread: a list of all, and a direct-mapped table of those used last.
struct thread_cache_directory {
  static constexpr std::size_t table_size = 16;

  struct alignas(16) recent {
    std::uint64_t pool = 0;
    void* cache = nullptr;  // null only if `pool` is 0
  };

  enum class state : unsigned char { fresh, open, ended };

  recent table[table_size] = {};
  thread_cache_record* first = nullptr;
  state is = state::fresh;
  thread_end_participant at_end = {};
};

/// Finds a thread's cache by the number of the pool. Numbers are never reused, so the remains of a destroyed pool are
/// never found. All caches are retired when the thread ends.
///
///     number:  | page number: 36 bits | count: 20 bits | byte offset of the pool's entry in the table: 8 bits |
///
/// The offset in the low byte saves its computation; no number is 0. A process may contain several copies of this
/// class, as with a library that hides its symbols, and any copy may serve any pool. To keep numbers of all copies
/// distinct, their high bits are the number of a page that is never returned to the system: one page for each copy of
/// this class, and one more for every 2^20 pools. Thread safety: each thread sees its own caches.
class thread_caches {
  using recent = thread_cache_directory::recent;
  using state = thread_cache_directory::state;
  static constexpr std::size_t table_size = thread_cache_directory::table_size;

public:
  /// Returns: a number that is new in this process.
  [[nodiscard]] static std::uint64_t new_pool() noexcept {
    std::uint64_t last = last_pool_.load(memory_order_relaxed), count = 0;
    do count = (last + 1) % pools_a_page != 0 ? last + 1 : first_of_page();
    while (!last_pool_.compare_exchange_weak(last, count, memory_order_relaxed, memory_order_relaxed));
    return count * 256 + count % table_size * sizeof(recent);
  }

  /// Returns: the cache, or null if the table does not contain it (see `find_slow`). Complexity: a compare and a load.
  [[nodiscard]] static ASHLAR_INLINE void* find(std::uint64_t pool) noexcept {
    const recent& latest = place_of(pool);
    if (ASHLAR_UNLIKELY(latest.pool != pool)) return nullptr;
    void* const found = latest.cache;
    ASHLAR_ASSUME(found != nullptr);
    return found;
  }

  /// Effects: enters the cache into the table. Returns: its record, or null if this thread has no cache in that pool.
  /// Complexity: O(caches of this thread).
  [[nodiscard]] static ASHLAR_COLD thread_cache_record* find_slow(std::uint64_t pool) noexcept {
    retire_orphans();
    thread_cache_record* const found = find_unchanged(pool);
    if (found != nullptr) remember(*found);
    return found;
  }

  /// As `find_slow`, but changes nothing: for a fork.
  [[nodiscard]] static ASHLAR_COLD thread_cache_record* find_unchanged(std::uint64_t pool) noexcept {
    thread_cache_record* each = mine_.first;
    while (each != nullptr && each->pool != pool) each = each->next;
    return each;
  }

  /// Returns: whether the thread may have caches; false while it ends.
  [[nodiscard]] static bool accepts() noexcept {
    if (ASHLAR_UNLIKELY(mine_.is == state::fresh))
      mine_.is = thread_end::enter(mine_.at_end) ? state::open : state::ended;
    return mine_.is == state::open;
  }

  /// Effects: adds a record. Expects: `accepts()` returned true.
  static void enter(thread_cache_record* fresh) noexcept {
    fresh->next = mine_.first;
    mine_.first = fresh;
    remember(*fresh);
  }

private:
  // If the system has no page left, the address of this copy's data replaces it: unique among loaded copies, but not
  // against a copy that is loaded after this one is closed. This takes many libraries on 32 bits.
  [[nodiscard]] static ASHLAR_COLD std::uint64_t first_of_page() noexcept {
    const void* const page = system_calls::map(4096, false);
    return address_of(page != nullptr ? page : &last_pool_) / 4096 * pools_a_page;
  }

  static void retire_all(thread_end_participant*) noexcept {
    mine_.is = state::ended;
    while (mine_.first != nullptr) retire(&mine_.first);
  }

  static void remember(const thread_cache_record& record) noexcept {
    place_of(record.pool) = {record.pool, record.cache};
  }

  static void forget(std::uint64_t pool) noexcept {
    if (recent& latest = place_of(pool); latest.pool == pool) latest = {};
  }

  [[nodiscard]] static ASHLAR_INLINE recent& place_of(std::uint64_t pool) noexcept {
    return *reinterpret_cast<recent*>(reinterpret_cast<std::byte*>(mine_.table) + static_cast<std::uint8_t>(pool));
  }

  static void retire_orphans() noexcept {
    for (thread_cache_record** at = &mine_.first; *at != nullptr;)
      if ((*at)->is_orphan(*at)) retire(at);
      else at = &(*at)->next;
  }

  static void retire(thread_cache_record** at) noexcept {
    thread_cache_record* const leaving = *at;
    forget(leaving->pool);
    *at = leaving->next;
    leaving->retire(leaving);
  }

  static inline constinit thread_local thread_cache_directory mine_ = {.at_end = {.at_end = retire_all}};
  static constexpr std::uint64_t pools_a_page = std::uint64_t{1} << 20;  // 36 bits of an address above, 8 bits below
  static inline constinit atomic<std::uint64_t> last_pool_ = pools_a_page - 1;

  static_assert(sizeof(recent) * table_size == 256, "the low byte of an index gives each place in the table");
};

}  // namespace ashlar::ASHLAR_ABI::detail
