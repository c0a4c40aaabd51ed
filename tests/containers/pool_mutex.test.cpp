// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Containers over the stateless allocator with a mutex, which no container sees.
#include <mutex>

#include "tests/containers/pool_world.hpp"
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(pool_mutex, containers, one_of_each<pool_world<std::mutex>>);

}  // namespace ashlar_test
