// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the declared functions of Windows are those of the system. On Windows alone.
#include <ashlar/os/windows.hpp>

#include <cstdint>

#include <gtest/gtest.h>

namespace {

#if ASHLAR_WINDOWS
namespace windows = ashlar::detail::windows;

TEST(windows, tells_the_state_of_pages) {
  void* const p = ::VirtualAlloc(nullptr, 8192, windows::mem_reserve, windows::page_no_access);
  ASSERT_NE(p, nullptr);
  ASSERT_EQ(::VirtualAlloc(p, 4096, windows::mem_commit, windows::page_read_write), p);
  const windows::region first = windows::region_at(p);
  EXPECT_EQ(first.start, p);
  EXPECT_EQ(first.reservation, p);
  EXPECT_EQ(first.bytes, 4096u);
  EXPECT_EQ(first.state, windows::mem_commit);
  EXPECT_EQ(first.protection, windows::page_read_write);
  const windows::region second = windows::region_at(static_cast<char*>(p) + 4096);
  EXPECT_EQ(second.reservation, p);
  EXPECT_EQ(second.state, windows::mem_reserve);
  EXPECT_NE(::VirtualFree(p, 0, windows::mem_release), 0);
}

TEST(windows, knows_no_region_where_no_address_is) {
  EXPECT_EQ(windows::region_at(reinterpret_cast<const void*>(~std::uintptr_t{0})).state, 0u);
}
#endif

}  // namespace
