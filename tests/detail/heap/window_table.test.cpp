// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the bits of windows: set from entry to leave, for all addresses of a window and for no other.
#include <cstddef>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/window_table.hpp>

namespace {

using ashlar::detail::window_bytes;

[[nodiscard]] const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(window_table, has_what_has_entered_and_not_left) {
  const auto table = std::make_unique<ashlar::detail::window_table>();
  constexpr std::uintptr_t start = 65 * window_bytes;
  table->enter(at(start));
  EXPECT_TRUE(table->has(at(start)) && table->has(at(start + window_bytes - 1)));
  EXPECT_FALSE(table->has(at(start - 1)) || table->has(at(start + window_bytes)) || table->has(nullptr));
  EXPECT_FALSE(table->has(at(static_cast<std::uintptr_t>(-1)))) << "beyond the table";
  table->enter(at(start + window_bytes));
  table->leave(at(start));
  EXPECT_FALSE(table->has(at(start)));
  EXPECT_TRUE(table->has(at(start + window_bytes)));
}

}  // namespace
