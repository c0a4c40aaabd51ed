// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interface of models to the explorer; genmc/checker.hpp is the same for the other checker.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>

#include "operations.hpp"

namespace checker {

template <class T>
[[nodiscard]] std::uint64_t to_word(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return std::bit_cast<std::uintptr_t>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

template <class T>
[[nodiscard]] T from_word(std::uint64_t word) {
  if constexpr (std::is_pointer_v<T>) {
    return std::bit_cast<T>(static_cast<std::uintptr_t>(word));
  } else {
    return static_cast<T>(word);
  }
}

/// The part of std::atomic that the lock-free code uses, with every memory order explicit.
template <class T>
class watched_atomic {
public:
  // Shipped objects may be constant-initialised: they outlive each execution, and no model uses them.
  constexpr watched_atomic(T value = T{}) noexcept
      : number_{std::is_constant_evaluated() ? unwatched : explorer::new_atomic(to_word(value))} {}
  watched_atomic(const watched_atomic&) = delete;
  watched_atomic& operator=(const watched_atomic&) = delete;
  ~watched_atomic() {
    if (number_ != unwatched) explorer::end_atomic(number_);
  }

  [[nodiscard]] constexpr T load(std::memory_order order) const noexcept {
    if (std::is_constant_evaluated()) return T{};
    return from_word<T>(explorer::load(number_, order));
  }
  void store(T value, std::memory_order order) noexcept { explorer::store(number_, to_word(value), order); }
  T exchange(T value, std::memory_order order) noexcept { return modify(explorer::update::exchange, value, order); }
  T fetch_add(T value, std::memory_order order) noexcept { return modify(explorer::update::add, value, order); }
  T fetch_sub(T value, std::memory_order order) noexcept { return modify(explorer::update::subtract, value, order); }
  T fetch_and(T value, std::memory_order order) noexcept { return modify(explorer::update::and_, value, order); }
  T fetch_or(T value, std::memory_order order) noexcept { return modify(explorer::update::or_, value, order); }
  T fetch_xor(T value, std::memory_order order) noexcept { return modify(explorer::update::xor_, value, order); }

  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
    std::uint64_t word = to_word(expected);
    const bool done = explorer::compare_exchange(number_, word, to_word(desired), success, failure);
    if (!done) expected = from_word<T>(word);
    return done;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }

private:
  static constexpr std::size_t unwatched = std::numeric_limits<std::size_t>::max();

  T modify(explorer::update how, T value, std::memory_order order) noexcept {
    return from_word<T>(explorer::modify(number_, how, to_word(value), order));
  }

  std::size_t number_;
};

/// Shared data without an atomic: two unordered accesses, at least one of them a write, end the search.
template <class T>
class watched_plain {
public:
  watched_plain(T value = T{}) noexcept : value_{value} { explorer::made(watch_); }
  watched_plain(const watched_plain& other) noexcept : watched_plain{static_cast<T>(other)} {}
  watched_plain& operator=(const watched_plain& other) noexcept { return *this = static_cast<T>(other); }
  watched_plain& operator=(T value) noexcept {
    explorer::will_write(watch_);
    value_ = value;
    return *this;
  }
  operator T() const noexcept {
    explorer::will_read(watch_);
    return value_;
  }
  T operator->() const noexcept
    requires std::is_pointer_v<T>
  {
    return *this;
  }

private:
  T value_;
  mutable explorer::watch watch_{};
};

/// The atomics policy of the shipped headers.
struct atomics {
  template <class T>
  using atomic = watched_atomic<T>;
  template <class T>
  using plain = watched_plain<T>;
};

/// An object that one of the threads ends while others may still be in its calls.
template <class T>
class mortal {
public:
  mortal() { ::new (static_cast<void*>(&object_)) T; }
  ~mortal() {}
  T* operator->() { return &object_; }
  void end() { object_.~T(); }

private:
  union {
    T object_;
  };
};

class mutex {
public:
  mutex() = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  void lock() { explorer::lock(state_); }
  [[nodiscard]] bool try_lock() { return explorer::try_lock(state_); }
  void unlock() { explorer::unlock(state_); }

private:
  explorer::lock_state state_;
};

/// Replaces a lock's scope in planted faults: leaves out one lock in each run.
template <class Lock>
class numbered_scope {
public:
  numbered_scope(Lock& lock, int number) : lock_{number == explorer::planted ? nullptr : &lock} {
    if (lock_ != nullptr) lock_->lock();
  }
  numbered_scope(const numbered_scope&) = delete;
  numbered_scope& operator=(const numbered_scope&) = delete;
  ~numbered_scope() {
    if (lock_ != nullptr) lock_->unlock();
  }

private:
  Lock* lock_;
};

/// The same for a lock entered by a call that returns the scope.
template <class Enter>
class numbered_entry {
  using scope = std::invoke_result_t<Enter>;

public:
  numbered_entry(int number, Enter enter) : is_in_(number != explorer::planted) {
    if (is_in_) ::new (static_cast<void*>(room_)) scope(enter());
  }
  numbered_entry(const numbered_entry&) = delete;
  numbered_entry& operator=(const numbered_entry&) = delete;
  ~numbered_entry() {
    if (is_in_) reinterpret_cast<scope*>(room_)->~scope();
  }

private:
  bool is_in_;
  alignas(scope) std::byte room_[sizeof(scope)];
};

/// Effects: ends the search if a promise is broken.
inline void check(bool holds, const char* promise) {
  if (!holds) explorer::fail(promise);
}

/// Returns: the number of the calling thread; 0 is the one that waits for all others.
[[nodiscard]] inline std::size_t this_thread() { return explorer::this_thread(); }

/// Effects: runs the bodies as threads, and waits for all of them.
template <class... Body>
void run_threads(Body... bodies) {
  (explorer::add_thread([](void* body) { (*static_cast<Body*>(body))(); }, &bodies), ...);
  explorer::run_added_threads();
}

}  // namespace checker
