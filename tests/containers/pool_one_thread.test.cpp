// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every container over the stateless allocator of one thread.
#include <ashlar/base/lock.hpp>

#include "tests/containers/pool_world.hpp"
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(pool_one_thread, containers, every_container<pool_world<ashlar::one_thread>>);

}  // namespace ashlar_test
