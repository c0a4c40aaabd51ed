// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every container over the strictest checking allocator: nothing propagates.
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(checking, containers,
                               every_container<checking_world<ashlar::test::checking_allocator_options{}>>);

}  // namespace ashlar_test
