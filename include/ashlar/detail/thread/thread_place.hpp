// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a thread finds its part of an owner, and how others take the part from a thread that is idle.
#pragma once

#include <cstddef>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/os/process_barrier.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The thread-local place of a part. Its thread uses the part between `enter` and `leave`, and looks it up in between.
/// Thread safety: its thread; the rest is of `thread_places`.
template <class T>
struct thread_place {
  /// Whether others take parts. Then a part has a member `moves` for `thread_places`, with an `atomic<thread_place<T>*>
  /// place`, an `atomic<bool> is_asked_for`, and the number of its `thread`.
  static constexpr bool parts_move = process_barrier::is_possible && requires { requires T::may_move; };

  explicit constexpr thread_place(T* none) noexcept : part(none) {}

  [[nodiscard]] ASHLAR_INLINE T* get() const noexcept { return part.load(memory_order_relaxed); }
  ASHLAR_INLINE void enter() noexcept {
    if constexpr (parts_move) is_inside.store(true, memory_order_relaxed), process_barrier::expect();
  }
  ASHLAR_INLINE void leave() noexcept {
    if constexpr (parts_move) is_inside.store(false, memory_order_release);  // pairs with ask()
  }

  atomic<T*> part;
  atomic<bool> is_inside = false;
  atomic<T*> asked_for = nullptr;
  bool stays = false;  // read and written by the thread
};

/// The places of an owner's parts. A thread uses its part without an atomic operation or a fence; another one asks for
/// the part, and takes it later, unless the thread has come back in between:
///
///     thread       is_inside = true      look up   … use …      is_inside = false     a plain store each
///     another      part = none           barrier of the process     is_inside? the part is put back : it is asked for
///     later        the thread finds none, and takes its part back   or another one takes it, and the thread gets a new one
///
/// Either the thread finds none, or the other sees it inside: the barrier of the process stands for the fence that the
/// thread does not have. So no thread uses a part that is asked for, and what its last user wrote is visible to who
/// takes it. Thread safety: any thread, for its own place.
template <class T>
class thread_places {
  using place = thread_place<T>;

public:
  /// `none`: what a thread without a part finds.
  explicit constexpr thread_places(T* none) noexcept : none_(none) {}

  /// Effects: gives the thread another part, or none. Returns: its former one, also one that is asked for; or none.
  T* exchange(place& of, T* next) noexcept {
    const scope held(lock_);
    T* const last = take_back(of);
    if constexpr (place::parts_move) {
      // null: while the system loads the program, thread-local objects have no values yet
      if (last != none_ && last != nullptr) last->moves.place.store(nullptr, memory_order_relaxed);
    }
    of.part.store(next, memory_order_relaxed);
    return last;
  }

  /// Effects: from now on others may ask for the thread's part: until it has another one, or the end of the thread
  /// begins.
  void let_move(place& of) noexcept {
    if constexpr (place::parts_move) {
      T* const part = of.get();
      if (of.stays || part == none_ || part == nullptr || part->moves.place.load(memory_order_relaxed) != nullptr)
        return;
      const scope held(lock_);
      if (of.get() != part) return;
      part->moves.thread = process_barrier::this_thread();
      part->moves.place.store(&of, memory_order_relaxed);
    }
  }

  /// Effects: from now on the thread's parts stay. Called as its end begins.
  void stay(place& of) noexcept {
    const scope held(lock_);
    of.stays = true;
    T* const part = take_back(of);
    if constexpr (place::parts_move)
      if (part != none_ && part != nullptr) part->moves.place.store(nullptr, memory_order_relaxed);
  }

  /// Returns: the thread's part, also one that is asked for; or none. Complexity: two loads, or a lock.
  [[nodiscard]] T* find(place& of) noexcept {
    static_cast<void>(of.part.load(memory_order_acquire));  // after none the next load finds what is asked for
    if (of.asked_for.load(memory_order_acquire) == nullptr) return of.get();
    const scope held(lock_);
    return take_back(of);
  }

  /// Effects: asks for parts of threads that are not inside. Complexity: one barrier for all, while no lock is held. No
  /// effect where the system has none. Expects: no other thread asks.
  void ask(T* const* parts, std::size_t count) noexcept {
    if constexpr (place::parts_move) {
      const auto each_place = [&](auto f) {
        const scope held(lock_);
        for (std::size_t i = 0; i < count; ++i)
          if (place* const of = parts[i]->moves.place.load(memory_order_relaxed); of != nullptr) f(*of, *parts[i]);
      };
      bool is_any_asked = false;
      each_place([&](place& of, T& part) {
        if (!may_ask(of, part)) return;
        of.asked_for.store(&part, memory_order_relaxed);
        of.part.store(none_, memory_order_release);  // pairs with find()
        is_any_asked = true;
      });
      if (!is_any_asked) return;
      const bool is_passed = process_barrier::pass();
      each_place([&](place& of, T& part) {
        if (!is_there(part) || of.asked_for.load(memory_order_relaxed) != &part) return;  // or it has come back
        const bool is_idle = is_passed && !of.is_inside.load(memory_order_acquire);       // pairs with leave()
        if (is_idle) part.moves.is_asked_for.store(true, memory_order_relaxed);
        else take_back(of);
      });
    }
  }

  /// Effects: takes a part from its thread. Returns: whether it was still asked for; then it is the caller's.
  [[nodiscard]] bool try_take(T& part) noexcept {
    if constexpr (!place::parts_move) return false;
    else {
      const scope held(lock_);
      if (!part.moves.is_asked_for.load(memory_order_relaxed)) return false;
      if (!is_there(part)) return false;
      place& of = *part.moves.place.load(memory_order_relaxed);
      of.asked_for.store(nullptr, memory_order_relaxed);
      forget(part);
      return true;
    }
  }

  /// Effects: forgets the thread of a part; in a forked child, which lacks that thread.
  static void forget(T& part) noexcept {
    if constexpr (place::parts_move) {
      part.moves.place.store(nullptr, memory_order_relaxed);
      part.moves.is_asked_for.store(false, memory_order_relaxed);
    }
  }

  void before_fork() noexcept { lock_.lock(); }
  void after_fork() noexcept { lock_.unlock(); }

private:
  using scope = check_scope<spin_lock>;

  // A thread may have ended without a call of `stay`: then its place is gone with its stack.
  [[nodiscard]] static bool is_there(T& part) noexcept {
    return process_barrier::is_running(part.moves.thread) || (forget(part), false);
  }

  [[nodiscard]] static bool may_ask(const place& of, T& part) noexcept {
    return is_there(part) && of.get() == &part && !of.is_inside.load(memory_order_relaxed);
  }

  // Under the lock. Returns: the part of the thread, or none.
  T* take_back(place& of) noexcept {
    if constexpr (place::parts_move)
      if (T* const asked_for = of.asked_for.load(memory_order_relaxed); asked_for != nullptr) {
        asked_for->moves.is_asked_for.store(false, memory_order_relaxed);
        of.part.store(asked_for, memory_order_relaxed);
        of.asked_for.store(nullptr, memory_order_release);  // pairs with find()
      }
    return of.get();
  }

  spin_lock lock_;
  T* none_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
