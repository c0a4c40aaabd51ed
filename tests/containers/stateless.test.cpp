// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One container of each kind over the allocator without data, on a resource of the whole process.
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(stateless, containers, one_of_each<stateless_world>);

}  // namespace ashlar_test
