// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One container of each kind over an allocator to an adaptor over a pool.
#include "tests/containers/suite.hpp"

namespace ashlar_test {

INSTANTIATE_TYPED_TEST_SUITE_P(statistics, containers, one_of_each<resource_world<statistics_place>>);

}  // namespace ashlar_test
