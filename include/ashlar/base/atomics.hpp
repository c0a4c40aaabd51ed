// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic objects over the built-ins of g++ and clang: `std::atomic` without the half megabyte of headers behind
// <atomic>. For other compilers, such as MSVC, over `std::atomic_ref`.
#pragma once

#if !defined(__GNUC__) && !defined(__clang__)
#include <atomic>
#endif
#include <type_traits>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The order of an atomic operation, as `std::memory_order`. It converts to that type and to any other enumeration with
/// the same numbers, so that the operations of a user's `std::atomic` take it too.
struct memory_order {
  int number;

  template <class E>
    requires std::is_enum_v<E>
  ASHLAR_INLINE constexpr operator E() const noexcept {
    return static_cast<E>(number);
  }
};

// The numbers of the built-ins of GCC; checked below.
inline constexpr memory_order memory_order_relaxed{0};
inline constexpr memory_order memory_order_acquire{2};
inline constexpr memory_order memory_order_release{3};
inline constexpr memory_order memory_order_acq_rel{4};
inline constexpr memory_order memory_order_seq_cst{5};

#if defined(__GNUC__) || defined(__clang__)
static_assert(memory_order_relaxed.number == __ATOMIC_RELAXED && memory_order_acquire.number == __ATOMIC_ACQUIRE &&
              memory_order_release.number == __ATOMIC_RELEASE && memory_order_acq_rel.number == __ATOMIC_ACQ_REL &&
              memory_order_seq_cst.number == __ATOMIC_SEQ_CST);

