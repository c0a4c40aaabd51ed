// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One container of each kind over an allocator to a resource that records each block.
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(counted, containers, one_of_each<resource_world<counted_place>>);

}  // namespace ashlar_test
