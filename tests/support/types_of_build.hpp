// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The types of a typed suite: all, or in builds that test samples the fewest that cover each property.
#pragma once

#include <type_traits>

#include "tests/support/build.hpp"

namespace ashlar_test {

/// `All`; in a build that tests samples `Fewer`, a choice in which each property of all types occurs at least once.
template <class Fewer, class All>
using types_of_build = std::conditional_t<has_fewer_cases, Fewer, All>;

}  // namespace ashlar_test
