// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of sites: the content of each, and its text.
#include <ashlar/os/site.hpp>

#include <string>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>

#include "tests/support/death.hpp"

namespace {

template <class Site>
ASHLAR_NOINLINE Site captured() {
  return Site::capture(ASHLAR_RETURN_ADDRESS());
}

template <class Site>
std::string described(const Site& site) {
  ashlar::detail::panic_line line;
  site.describe(line);
  return ashlar_test::first_line_of(std::string(line.view()));
}

TEST(site, none_is_nothing) {
  EXPECT_EQ(described(captured<ashlar::site::none>()), "");
  EXPECT_TRUE(captured<ashlar::site::none>().frames().empty());
}

TEST(site, a_return_address_is_one_frame) {
  const auto site = captured<ashlar::site::return_address>();
  ASSERT_EQ(site.frames().size(), 1U);
  EXPECT_NE(site.frames()[0], nullptr);
  EXPECT_EQ(described(site), "0x*");
}

TEST(site, a_backtrace_starts_with_the_return_address) {
  const auto site = captured<ashlar::site::backtrace<4>>();
  ASSERT_GE(site.frames().size(), 1U);
  EXPECT_LE(site.frames().size(), 4U);
  EXPECT_EQ(described(site).substr(0, 3), "0x*");
  EXPECT_EQ(site, ashlar::site::backtrace<4>(site));
}

TEST(site, labels_nest_and_name_their_line) {
  using named = ashlar::site::labelled<>;
  EXPECT_EQ(described(captured<named>()), "no label");
  const ashlar::site::label outer("outer");
  const auto first = captured<named>();
  {
    const ashlar::site::label inner("inner");
    EXPECT_STREQ(captured<named>().name(), "inner");
    EXPECT_NE(captured<named>(), first);
  }
  EXPECT_EQ(captured<named>(), first);
  EXPECT_EQ(described(first).substr(0, 21), "outer (site.test.cpp:");
  EXPECT_NE(described(captured<ashlar::site::labelled<ashlar::site::return_address>>()).find(") 0x*"),
            std::string::npos);
}

}  // namespace
