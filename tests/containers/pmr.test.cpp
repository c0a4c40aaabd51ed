// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One container of each kind over the polymorphic allocator and a bridge to a pool.
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(pmr, containers, one_of_each<pmr_world>);

}  // namespace ashlar_test
