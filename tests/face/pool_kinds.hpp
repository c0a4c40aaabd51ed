// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every kind of object_pool by one name, so that a behaviour test runs over all of them.
#pragma once

#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/object_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/pool_traits.hpp"

namespace ashlar_test {

using counting_ref = ashlar::resource_ref<counting_resource<>>;

/// `N` objects in the pool.
template <class Threads>
struct inside {
  static constexpr bool is_inside = true;
  template <class T, std::size_t N, class Lifetime, class Exhausted>
  struct pool : ashlar::object_pool<T, ashlar_test::object_traits<N, Lifetime, Exhausted, Threads>> {
    explicit pool(counting_resource<>&, Lifetime lifetime = {}) : pool::object_pool(lifetime) {}
  };
};

/// `N` objects in one block.
template <class Threads>
struct in_a_block {
  static constexpr bool is_inside = false;
  template <class T, std::size_t N, class Lifetime, class Exhausted>
  struct pool
      : ashlar::object_pool<
            T, ashlar_test::object_traits<ashlar::dynamic_capacity, Lifetime, Exhausted, Threads, counting_ref>> {
    explicit pool(counting_resource<>& upstream, Lifetime lifetime = {})
        : pool::object_pool(N, lifetime, counting_ref(upstream)) {}
  };
};

/// At most `N` objects in slabs of three.
template <class Threads>
struct in_slabs {
  static constexpr bool is_inside = false;
  template <class T, std::size_t N, class Lifetime, class Exhausted>
  struct pool
      : ashlar::object_pool<T,
                            ashlar_test::object_traits<ashlar::growing, Lifetime, Exhausted, Threads, counting_ref>> {
    explicit pool(counting_resource<>& upstream, Lifetime lifetime = {})
        : pool::object_pool({.max_count = N, .growth_count = 3}, lifetime, counting_ref(upstream)) {}
  };
};

using pool_kinds = types_of_build<
    ::testing::Types<inside<ashlar::one_thread>, in_slabs<ashlar::one_thread>, in_a_block<ashlar::any_thread<>>,
                     in_slabs<ashlar::any_thread<>>>,
    ::testing::Types<inside<ashlar::one_thread>, in_a_block<ashlar::one_thread>, in_slabs<ashlar::one_thread>,
                     inside<ashlar::any_thread<>>, in_a_block<ashlar::any_thread<>>, in_slabs<ashlar::any_thread<>>>>;

/// A pool of a kind, with its upstream.
template <class Kind, class T, std::size_t N, class Lifetime = ashlar::construct_on_acquire,
          class Exhausted = ashlar::throw_when_exhausted>
struct pool_of {
  using type = typename Kind::template pool<T, N, Lifetime, Exhausted>;

  counting_resource<> upstream;
  type pool;

  pool_of() : pool(upstream) {}
  explicit pool_of(Lifetime lifetime) : pool(upstream, lifetime) {}
  type* operator->() noexcept { return &pool; }
};

}  // namespace ashlar_test
