// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One container of each kind over the checking allocator with equal instances.
#include "tests/containers/suite.hpp"

namespace ashlar_test {

constexpr ashlar::test::checking_allocator_options alike{.always_equal = true};
INSTANTIATE_TYPED_TEST_SUITE_P(checking_alike, containers, one_of_each<checking_world<alike>>);

}  // namespace ashlar_test
