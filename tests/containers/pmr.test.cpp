// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every container over the polymorphic allocator and a bridge to a pool.
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(pmr, containers, every_container<pmr_world>);

}  // namespace ashlar_test
