// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The directory of a thread's parts in pools, sets and heaps, found by the number of their owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/system/system_calls.hpp>
#include <ashlar/detail/thread/thread_end.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A thread's part in one owner. The owner embeds it in a larger object and supplies the functions.
struct thread_entry {
  thread_entry* next_of_thread = nullptr;
  std::uint64_t number = 0;  ///< of the owner, see `thread_directory::new_number`
  void* found = nullptr;     ///< the result of `find`; null: only `find_slow` finds the entry
  /// Returns: whether the owner is destroyed. Takes no lock, since callers may hold locks of other owners.
  bool (*is_orphan)(thread_entry*) noexcept = nullptr;
  /// Effects: returns the contents to the owner, if it still exists, and ends the entry.
  void (*retire)(thread_entry*) noexcept = nullptr;
};

/// The parts of one thread.
struct thread_parts {
  static constexpr std::size_t table_size = 16;

  struct alignas(16) place {
    std::uint64_t number = 0;
    void* found = nullptr;  // null only if `number` is 0
  };

  enum class state : unsigned char { fresh, open, ended };

  place table[table_size] = {};
  thread_entry* first = nullptr;
  state is = state::fresh;
  thread_end_participant at_end = {};
};

/// Finds a thread's part by the number of its owner: in a list of all, behind a direct-mapped table of those used last.
/// Numbers are never reused, so the remains of a destroyed owner are never found. All are retired when the thread ends.
///
///     number:  | page number: 36 bits | count: 20 bits | byte offset of the owner's place in the table: 8 bits |
///
/// The offset in the low byte saves its computation; no number is 0. A process may contain several copies of this
/// class, as with a library that hides its symbols, and any copy may serve any owner. To keep numbers of all copies
/// distinct, their high bits are the number of a page that is never returned to the system: one page for each copy of
/// this class, and one more for every 2^20 owners. Thread safety: each thread sees its own parts.
class thread_directory {
  using place = thread_parts::place;
  using state = thread_parts::state;
  static constexpr std::size_t table_size = thread_parts::table_size;

public:
  /// Returns: a number that is new in this process.
  [[nodiscard]] static std::uint64_t new_number() noexcept {
    std::uint64_t last = last_number_.load(memory_order_relaxed), count = 0;
    do count = (last + 1) % numbers_a_page != 0 ? last + 1 : first_of_page();
    while (!last_number_.compare_exchange_weak(last, count, memory_order_relaxed, memory_order_relaxed));
    return count * 256 + count % table_size * sizeof(place);
  }

  /// Returns: the `found` of the entry, or null if the table does not contain it (see `find_slow`). Complexity: a
  /// compare and a load.
  [[nodiscard]] static ASHLAR_INLINE void* find(std::uint64_t number) noexcept {
    const place& latest = place_of(number);
    if (ASHLAR_UNLIKELY(latest.number != number)) return nullptr;
    void* const found = latest.found;
    ASHLAR_ASSUME(found != nullptr);
    return found;
  }

  /// Effects: enters the part into the table. Returns: its entry, or null if this thread has no part in that owner.
  /// Complexity: O(parts of this thread).
  [[nodiscard]] static ASHLAR_COLD thread_entry* find_slow(std::uint64_t number) noexcept {
    retire_orphans();
    thread_entry* const known = find_unchanged(number);
    if (known != nullptr) remember(*known);
    return known;
  }

  /// As `find_slow`, but changes nothing: for a fork.
  [[nodiscard]] static ASHLAR_COLD thread_entry* find_unchanged(std::uint64_t number) noexcept {
    thread_entry* each = mine_.first;
    while (each != nullptr && each->number != number) each = each->next_of_thread;
    return each;
  }

  /// Returns: whether the thread may have parts; false while it ends.
  [[nodiscard]] static bool accepts() noexcept {
    if (ASHLAR_UNLIKELY(mine_.is == state::fresh))
      mine_.is = thread_end::enter(mine_.at_end) ? state::open : state::ended;
    return mine_.is == state::open;
  }

  /// Effects: adds an entry. Expects: `accepts()` returned true.
  static void enter(thread_entry* fresh) noexcept {
    fresh->next_of_thread = std::exchange(mine_.first, fresh);
    remember(*fresh);
  }

  /// Effects: `find` finds the entry from now on, if its `found` is not null. Expects: it is of this thread.
  static void remember(const thread_entry& entry) noexcept {
    if (entry.found != nullptr) place_of(entry.number) = {entry.number, entry.found};
  }

private:
  // If the system has no page left, the address of this copy's data replaces it: unique among loaded copies, but not
  // against a copy that is loaded after this one is closed. This takes many libraries on 32 bits.
  [[nodiscard]] static ASHLAR_COLD std::uint64_t first_of_page() noexcept {
    const void* const page = system_calls::map(4096, false);
    return address_of(page != nullptr ? page : &last_number_) / 4096 * numbers_a_page;
  }

  static void retire_all(thread_end_participant*) noexcept {
    mine_.is = state::ended;
    while (mine_.first != nullptr) retire(&mine_.first);
  }

  [[nodiscard]] static ASHLAR_INLINE place& place_of(std::uint64_t number) noexcept {
    return *reinterpret_cast<place*>(reinterpret_cast<std::byte*>(mine_.table) + static_cast<std::uint8_t>(number));
  }

  static void retire_orphans() noexcept {
    for (thread_entry** at = &mine_.first; *at != nullptr;)
      if ((*at)->is_orphan(*at)) retire(at);
      else at = &(*at)->next_of_thread;
  }

  static void retire(thread_entry** at) noexcept {
    thread_entry* const leaving = *at;
    if (place& latest = place_of(leaving->number); latest.number == leaving->number) latest = {};
    *at = leaving->next_of_thread;
    leaving->retire(leaving);
  }

  static inline constinit thread_local thread_parts mine_ = {.at_end = {.at_end = retire_all}};
  static constexpr std::uint64_t numbers_a_page = std::uint64_t{1} << 20;  // 36 bits of an address above, 8 bits below
  static inline constinit atomic<std::uint64_t> last_number_ = numbers_a_page - 1;

  static_assert(sizeof(place) * table_size == 256, "the low byte of a number gives each place in the table");
};

}  // namespace ashlar::ASHLAR_ABI::detail
