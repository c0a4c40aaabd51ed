// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the effect of each system call on this system.
#include <ashlar/os/system_calls.hpp>

#include <cerrno>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <ashlar/base/bits.hpp>

#include "tests/support/build.hpp"

namespace {

using calls = ashlar::detail::system_calls;

/// Some pages of the real system, released at the end.
class calls_on_pages : public ::testing::Test {
protected:
  static constexpr std::size_t count = 4;
  const std::size_t bytes_ = count * calls::page_bytes();
  char* const p_ = static_cast<char*>(calls::map(bytes_, true));

  ~calls_on_pages() override { EXPECT_TRUE(calls::unmap(p_, bytes_)); }

  [[nodiscard]] bool is_zero() const {
    for (std::size_t i = 0; i < bytes_; ++i)
      if (p_[i] != 0) return false;
    return true;
  }
  void fill() {
    for (std::size_t i = 0; i < bytes_; ++i) p_[i] = 'x';
  }
  [[nodiscard]] std::size_t resident_pages() const {
    std::vector<unsigned char> flags(count);
    EXPECT_EQ(::mincore(p_, bytes_, flags.data()), 0);
    std::size_t resident = 0;
    for (const unsigned char each : flags) resident += each & 1u;
    return resident;
  }
};

TEST_F(calls_on_pages, populating_makes_resident_where_the_system_knows_how) {
  const bool populated = calls::populate(p_, bytes_);
  EXPECT_EQ(resident_pages(), populated ? count : 0);
  EXPECT_TRUE(is_zero());
}

TEST_F(calls_on_pages, locking_makes_resident_or_is_refused) {
  if constexpr (ashlar_test::has_asan || ashlar_test::has_tsan) GTEST_SKIP() << "sanitizers say yes and lock nothing";
  const bool locked = calls::lock(p_, bytes_);
  EXPECT_TRUE(!locked || resident_pages() == count);
  EXPECT_TRUE(is_zero());
}

TEST(system_calls, locking_what_is_not_mapped_is_refused) {
  if constexpr (ashlar_test::has_asan || ashlar_test::has_tsan) GTEST_SKIP() << "sanitizers say yes and lock nothing";
  EXPECT_FALSE(calls::lock(reinterpret_cast<void*>(calls::page_bytes()), calls::page_bytes()));
}

#if defined(__linux__)
TEST_F(calls_on_pages, moving_takes_the_contents_along_and_growing_adds_zeroes) {
  fill();
  const std::size_t page = calls::page_bytes();
  auto* const place = static_cast<char*>(calls::map(bytes_ + 2 * page, false));
  ASSERT_TRUE(calls::move(p_, bytes_, place, bytes_ + page));
  EXPECT_TRUE(calls::unmap(place + bytes_ + page, page));
  ASSERT_TRUE(calls::grow(place, bytes_ + page, bytes_ + 2 * page));
  EXPECT_TRUE(place[0] == 'x' && place[bytes_ - 1] == 'x' && place[bytes_] == 0 && place[bytes_ + 2 * page - 1] == 0);
  EXPECT_FALSE(calls::grow(place, bytes_ + 2 * page, ashlar::max_size - page + 1));
  EXPECT_TRUE(calls::unmap(place, bytes_ + 2 * page));
  EXPECT_NE(::msync(p_, bytes_, MS_ASYNC), 0) << "is mapped no more";
}
#endif

TEST_F(calls_on_pages, a_place_is_taken_where_it_is_free) {
  void* const gap = calls::map(bytes_, true);
  ASSERT_TRUE(gap != nullptr && calls::unmap(gap, bytes_));
  void* const there = calls::map_near(gap, bytes_, true);
  EXPECT_EQ(there, gap);
  void* const elsewhere = calls::map_near(p_, bytes_, true);
  EXPECT_NE(elsewhere, p_);
  EXPECT_TRUE(calls::unmap(there, bytes_) && calls::unmap(elsewhere, bytes_));
}

TEST_F(calls_on_pages, protected_pages_keep_their_contents) {
  fill();
  EXPECT_TRUE(calls::protect(p_, bytes_, false));
  EXPECT_TRUE(calls::protect(p_, bytes_, true));
  EXPECT_EQ(p_[0], 'x');
  EXPECT_EQ(p_[bytes_ - 1], 'x');
}

TEST_F(calls_on_pages, protected_pages_cannot_be_touched) {
  EXPECT_TRUE(calls::protect(p_, calls::page_bytes(), false));
  EXPECT_DEATH(static_cast<volatile char*>(p_)[0] = 1, "");
  p_[calls::page_bytes()] = 1;
}

TEST_F(calls_on_pages, advice_changes_no_byte) {
  fill();
  static_cast<void>(calls::advise_huge(p_, bytes_));
  static_cast<void>(calls::refuse_huge(p_, bytes_));
  EXPECT_EQ(p_[bytes_ / 2], 'x');
}

TEST_F(calls_on_pages, a_huge_page_of_small_ones_has_their_bytes) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  void* const wide = calls::map(2 * huge, true);
  ASSERT_NE(wide, nullptr);
  std::byte* const p = ashlar::align_up(wide, huge);
  p[0] = p[huge / 2] = std::byte{1};
  static_cast<void>(calls::collapse(p, huge));
  EXPECT_TRUE(p[0] == std::byte{1} && p[huge / 2] == std::byte{1} && p[huge - 1] == std::byte{0});
  EXPECT_TRUE(calls::unmap(wide, 2 * huge));
}

TEST_F(calls_on_pages, say_whether_there_is_memory) {
  EXPECT_TRUE(calls::is_mapped(p_, 1));
  EXPECT_TRUE(calls::is_mapped(p_ + bytes_ - 1, 1));
  void* const gone = calls::map(calls::page_bytes(), false);
  EXPECT_TRUE(calls::is_mapped(gone, 8));
  ASSERT_TRUE(calls::unmap(gone, calls::page_bytes()));
  errno = 0;
  EXPECT_FALSE(calls::is_mapped(gone, 8));
  EXPECT_EQ(errno, 0);
}

TEST(system_calls, inaccessible_memory_waits_for_protect) {
  auto* const p = static_cast<volatile char*>(calls::map(calls::page_bytes(), false));
  ASSERT_NE(p, nullptr);
  EXPECT_DEATH(p[0] = 1, "");
  EXPECT_TRUE(calls::protect(const_cast<char*>(p), calls::page_bytes(), true));
  p[0] = 1;
  EXPECT_TRUE(calls::unmap(const_cast<char*>(p), calls::page_bytes()));
}

}  // namespace
