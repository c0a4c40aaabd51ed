// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One container of each kind over the checking allocator that gives each copied container a fresh identity.
#include "tests/containers/suite.hpp"

namespace ashlar_test {

constexpr ashlar::test::checking_allocator_options fresh{.fresh_on_copy = true, .default_constructible = false};
INSTANTIATE_TYPED_TEST_SUITE_P(checking_fresh, containers, one_of_each<checking_world<fresh>>);

}  // namespace ashlar_test
