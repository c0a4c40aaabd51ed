// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the calling thread used last, of objects that come and go: found by their address, by one compare.
#pragma once

#include <atomic>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/os/calls.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Two thread-local words, each found by itself: GCC computes the address of what is not the first in an object.
template <class First, class Second>
struct thread_words_apart {
  [[nodiscard]] static ASHLAR_INLINE First& first() noexcept { return first_; }
  [[nodiscard]] static ASHLAR_INLINE Second& second() noexcept { return second_; }

private:
  static inline constinit thread_local First first_ = nullptr;
  static inline constinit thread_local Second second_ = nullptr;
};

/// Two thread-local words, found by one call where finding is a call.
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

/// One place for each thread: an owner, and what the thread has there. An address is found only while that owner lives:
/// `forget` takes it out of a thread's place before another object may stand there, whoever ends the owner. Libraries
/// that are loaded late have no room in the static thread-local storage, so none is asked for: there the place costs a
/// call, unless the library is compiled with `-ftls-model=initial-exec` and loaded at the start.
/// Thread safety: each thread sees its own place, where nothing else is said.
template <class Owner, class Found, bool IsLibraryCode = ASHLAR_IS_LIBRARY_CODE>
class last_used_tls {
  using owner_word = std::atomic<const Owner*>;
  using found_word = std::atomic<Found*>;
  using words = std::conditional_t<IsLibraryCode, thread_words_together<owner_word, found_word>,
                                   thread_words_apart<owner_word, found_word>>;

public:
  /// Where a thread's place is.
  struct place {
    owner_word* owner = nullptr;
    found_word* found = nullptr;
  };

  /// Returns: what the thread has of this owner; null where it is another that was used last.
  [[nodiscard]] static ASHLAR_INLINE Found* of(const Owner* owner) noexcept {
    if (ASHLAR_UNLIKELY(words::first().load(std::memory_order_relaxed) != owner)) return nullptr;
    Found* const what = found();
    ASHLAR_ASSUME(what != nullptr);
    return what;
  }

  /// Returns: what the thread has of the owner that it used last, or null.
  [[nodiscard]] static ASHLAR_INLINE Found* found() noexcept { return words::second().load(std::memory_order_relaxed); }

  /// Effects: `of(owner)` and `found()` are `what`. Returns: the place, for `forget`, without which the owner may not
  /// end. Expects: neither is null.
  static place remember(const Owner* owner, Found* what) noexcept {
    words::second().store(what, std::memory_order_relaxed);
    words::first().store(owner, std::memory_order_relaxed);
    return {&words::first(), &words::second()};
  }

  /// Effects: nobody finds `what` in that place any more. A place that is none is left alone. Thread safety: any
  /// thread, whatever the place's own thread does with other owners meanwhile; it does nothing with this one.
  static void forget(const place& at, const Owner* owner, Found* what) noexcept {
    if (at.owner == nullptr || (at.owner != &words::first() && !is_there(at))) return;
    if (at.owner->load(std::memory_order_relaxed) != owner || at.found->load(std::memory_order_relaxed) != what) return;
    at.owner->compare_exchange_strong(owner, nullptr, std::memory_order_relaxed);
    at.found->compare_exchange_strong(what, nullptr, std::memory_order_relaxed);
  }

private:
  // A thread whose end was missed, see `thread_end`, is remembered for ever, and its place may be gone.
  [[nodiscard]] static bool is_there(const place& at) noexcept {
    return os::system_calls::is_mapped(at.owner, sizeof *at.owner) &&
           os::system_calls::is_mapped(at.found, sizeof *at.found);
  }
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
