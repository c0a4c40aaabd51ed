// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the reference to a function object.
#include <stdexcept>

#include <gtest/gtest.h>

#include <ashlar/detail/support/function_ref.hpp>

namespace {

using ashlar::detail::function_ref;

TEST(function_ref, calls_the_object_itself) {
  int sum = 0;
  auto add = [&sum, calls = 0](int a, const int& b) mutable { sum += a * b + ++calls; };
  const function_ref<int, const int&> f = add;
  f(2, 3);
  const function_ref<int, const int&> copy = f;
  copy(1, 1);
  EXPECT_EQ(sum, 6 + 1 + 1 + 2);
}

TEST(function_ref, forgets_a_result) {
  int calls = 0;
  auto count = [&calls] { return ++calls; };
  function_ref<>{count}();
  EXPECT_EQ(calls, 1);
}

#if defined(__cpp_exceptions)
TEST(function_ref, passes_exceptions_on) {
  auto fail = [](int) { throw std::runtime_error("from inside"); };
  EXPECT_THROW(function_ref<int>{fail}(1), std::runtime_error);
}
#endif

}  // namespace
