// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Catches the test failures of a function, so that the support's own checks can be tested.
#pragma once

#include <string>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace ashlar_test {

/// Returns: the messages of all test failures while `f()` runs on this thread; none of them counts.
template <class F>
[[nodiscard]] std::string failures_of(F f) {
  ::testing::TestPartResultArray results;
  {
    const ::testing::ScopedFakeTestPartResultReporter catcher(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    f();
  }
  std::string messages;
  for (int i = 0; i < results.size(); ++i) messages += std::string(results.GetTestPartResult(i).message()) + '\n';
  return messages;
}

}  // namespace ashlar_test
