// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a scenario with its first, second, third… allocation failing, until it succeeds.
#pragma once

#include <concepts>
#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/test/ledger.hpp>

namespace ashlar::ASHLAR_ABI::test {

/// Effects: for k = 0, 1, 2… calls `scenario(ledger&)` with a fresh ledger that fails allocation `k`, and once more
/// with all allocations from `k` on failing. Each ledger must end without a problem, above all without a leak. Without
/// a `told` callback, a problem is printed and the program aborts, as with every ledger. An exception that leaves the
/// scenario after a refusal is expected; any other is passed on.
///
/// Returns: the number of allocations of a scenario without failures. Expects: the scenario succeeds within 100,000.
/// Absent if exceptions are off.
template <std::invocable<ledger&> Scenario>
  requires(ASHLAR_HAS_EXCEPTIONS != 0)
std::size_t fail_each_allocation(Scenario scenario, const ledger::reporter& told = {}) {
  constexpr std::size_t most = 100'000;
  const auto gets_through = [&](std::size_t k, bool and_all_after) {
    ledger book(told);
    and_all_after ? book.fail_from(k) : book.fail_at(k);
    ASHLAR_TRY { scenario(book); }
    ASHLAR_CATCH_ALL {
      if (book.refusals() == 0) ASHLAR_THROW();
    }
    return book.refusals() == 0;
  };
  std::size_t k = 0;
  for (; !gets_through(k, false); ++k) {
    static_cast<void>(gets_through(k, true));
    ASHLAR_REQUIRE(k < most, "the scenario of fail_each_allocation never succeeds");
  }
  return k;
}

}  // namespace ashlar::ASHLAR_ABI::test