/// Effects: keeps the compiler from moving accesses to memory across the call.
ASHLAR_INLINE void atomic_signal_fence() noexcept { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

/// As `std::atomic<T>`, with every order spelled out and the operations that the library uses. `T` is a pointer, an
/// integer, an enumeration, or a trivially copyable struct of the size of one. libstdc++ 12 takes 285 ms to parse
/// <atomic>, because of waiting, which the library does not use.
template <class T>
class atomic {
  static_assert(std::is_trivially_copyable_v<T> && std::is_nothrow_copy_constructible_v<T>);

public:
  using value_type = T;
  static constexpr bool is_always_lock_free = __atomic_always_lock_free(sizeof(T), nullptr);

  constexpr atomic() noexcept = default;
  constexpr atomic(T value) noexcept : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  [[nodiscard]] ASHLAR_INLINE constexpr T load(memory_order order) const noexcept {
    if (std::is_constant_evaluated()) return value_;
    T seen = {};
    __atomic_load(&value_, &seen, order.number);
    return seen;
  }
  ASHLAR_INLINE void store(T value, memory_order order) noexcept { __atomic_store(&value_, &value, order.number); }
  ASHLAR_INLINE T exchange(T value, memory_order order) noexcept {
    T before = {};
    __atomic_exchange(&value_, &value, &before, order.number);
    return before;
  }

  /// Returns: whether the object had the expected value and now has the desired one. Else `expected` becomes the value
  /// seen.
  ASHLAR_INLINE bool compare_exchange_strong(T& expected, T desired, memory_order success,
                                             memory_order failure) noexcept {
    return __atomic_compare_exchange(&value_, &expected, &desired, false, success.number, failure.number);
  }
  /// As `compare_exchange_strong`, but may fail without reason: for loops.
  ASHLAR_INLINE bool compare_exchange_weak(T& expected, T desired, memory_order success,
                                           memory_order failure) noexcept {
    return __atomic_compare_exchange(&value_, &expected, &desired, true, success.number, failure.number);
  }

  ASHLAR_INLINE T fetch_add(T value, memory_order order) noexcept {
    return __atomic_fetch_add(&value_, value, order.number);
  }
  ASHLAR_INLINE T fetch_sub(T value, memory_order order) noexcept {
    return __atomic_fetch_sub(&value_, value, order.number);
  }
  ASHLAR_INLINE T fetch_and(T value, memory_order order) noexcept {
    return __atomic_fetch_and(&value_, value, order.number);
  }
  ASHLAR_INLINE T fetch_or(T value, memory_order order) noexcept {
    return __atomic_fetch_or(&value_, value, order.number);
  }

private:
  // Objects of a power of two are aligned to their size, as on every processor that makes their accesses atomic.
  static constexpr unsigned long alignment = (sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= 16 &&
                                                     sizeof(T) > alignof(T)
                                                 ? sizeof(T)
                                                 : alignof(T);

  alignas(alignment) T value_ = {};
};
#else
ASHLAR_INLINE void atomic_signal_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

template <class T>
class atomic {
  using access = std::atomic_ref<T>;

public:
  using value_type = T;
  static constexpr bool is_always_lock_free = access::is_always_lock_free;

  constexpr atomic() noexcept = default;
  constexpr atomic(T value) noexcept : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  [[nodiscard]] constexpr T load(memory_order order) const noexcept {
    return std::is_constant_evaluated() ? value_ : access(const_cast<T&>(value_)).load(order);
  }
  void store(T value, memory_order order) noexcept { access(value_).store(value, order); }
  T exchange(T value, memory_order order) noexcept { return access(value_).exchange(value, order); }
  bool compare_exchange_strong(T& expected, T desired, memory_order success, memory_order failure) noexcept {
    return access(value_).compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, memory_order success, memory_order failure) noexcept {
    return access(value_).compare_exchange_weak(expected, desired, success, failure);
  }
  T fetch_add(T value, memory_order order) noexcept { return access(value_).fetch_add(value, order); }
  T fetch_sub(T value, memory_order order) noexcept { return access(value_).fetch_sub(value, order); }
  T fetch_and(T value, memory_order order) noexcept { return access(value_).fetch_and(value, order); }
  T fetch_or(T value, memory_order order) noexcept { return access(value_).fetch_or(value, order); }

private:
  alignas(access::required_alignment) T value_ = {};
};
#endif

/// An atomic object that orders no other memory: each operation is relaxed.
template <class T>
class relaxed_atomic {
public:
  constexpr relaxed_atomic(T value = {}) noexcept : object_(value) {}

  [[nodiscard]] ASHLAR_INLINE T load() const noexcept { return object_.load(memory_order_relaxed); }
  ASHLAR_INLINE void store(T value) noexcept { object_.store(value, memory_order_relaxed); }
  ASHLAR_INLINE T exchange(T value) noexcept { return object_.exchange(value, memory_order_relaxed); }
  ASHLAR_INLINE T fetch_add(T value) noexcept { return object_.fetch_add(value, memory_order_relaxed); }
  /// Effects: raises the object to `value` if it is lower.
  ASHLAR_INLINE void raise_to(T value) noexcept {
    T seen = load();
    while (value > seen && !object_.compare_exchange_weak(seen, value, memory_order_relaxed, memory_order_relaxed)) {
    }
  }

private:
  atomic<T> object_;
};

/// An atomic object that publishes what it leads to: a reader that sees a value sees what its writer wrote before.
template <class T>
class publishing_atomic {
public:
  constexpr publishing_atomic(T value = {}) noexcept : object_(value) {}

  [[nodiscard]] ASHLAR_INLINE T load() const noexcept { return object_.load(memory_order_acquire); }
  ASHLAR_INLINE void store(T value) noexcept { object_.store(value, memory_order_release); }
  ASHLAR_INLINE T exchange(T value) noexcept { return object_.exchange(value, memory_order_acq_rel); }

private:
  atomic<T> object_;
};

/// The atomics policy of lock-free parts. A model checker substitutes a policy of the same shape with observed objects.
struct default_atomics {
  template <class T>
  using atomic = detail::atomic<T>;
  /// Shared data that is not atomic: the algorithm guarantees that accesses never race.
  template <class T>
  using plain = T;
};

}  // namespace ashlar::ASHLAR_ABI::detail
