// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One container of each kind over the stateless allocator with a cache in each thread.
#include <ashlar/base/lock.hpp>

#include "tests/containers/pool_world.hpp"
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(pool_thread_cached, containers, one_of_each<pool_world<ashlar::thread_cached>>);

}  // namespace ashlar_test
