// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that version, checking level and ABI name agree with each other.
#include <ashlar/base/config.hpp>

#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

namespace {

#define ASHLAR_TEST_QUOTE(x) #x
#define ASHLAR_TEST_EXPAND_AND_QUOTE(x) ASHLAR_TEST_QUOTE(x)
constexpr std::string_view abi_name = ASHLAR_TEST_EXPAND_AND_QUOTE(ASHLAR_ABI_NAME);

constexpr std::string_view level_name() {
  switch (ashlar::checking_level) {
    case ashlar::checking::fast: return "fast";
    case ashlar::checking::checked: return "checked";
    case ashlar::checking::hardened: return "hardened";
  }
  return "";
}

static_assert(ashlar::checking::fast < ashlar::checking::checked);
static_assert(ashlar::checking::checked < ashlar::checking::hardened);
static_assert(std::is_same_v<ashlar::checking, ashlar::ASHLAR_ABI_NAME::checking>);

constexpr std::string_view marks_name() {
#if defined(ASHLAR_ASAN)
  return "_asan";
#elif defined(ASHLAR_VALGRIND)
  return "_valgrind";
#else
  return "";
#endif
}

TEST(config, abi_name_tells_all_that_changes_the_code) {
  const std::string version = std::to_string(ASHLAR_VERSION_MAJOR) + "_" + std::to_string(ASHLAR_VERSION_MINOR);
  const std::string throws = ASHLAR_HAS_EXCEPTIONS != 0 ? "" : "_noexcept";
  EXPECT_EQ(abi_name, "v" + version + "_" + std::string(level_name()) + std::string(marks_name()) + throws);
}

// The marks are off by default: an installed header changes nothing.
TEST(config, valgrind_is_not_marked_for_unasked) { EXPECT_EQ(abi_name.find("valgrind"), abi_name.npos); }

TEST(config, level_is_the_one_asked_for) { EXPECT_EQ(static_cast<int>(ashlar::checking_level), ASHLAR_CHECKING); }

TEST(config, exceptions_are_seen_where_they_are_on) {
#if defined(__cpp_exceptions)
  EXPECT_EQ(ASHLAR_HAS_EXCEPTIONS, 1);
#else
  EXPECT_EQ(ASHLAR_HAS_EXCEPTIONS, 0);
#endif
}

std::string_view try_then(bool fail) {
  ASHLAR_TRY {
    if (fail) ASHLAR_THROW(1);
    return "done";
  }
  ASHLAR_CATCH_ALL { return "caught"; }
}

TEST(config, a_throw_is_caught_only_with_exceptions) {
  EXPECT_EQ(try_then(false), "done");
  EXPECT_EQ(try_then(true), ASHLAR_HAS_EXCEPTIONS != 0 ? "caught" : "done");
}

}  // namespace
