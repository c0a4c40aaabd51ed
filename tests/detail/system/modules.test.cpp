// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the list of modules: it includes this program, and the program's range contains its code.
#include <ashlar/detail/system/modules.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace {

TEST(modules, this_code_lies_in_exactly_one) {
  if (!ashlar::detail::has_modules) GTEST_SKIP();
  const auto here =
      reinterpret_cast<std::uintptr_t>(&ashlar::detail::for_each_module<void (*)(ashlar::detail::module_place)>);
  std::size_t around = 0;
  std::string path;
  ashlar::detail::for_each_module([&](const ashlar::detail::module_place& m) {
    EXPECT_LT(m.begin, m.end);
    EXPECT_LE(m.bias, m.begin);
    if (here < m.begin || here >= m.end) return;
    ++around;
    path = m.path;
  });
  EXPECT_EQ(around, 1U);
  EXPECT_EQ(path.substr(0, 1), "/");
}

TEST(modules, an_address_tells_its_module) {
  if (!ashlar::detail::has_modules) GTEST_SKIP();
  static const int of_this_program = 0;
  const int on_the_stack = 0;
  const ashlar::detail::module_place here = ashlar::detail::module_around(&of_this_program);
  EXPECT_TRUE(here.contains(&of_this_program));
  EXPECT_FALSE(here.contains(&on_the_stack));
  EXPECT_FALSE(here.contains(nullptr));
  EXPECT_FALSE(ashlar::detail::module_around(&on_the_stack).contains(&on_the_stack));
}

}  // namespace
