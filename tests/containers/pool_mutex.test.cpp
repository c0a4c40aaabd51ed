// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every container over the stateless allocator with a mutex.
#include <mutex>

#include "tests/containers/pool_world.hpp"
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(pool_mutex, containers, every_container<pool_world<std::mutex>>);

}  // namespace ashlar_test
