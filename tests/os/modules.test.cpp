// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the list of mapped files: this program is one of them, and its code lies in it.
#include <ashlar/os/modules.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace {

TEST(modules, this_code_lies_in_exactly_one) {
  if (!ashlar::os::has_modules) GTEST_SKIP();
  const auto here = reinterpret_cast<std::uintptr_t>(&ashlar::os::for_each_module<void (*)(ashlar::os::module_place)>);
  std::size_t around = 0;
  std::string path;
  ashlar::os::for_each_module([&](const ashlar::os::module_place& m) {
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
  if (!ashlar::os::has_modules) GTEST_SKIP();
  static const int of_this_program = 0;
  const int on_the_stack = 0;
  const ashlar::os::module_place here = ashlar::os::module_around(&of_this_program);
  EXPECT_TRUE(here.contains(&of_this_program));
  EXPECT_FALSE(here.contains(&on_the_stack));
  EXPECT_FALSE(here.contains(nullptr));
  EXPECT_FALSE(ashlar::os::module_around(&on_the_stack).contains(&on_the_stack));
}

}  // namespace
