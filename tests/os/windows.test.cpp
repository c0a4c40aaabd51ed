// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the declared functions of Windows, and of each call behind pages there. On Windows alone.
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/os/native.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/system_calls.hpp>
#include <ashlar/resource/page_resource.hpp>

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

using calls = ashlar::detail::system_calls;
using ashlar::os::pages;

constexpr std::size_t page = 4096;

/// Whether all bytes have this value.
[[nodiscard]] bool is_all(const char* p, std::size_t bytes, char value) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (p[i] != value) return false;
  return true;
}

/// Four pages, released at the end.
class calls_on_reservation : public ::testing::Test {
protected:
  static constexpr std::size_t bytes_ = 4 * page;
  char* const p_ = static_cast<char*>(calls::map(bytes_, true));

  calls_on_reservation() {
    for (std::size_t i = 0; i < bytes_; ++i) p_[i] = 'x';
  }
  ~calls_on_reservation() override {
    EXPECT_TRUE(calls::unmap(p_, bytes_));
    EXPECT_FALSE(calls::is_mapped(p_, 1));
  }
};

TEST(windows_calls, impossible_requests_are_refused) {
  EXPECT_EQ(calls::map(0, true), nullptr);
  EXPECT_EQ(calls::map(ashlar::max_size - page + 1, true), nullptr);
  EXPECT_EQ(calls::map_aligned(ashlar::max_size - page + 1, page << 10, true), nullptr);
  EXPECT_FALSE(calls::unmap(nullptr, page));
  EXPECT_FALSE(calls::protect(nullptr, page, true));
  EXPECT_FALSE(calls::protect(nullptr, page, false));
  EXPECT_FALSE(calls::discard(nullptr, page));
  EXPECT_FALSE(calls::decommit(nullptr, page));
  EXPECT_FALSE(calls::lock(nullptr, page));
  EXPECT_FALSE(calls::is_mapped(nullptr, 1));
}

TEST(windows_calls, each_alignment_is_met_by_a_reservation_of_its_own) {
  for (std::size_t alignment = 1; alignment <= std::size_t{256} << 20; alignment *= 2) {
    void* const p = calls::map_aligned(3 * page, alignment, true);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(ashlar::is_aligned(p, alignment));
    EXPECT_EQ(ashlar::detail::windows::region_at(p).reservation, p);
    EXPECT_TRUE(is_all(static_cast<char*>(p), 3 * page, 0));
    EXPECT_TRUE(calls::unmap(p, 3 * page));
  }
}

TEST_F(calls_on_reservation, a_part_is_not_unmapped) {
  EXPECT_FALSE(calls::unmap(p_ + page, page));
  EXPECT_TRUE(is_all(p_, bytes_, 'x'));
}

TEST_F(calls_on_reservation, discarding_zeroes_one_part) {
  EXPECT_FALSE(calls::discard(p_ + 1, page)) << "is no page";
  EXPECT_FALSE(calls::discard(p_, page + 1)) << "is no page";
  EXPECT_FALSE(calls::discard(p_, 0));
  EXPECT_TRUE(calls::discard(p_ + page, 2 * page));
  EXPECT_TRUE(is_all(p_, page, 'x') && is_all(p_ + page, 2 * page, 0) && is_all(p_ + 3 * page, page, 'x'));
}

TEST_F(calls_on_reservation, a_decommitted_part_is_zero_when_it_comes_back) {
  EXPECT_TRUE(calls::decommit(p_ + page, page));
  EXPECT_TRUE(calls::is_mapped(p_, page));
  EXPECT_FALSE(calls::is_mapped(p_, page + 1));
  EXPECT_FALSE(calls::is_mapped(p_ + page, 1));
  EXPECT_TRUE(calls::is_mapped(p_ + 2 * page, 2 * page));
  EXPECT_TRUE(calls::protect(p_ + page, page, true));
  EXPECT_TRUE(is_all(p_, page, 'x') && is_all(p_ + page, page, 0) && is_all(p_ + 2 * page, 2 * page, 'x'));
}

TEST_F(calls_on_reservation, protected_pages_keep_their_contents) {
  EXPECT_TRUE(calls::protect(p_, bytes_, false));
  EXPECT_TRUE(calls::protect(p_, bytes_, true));
  EXPECT_TRUE(is_all(p_, bytes_, 'x'));
}

TEST(windows_calls, reserved_pages_wait_for_a_commit) {
  void* const p = pages::reserve(std::size_t{64} << 30, std::size_t{1} << 20);
  ASSERT_NE(p, nullptr) << "64 GiB of address space take no memory";
  EXPECT_FALSE(calls::is_mapped(p, 1));
  ASSERT_TRUE(pages::commit(p, page));
  *static_cast<char*>(p) = 'x';
  EXPECT_TRUE(pages::decommit(p, page));
  ASSERT_TRUE(pages::commit(p, page));
  EXPECT_EQ(*static_cast<char*>(p), 0);
  EXPECT_TRUE(pages::release(p, std::size_t{64} << 30));
}

TEST(windows_calls, the_release_of_a_part_leaves_the_rest) {
  auto* const p = static_cast<char*>(pages::map(4 * page, page));
  ASSERT_NE(p, nullptr);
  p[0] = p[3 * page] = 'x';
  EXPECT_FALSE(pages::release(p + page, page)) << "its address space stays";
  EXPECT_FALSE(calls::is_mapped(p + page, 1));
  EXPECT_TRUE(p[0] == 'x' && p[3 * page] == 'x');
  EXPECT_TRUE(pages::release(p, 4 * page));
}

TEST(windows_calls, the_page_resource_knows_that_its_blocks_are_whole) {
  static_assert(!ashlar::divisible_resource<ashlar::page_resource>);
  ashlar::page_resource all;
  auto* const p = static_cast<char*>(all.allocate(100 * page, std::size_t{2} << 20));
  EXPECT_TRUE(ashlar::is_aligned(p, std::size_t{2} << 20));
  p[99 * page] = 'x';
  EXPECT_TRUE(all.try_expand(p, 100 * page, 10 * page, 1));
  EXPECT_FALSE(calls::is_mapped(p + 10 * page, 1)) << "the memory is back";
  EXPECT_FALSE(all.try_expand(p, 10 * page, 101 * page, 1));
  EXPECT_TRUE(all.try_expand(p, 10 * page, 100 * page, 1)) << "into what it has lost";
  EXPECT_EQ(p[99 * page], 0);
  EXPECT_TRUE(all.try_expand(p, 100 * page, page, 1));
  all.deallocate(p, page, std::size_t{2} << 20);
  EXPECT_FALSE(calls::is_mapped(p, 1));
}
#endif

}  // namespace
