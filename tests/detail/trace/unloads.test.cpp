// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of modules that came to the same addresses one after the other.
#include <ashlar/detail/trace/unloads.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/trace/varint.hpp>
#include <ashlar/trace/tables.hpp>

namespace {

using namespace ashlar::detail::trace_io;
using ashlar::trace::find_module;
using ashlar::trace::mapped_module;
using ashlar::trace::stack_table;

mapped_module module_at(std::uint64_t begin, std::uint64_t end, const std::string& path) {
  return {.begin = begin, .end = end, .bias = begin, .path = path, .build_id = ""};
}

struct unloads : testing::Test {
  std::vector<mapped_module> modules{module_at(0x1000, 0x2000, "program")};
  stack_table stacks;
  std::vector<unload> gone;

  std::uint32_t load(std::uint64_t begin, std::uint64_t end, const std::string& path) {
    modules.push_back(module_at(begin, end, path));
    return stacks.add(std::array{begin + 0x10, std::uint64_t{0x1010}});
  }
  void close(std::uint64_t begin) {
    gone.push_back(
        {.last_stack = stacks.size(), .modules = static_cast<std::uint32_t>(modules.size()), .begin = begin});
  }
  /// Returns: the path and the offset of the innermost frame.
  std::pair<std::string, std::uint64_t> innermost(std::uint32_t stack) const {
    const mapped_module* const module = find_module(modules, stacks[stack].front());
    if (module == nullptr) return {};
    return {module->path, stacks[stack].front() - module->bias};
  }
};

TEST_F(unloads, stacks_are_of_the_module_of_their_time) {
  const std::uint32_t one = load(0x5000, 0x7000, "one");
  close(0x5000);
  const std::uint32_t two = load(0x5000, 0x6000, "two");
  close(0x5000);
  const std::uint32_t three = load(0x4000, 0x6000, "three");
  const std::uint32_t again = stacks.add(std::array{std::uint64_t{0x5010}});
  module_separator(gone, modules).apply(stacks);
  using place = std::pair<std::string, std::uint64_t>;
  EXPECT_EQ(innermost(one), place("one", 0x10));
  EXPECT_EQ(innermost(two), place("two", 0x10));
  EXPECT_EQ(innermost(three), place("three", 0x10));
  EXPECT_EQ(innermost(again), place("three", 0x1010));
  for (std::uint32_t id = 1; id <= 3; ++id) EXPECT_EQ(stacks[id].back(), 0x1010U);
  EXPECT_EQ(modules.front(), module_at(0x1000, 0x2000, "program"));
}

TEST_F(unloads, a_module_that_nothing_replaced_stays) {
  load(0x5000, 0x6000, "one");
  close(0x5000);
  load(0x5000, 0x6000, "one");
  close(0x5000);
  load(0x8000, 0x9000, "two");
  const std::vector<mapped_module> before = modules;
  module_separator(gone, modules).apply(stacks);
  EXPECT_EQ(modules, before);
}

TEST_F(unloads, of_unknown_modules_change_nothing) {
  load(0x5000, 0x6000, "one");
  load(0x5000, 0x6000, "two");
  const std::vector<mapped_module> before = modules;
  gone = {{.last_stack = 1, .modules = 0, .begin = 0x5000}, {.last_stack = 1, .modules = 9, .begin = 0x5001}};
  module_separator(gone, modules).apply(stacks);
  EXPECT_EQ(modules, before);
}

TEST_F(unloads, payloads_come_back) {
  std::vector<std::byte> payload(unload_bound);
  std::byte* const end = put_unload(payload.data(), {.last_stack = 7, .modules = 300, .begin = ~std::uint64_t{0}});
  payload.resize(static_cast<std::size_t>(end - payload.data()));
  ASSERT_TRUE(get_unloads(payload, 1, gone));
  EXPECT_EQ(gone.back().last_stack, 7U);
  EXPECT_EQ(gone.back().modules, 300U);
  EXPECT_EQ(gone.back().begin, ~std::uint64_t{0});
  EXPECT_FALSE(get_unloads(payload, 2, gone));
  payload.push_back(std::byte{0});
  EXPECT_FALSE(get_unloads(payload, 1, gone));
  std::vector<std::byte> large(max_varint_bytes);
  large.resize(static_cast<std::size_t>(put_varint(large.data(), std::uint64_t{1} << 32) - large.data()));
  large.insert(large.end(), 2, std::byte{0});
  EXPECT_FALSE(get_unloads(large, 1, gone));
}

}  // namespace
