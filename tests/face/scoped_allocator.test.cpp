// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that elements of containers have the resource of their container, at any depth and after every way to add one.
#include <ashlar/face/scoped_allocator.hpp>

#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/arena.hpp>

namespace {

using arena = ashlar::arena<>;
using text = std::basic_string<char, std::char_traits<char>, ashlar::allocator<char, arena>>;
using lines = std::vector<text, ashlar::scoped_allocator<text, arena>>;
using files = std::map<text, lines, std::less<>, ashlar::scoped_allocator<std::pair<const text, lines>, arena>>;

constexpr const char* longer = "longer than the buffer inside a string, so that it needs memory";

TEST(scoped_allocator, hands_its_resource_to_each_element) {
  arena memory;
  lines all(memory);
  all.emplace_back(longer);
  all.emplace_back();
  all.push_back(text(longer, memory));
  all.resize(10);
  all.insert(all.begin(), text("short", memory));
  for (const text& each : all) EXPECT_EQ(&each.get_allocator().resource(), &memory);
  EXPECT_EQ(all[1], longer);
}

TEST(scoped_allocator, reaches_every_depth) {
  arena memory;
  files all(memory);
  all[text(longer, memory)].emplace_back(longer);
  all.try_emplace(text("second", memory)).first->second.emplace_back(longer);
  for (const auto& [name, content] : all) {
    EXPECT_EQ(&name.get_allocator().resource(), &memory);
    EXPECT_EQ(&content.get_allocator().outer_allocator().resource(), &memory);
    EXPECT_EQ(&content.front().get_allocator().resource(), &memory);
  }
}

TEST(scoped_allocator, keeps_elements_of_another_resource_out) {
  arena memory, other;
  lines all(memory);
  text stranger(longer, other);
  all.push_back(stranger);
  all.push_back(std::move(stranger));
  for (const text& each : all) EXPECT_EQ(&each.get_allocator().resource(), &memory);
  lines copy(all, ashlar::scoped_allocator<text, arena>(other));
  for (const text& each : copy) EXPECT_EQ(&each.get_allocator().resource(), &other);
}

}  // namespace
