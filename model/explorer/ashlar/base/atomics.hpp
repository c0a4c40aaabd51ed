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

using default_atomics = checker::atomics;

}  // namespace ashlar::ASHLAR_ABI::detail
