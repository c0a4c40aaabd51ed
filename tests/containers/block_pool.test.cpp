// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every container over an allocator to a pool of its own.
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(block_pool, containers, every_container<resource_world<pool_place>>);

}  // namespace ashlar_test
