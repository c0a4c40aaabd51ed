// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Containers over the stateless allocator with a spin lock, which no container sees.
#include <ashlar/base/lock.hpp>

#include "tests/containers/pool_world.hpp"
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(pool_spin_lock, containers, one_of_each<pool_world<ashlar::spin_lock>>);

}  // namespace ashlar_test
