// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of frames, of the modules in which code lies, and of sites.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/os/site.hpp>

#include "tests/support/death.hpp"

namespace {

using ashlar::detail::backtrace;

struct seen {
  const void* caller = nullptr;
  std::array<const void*, 16> frames{};
  std::size_t count = 0;
};

ASHLAR_NOINLINE seen look(std::size_t most) {
  seen s;
  s.caller = ASHLAR_RETURN_ADDRESS();
  s.count = backtrace(std::span(s.frames).first(most), s.caller);
  return s;
}

TEST(backtrace, starts_at_the_frame_asked_for) {
  const seen s = look(16);
  if (s.count == 0) GTEST_SKIP() << "no unwind tables";
  EXPECT_EQ(s.frames[0], s.caller);
  EXPECT_LE(s.count, 16U);
}

TEST(backtrace, fills_no_more_than_there_is_room) {
  const seen two = look(2);
  EXPECT_LE(two.count, 2U);
  EXPECT_EQ(two.frames[2], nullptr);
  EXPECT_EQ(look(0).count, 0U);
}

TEST(backtrace, an_address_that_is_no_frame_means_from_here) {
  std::array<const void*, 4> frames{};
  const int nothing = 0;
  const std::size_t count = backtrace(frames, &nothing);
  EXPECT_EQ(count != 0, look(4).count != 0);
}

ASHLAR_NOINLINE const void* first_from_here(const void*& mine) {
  mine = ASHLAR_RETURN_ADDRESS();
  std::array<const void*, 2> frames{};
  const std::size_t count = backtrace(frames, nullptr);
  return count == 2 ? frames[1] : nullptr;
}

TEST(backtrace, without_an_address_starts_at_the_caller) {
  const void* expected = nullptr;
  const void* const second = first_from_here(expected);
  if (second == nullptr) GTEST_SKIP() << "no unwind tables";
  EXPECT_EQ(second, expected) << "the first is in the function that asked";
}

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

template <class Site>
ASHLAR_NOINLINE Site captured() {
  return Site::capture(ASHLAR_RETURN_ADDRESS());
}

template <class Site>
std::string described(const Site& site) {
  ashlar::panic_line line;
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
