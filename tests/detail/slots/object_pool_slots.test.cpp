// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the storage of an object_pool's objects, and of its costs.
#include <ashlar/detail/slots/object_pool_slots.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/flat_slots.hpp>
#include <ashlar/detail/slots/growing_slots.hpp>
#include <ashlar/face/lifetime.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::any_thread;
using ashlar::construct_on_acquire;
using ashlar::keep_constructed;
using ashlar::one_thread;

template <class T, std::size_t Capacity, class Lifetime = construct_on_acquire, class Threads = one_thread>
using slots = ashlar::detail::object_pool_slots<T, Capacity, Lifetime, Threads, ashlar::page_resource>;

TEST(object_pool_slots, allocate_unless_they_are_inside) {
  EXPECT_FALSE((slots<int, 5>::run_type::allocates));
  EXPECT_TRUE((slots<int, ashlar::dynamic_capacity>::run_type::allocates));
  EXPECT_FALSE((std::is_same_v<slots<int, ashlar::growing>, slots<int, ashlar::dynamic_capacity>>));
}

TEST(object_pool_slots, are_as_large_as_the_objects) {
  EXPECT_EQ((slots<char, 5>::slot_bytes), 1u);
  EXPECT_EQ((slots<double, 5>::slot_bytes), 8u);
  EXPECT_EQ((slots<std::string, ashlar::growing>::slot_bytes), sizeof(std::string));
}

TEST(object_pool_slots, a_pool_inside_costs_four_bytes_an_object_and_two_words) {
  if constexpr (!ashlar_test::is_checked && !ashlar::detail::marks_memory)
    EXPECT_EQ(sizeof(slots<double, 100>), 100u * (8 + 4) + 8 + sizeof(void*));
  EXPECT_EQ(sizeof(ashlar::object_pool<double, ashlar::with_capacity<100>>), sizeof(slots<double, 100>) + sizeof(void*))
      << "a flag; no lifetime";
}

}  // namespace
