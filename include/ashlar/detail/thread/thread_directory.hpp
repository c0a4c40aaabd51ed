// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The directory of a thread's parts in pools, sets and heaps, found by the number of their owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/thread/thread_end.hpp>
#include <ashlar/os/system_calls.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A thread's part in one owner. The owner embeds it in a larger object and supplies the functions.
struct thread_entry {
  thread_entry* next_of_thread = nullptr;
  std::uint64_t number = 0;  ///< of the owner, see `thread_directory::new_number`
  void* found = nullptr;     ///< the result of `find`; null: only `find_slow` finds the entry
  struct functions {
    /// Returns: whether the owner is destroyed. Takes no lock, since callers may hold locks of other owners.
    bool (*is_orphan)(thread_entry*) noexcept;
    /// Effects: returns the contents to the owner, if it still exists, and ends the entry.
    void (*retire)(thread_entry*) noexcept;
  };
  const functions* calls = nullptr;
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
      if ((*at)->calls->is_orphan(*at)) retire(at);
      else at = &(*at)->next_of_thread;
  }

  static void retire(thread_entry** at) noexcept {
    thread_entry* const leaving = *at;
    if (place& latest = place_of(leaving->number); latest.number == leaving->number) latest = {};
    *at = leaving->next_of_thread;
    leaving->calls->retire(leaving);
  }

  static inline constinit thread_local thread_parts mine_ = {.at_end = {.at_end = retire_all}};
  static constexpr std::uint64_t numbers_a_page = std::uint64_t{1} << 20;  // 36 bits of an address above, 8 bits below
  static inline constinit atomic<std::uint64_t> last_number_ = numbers_a_page - 1;

  static_assert(sizeof(place) * table_size == 256, "the low byte of a number gives each place in the table");
};

/// Two separate thread-local words: GCC computes the address of a second member at run time.
template <class First, class Second>
struct thread_words_apart {
  [[nodiscard]] static ASHLAR_INLINE First& first() noexcept { return first_; }
  [[nodiscard]] static ASHLAR_INLINE Second& second() noexcept { return second_; }

private:
  static inline constinit thread_local First first_ = nullptr;
  static inline constinit thread_local Second second_ = nullptr;
};

/// Two thread-local words in one object, found by one call in a library that finds thread-local variables by calls.
template <class First, class Second>
struct thread_words_together {
  [[nodiscard]] static ASHLAR_INLINE First& first() noexcept { return both_.first; }
  [[nodiscard]] static ASHLAR_INLINE Second& second() noexcept { return both_.second; }

private:
  struct pair {
    First first = nullptr;
    Second second = nullptr;
  };
  static inline constinit thread_local pair both_ = {};
};

/// One place for each thread: an owner and the thread's data there. An owner is found only while it lives: `forget`
/// clears the place before another object can have its address, in whichever thread the owner ends. Libraries loaded
/// late have no guaranteed room in static thread-local storage, so the place does not use it: it costs a call there,
/// unless the library is compiled with `-ftls-model=initial-exec` and loaded at the start.
///
///     code of a program reads its words apart  <--+-- remember() writes all four
///     code of a library reads its words together <+
///
/// A program may contain both kinds of code, and each function that is not inlined once, of either kind.
/// Thread safety: each thread sees its own place, unless stated otherwise.
template <class Owner, class Found, bool IsLibraryCode = ASHLAR_IS_LIBRARY_CODE>
class last_used_tls {
  using owner_word = atomic<const Owner*>;
  using found_word = atomic<Found*>;
  using program_words = thread_words_apart<owner_word, found_word>;
  using library_words = thread_words_together<owner_word, found_word>;
  using words = std::conditional_t<IsLibraryCode, library_words, program_words>;

public:
  /// The addresses of two words of a thread.
  struct word_place {
    owner_word* owner = nullptr;
    found_word* found = nullptr;
  };
  /// The addresses of a thread's place.
  struct place {
    word_place program = {};
    word_place library = {};
  };

  /// Returns: the thread's data of this owner; null if the thread used another one last.
  [[nodiscard]] static ASHLAR_INLINE Found* of(const Owner* owner) noexcept {
    if (ASHLAR_UNLIKELY(!is_of(owner))) return nullptr;
    Found* const what = found();
    ASHLAR_ASSUME(what != nullptr);
    return what;
  }

  /// Returns: whether the thread used this owner last.
  [[nodiscard]] static ASHLAR_INLINE bool is_of(const Owner* owner) noexcept {
    return words::first().load(memory_order_relaxed) == owner;
  }

  /// Returns: the thread's data of the owner that it used last, or null.
  [[nodiscard]] static ASHLAR_INLINE Found* found() noexcept { return words::second().load(memory_order_relaxed); }

  /// Effects: `of(owner)` and `found()` return `what` from now on, in both kinds of code. Returns: the place for
  /// `forget`, which must be called before the owner ends. Expects: neither argument is null.
  static place remember(const Owner* owner, Found* what) noexcept {
    return {write<program_words>(owner, what), write<library_words>(owner, what)};
  }

  /// Returns: whether the place belongs to the calling thread, so that the next `remember` overwrites it.
  [[nodiscard]] static bool is_here(const place& at) noexcept {
    return at.program.owner == &program_words::first() && at.library.owner == &library_words::first();
  }

  /// Effects: removes `owner` and `what` from the place. Ignores an empty place. Thread safety: any thread; the thread
  /// of the place may use other owners at the same time, but not this one.
  static void forget(const place& at, const Owner* owner, Found* what) noexcept {
    erase<program_words>(at.program, owner, what);
    erase<library_words>(at.library, owner, what);
  }

private:
  template <class Words>
  static word_place write(const Owner* owner, Found* what) noexcept {
    Words::second().store(what, memory_order_relaxed);
    Words::first().store(owner, memory_order_relaxed);
    return {&Words::first(), &Words::second()};
  }

  template <class Words>
  static void erase(const word_place& at, const Owner* owner, Found* what) noexcept {
    if (at.owner == nullptr || (at.owner != &Words::first() && !is_there(at))) return;
    if (at.owner->load(memory_order_relaxed) != owner || at.found->load(memory_order_relaxed) != what) return;
    at.owner->compare_exchange_strong(owner, nullptr, memory_order_relaxed, memory_order_relaxed);
    at.found->compare_exchange_strong(what, nullptr, memory_order_relaxed, memory_order_relaxed);
  }

  // `thread_end` may miss the end of a thread; its place stays recorded, although its memory may be unmapped.
  [[nodiscard]] static bool is_there(const word_place& at) noexcept {
    return system_calls::is_mapped(at.owner, sizeof *at.owner) && system_calls::is_mapped(at.found, sizeof *at.found);
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
