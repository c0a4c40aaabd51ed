// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: atomics are the observed ones, except pointers to functions, which keep the standard's.
#pragma once

#include <atomic>
#include <type_traits>

#include <checker.hpp>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

inline void atomic_signal_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

template <class T>
using atomic =
    std::conditional_t<std::is_function_v<std::remove_pointer_t<T>>, std::atomic<T>, checker::watched_atomic<T>>;

// The two as shipped, over these.
template <class T>
class relaxed_atomic {
public:
  constexpr relaxed_atomic(T value = {}) noexcept : object_(value) {}

  [[nodiscard]] ASHLAR_INLINE T load() const noexcept { return object_.load(memory_order_relaxed); }
  ASHLAR_INLINE void store(T value) noexcept { object_.store(value, memory_order_relaxed); }
  ASHLAR_INLINE T exchange(T value) noexcept { return object_.exchange(value, memory_order_relaxed); }
  ASHLAR_INLINE T fetch_add(T value) noexcept { return object_.fetch_add(value, memory_order_relaxed); }
  // Effects: raises the object to `value` if it is lower.
  ASHLAR_INLINE void raise_to(T value) noexcept {
    T seen = load();
    while (value > seen && !object_.compare_exchange_weak(seen, value, memory_order_relaxed, memory_order_relaxed)) {
    }
  }

private:
  atomic<T> object_;
};

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

using default_atomics = checker::atomics;

}  // namespace ashlar::ASHLAR_ABI::detail
