// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread-local cache of the owner that the thread used last, and its data there: a lookup is one compare.
#pragma once

#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/system/system_calls.hpp>

namespace ashlar::ASHLAR_ABI::detail {

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
