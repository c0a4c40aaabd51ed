// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One container of each kind over the checking allocator that always propagates.
#include "tests/containers/suite.hpp"

namespace ashlar_test {

constexpr ashlar::test::checking_allocator_options all_propagate{
    .propagate_on_copy_assignment = true, .propagate_on_move_assignment = true, .propagate_on_swap = true};
INSTANTIATE_TYPED_TEST_SUITE_P(checking_propagating, containers, one_of_each<checking_world<all_propagate>>);

}  // namespace ashlar_test
