// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads policy: whether one thread or any thread uses a pool of objects and counts references to them.
#pragma once

#include <concepts>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>

namespace ashlar::ASHLAR_ABI {

/// One thread at a time uses the pool and all its objects, without atomics. A pool of the process, which belongs to no
/// scope that hands it over, is bound to the first thread that uses it.
struct one_thread {
  using lock_type = null_lock;
  static constexpr bool is_shared = false;
};

/// Any thread returns objects, lock-free, and counts references; `Lock` guards the acquisition of objects. With
/// `null_lock` one thread at a time acquires and any thread returns objects; neither ever waits.
template <basic_lockable Lock = spin_lock>
struct any_thread {
  using lock_type = Lock;
  static constexpr bool is_shared = true;
};

namespace policy {

template <class T>
concept threads = basic_lockable<typename T::lock_type> && requires {
  { T::is_shared } -> std::convertible_to<bool>;
};

}  // namespace policy

static_assert(policy::threads<one_thread> && policy::threads<any_thread<>>);

}  // namespace ashlar::ASHLAR_ABI
