// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The types of a typed suite: all, or in builds that compile slowly the fewest that cover each property.
#pragma once

#include <type_traits>

namespace ashlar_test {

#if defined(ASHLAR_TEST_FEWER_TYPES)
inline constexpr bool has_fewer_types = true;
#else
inline constexpr bool has_fewer_types = false;
#endif

/// `All`; in a build with ASHLAR_TEST_FEWER_TYPES (sanitizers, g++) `Fewer`, a choice in which each property of all
/// types occurs at least once. The configurations quick and noexcept of `./dev test` have all.
template <class Fewer, class All>
using types_of_build = std::conditional_t<has_fewer_types, Fewer, All>;

}  // namespace ashlar_test
