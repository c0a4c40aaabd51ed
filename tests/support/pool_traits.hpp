// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traits of the pools of objects, policy by policy, for tests that try many combinations.
#pragma once

#include <cstddef>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar_test {

template <std::size_t Capacity, class Lifetime = ashlar::construct_on_acquire,
          class Exhausted = ashlar::throw_when_exhausted, class Threads = ashlar::one_thread,
          class Upstream = ashlar::page_resource>
struct object_traits : ashlar::object_pool_traits {
  static constexpr std::size_t capacity = Capacity;
  using lifetime = Lifetime;
  using exhausted = Exhausted;
  using threads = Threads;
  using upstream = Upstream;
};

template <class Lifetime, class Exhausted = ashlar::throw_when_exhausted, class Threads = ashlar::one_thread,
          class Placement = ashlar::count::by_padding, class Upstream = ashlar::page_resource>
struct intrusive_traits : ashlar::intrusive_pool_traits {
  using lifetime = Lifetime;
  using exhausted = Exhausted;
  using threads = Threads;
  using placement = Placement;
  using upstream = Upstream;
};

}  // namespace ashlar_test
