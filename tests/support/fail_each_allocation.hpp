// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a scenario with the upstream failing at its first, second, third… allocation, until it gets through.
#pragma once

#include <concepts>
#include <cstddef>
#include <new>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/invariant_of.hpp"

namespace ashlar_test {

namespace detail {

/// Returns: whether the scenario succeeded: by its `bool` result, or by not throwing.
template <class Object, class Scenario>
[[nodiscard]] bool gets_through(Object& object, Scenario& scenario) {
  if constexpr (std::same_as<decltype(scenario(object)), bool>) {
    return scenario(object);
  } else {
#if defined(__cpp_exceptions)
    try {
      scenario(object);
    } catch (const std::bad_alloc&) {
      return false;
    }
#else
    scenario(object);
#endif
    return true;
  }
}

/// Returns: whether the scenario ends before allocation `k`.
template <class Make, class Scenario>
[[nodiscard]] bool survives_failure(Make& make, Scenario& scenario, std::size_t k, bool and_all_after) {
  counting_resource<> upstream;  // its destructor reports leaks
  auto object = make(upstream);
  and_all_after ? upstream.fail_from(k) : upstream.fail_at(k);
  const bool passed = gets_through(object, scenario);
  EXPECT_TRUE(passed || upstream.refusals() != 0) << "failed although nothing was refused";
  EXPECT_TRUE(invariant_of(object)) << "after failure " << k;
  upstream.fail_never();
  EXPECT_TRUE(gets_through(object, scenario)) << "not usable after failure " << k;
  EXPECT_TRUE(invariant_of(object));
  return upstream.refusals() == 0;
}

}  // namespace detail

/// Effects: for k = 0, 1, 2… makes an object by `make(upstream)` and runs `scenario(object)` on it while allocation `k`
/// fails. With memory back, it runs the scenario again on the same object, which must succeed; then it ends the object,
/// which must leave nothing behind. All this twice: with allocation `k` failing alone, and with all later ones. A
/// scenario reports failure by throwing `std::bad_alloc` or by returning false; in either case it frees its blocks
/// (`live_blocks` does). Without exceptions, a scenario that throws is run once, without failures.
template <class Make, class Scenario>
void fail_each_allocation(Make make, Scenario scenario) {
  using object_type = decltype(make(std::declval<counting_resource<>&>()));
  constexpr bool says_no = std::same_as<decltype(scenario(std::declval<object_type&>())), bool>;
  constexpr std::size_t most = 100'000;
  for (const bool and_all_after : {false, true}) {
    std::size_t k = says_no || has_exceptions ? 0 : counting_resource<>::never;
    while (!detail::survives_failure(make, scenario, k, and_all_after) && k < most && !::testing::Test::HasFailure())
      ++k;
    EXPECT_GT(k, 0u) << "the scenario never allocates";
    EXPECT_TRUE(k < most || !has_exceptions) << "the scenario never gets through";
  }
}

}  // namespace ashlar_test
