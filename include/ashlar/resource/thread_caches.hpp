// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The caches that the calling thread has in pools that come and go.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/os/thread_end.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// One cache of one thread. The owner puts it into a larger object and says how that is retired.
struct thread_cache_record {
  thread_cache_record* next = nullptr;
  std::uint64_t pool = 0;  ///< the pool's number, see `thread_caches::new_pool`
  void* cache = nullptr;
  /// Returns: whether the pool is gone. It is asked where locks of other pools are held, so it takes none.
  bool (*is_orphan)(thread_cache_record*) noexcept = nullptr;
  /// Effects: gives everything back, where the pool still is, and ends the record.
  void (*retire)(thread_cache_record*) noexcept = nullptr;
};

/// The caches of one thread: all of them, and where those used last are found at once.
struct thread_cache_directory {
  static constexpr std::size_t table_size = 16;

  struct recent {
    std::uint64_t pool = 0;
    void* cache = nullptr;
  };

  enum class state : unsigned char { fresh, open, ended };

  recent table[table_size] = {};
  thread_cache_record* first = nullptr;
  state is = state::fresh;
  os::thread_end_participant at_end = {};
};

/// Finds a thread's cache by the number of the pool; numbers are never used twice, so what is left of a pool that is
/// gone is never found. All caches are retired when the thread ends.
/// Thread safety: each thread sees its own.
class thread_caches {
  using recent = thread_cache_directory::recent;
  using state = thread_cache_directory::state;
  static constexpr std::size_t table_size = thread_cache_directory::table_size;

public:
  /// Returns: a number that no pool of this process ever had.
  [[nodiscard]] static std::uint64_t new_pool() noexcept {
    return last_pool_.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  /// Returns: the cache, or null where `find_slowly` must look. Three loads and a compare.
  [[nodiscard]] static ASHLAR_INLINE void* find(std::uint64_t pool) noexcept {
    const recent& latest = mine_.table[pool % table_size];
    return ASHLAR_LIKELY(latest.pool == pool) ? latest.cache : nullptr;
  }

  /// Returns: the cache, or null where this thread has none in that pool. Complexity: O(caches of this thread).
  [[nodiscard]] static ASHLAR_COLD void* find_slowly(std::uint64_t pool) noexcept {
    retire_orphans();
    for (thread_cache_record* each = mine_.first; each != nullptr; each = each->next)
      if (each->pool == pool) return remember(*each);
    return nullptr;
  }

  /// As `find_slowly`, but it neither retires nor remembers anything: for a fork.
  [[nodiscard]] static ASHLAR_COLD void* find_unchanged(std::uint64_t pool) noexcept {
    for (const thread_cache_record* each = mine_.first; each != nullptr; each = each->next)
      if (each->pool == pool) return each->cache;
    return nullptr;
  }

  /// Returns: whether the thread may still have caches; it may not while it ends.
  [[nodiscard]] static bool accepts() noexcept {
    if (ASHLAR_UNLIKELY(mine_.is == state::fresh))
      mine_.is = os::thread_end::enter(mine_.at_end) ? state::open : state::ended;
    return mine_.is == state::open;
  }

  /// Effects: adds a record. Expects: `accepts()` has said so.
  static void enter(thread_cache_record* fresh) noexcept {
    fresh->next = mine_.first;
    mine_.first = fresh;
    remember(*fresh);
  }

private:
  static void retire_all(os::thread_end_participant*) noexcept {
    mine_.is = state::ended;
    while (mine_.first != nullptr) retire(&mine_.first);
  }

  static void* remember(const thread_cache_record& record) noexcept {
    mine_.table[record.pool % table_size] = {record.pool, record.cache};
    return record.cache;
  }

  static void retire_orphans() noexcept {
    for (thread_cache_record** at = &mine_.first; *at != nullptr;)
      if ((*at)->is_orphan(*at)) retire(at);
      else at = &(*at)->next;
  }

  static void retire(thread_cache_record** at) noexcept {
    thread_cache_record* const leaving = *at;
    recent& latest = mine_.table[leaving->pool % table_size];
    if (latest.pool == leaving->pool) latest = {};
    *at = leaving->next;
    leaving->retire(leaving);
  }

  static inline constinit thread_local thread_cache_directory mine_ = {.at_end = {.at_end = retire_all}};
  static inline std::atomic<std::uint64_t> last_pool_ = 0;
};

}  // namespace ashlar::inline ASHLAR_ABI
