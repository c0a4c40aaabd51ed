// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests pages on a simulated system with a failure at every call, and on the real one up to its limits.
#include <ashlar/os/pages.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <ashlar/base/bits.hpp>

#include "tests/os/model_calls.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::block;
using ashlar_test::model_calls;
using ashlar_test::model_system;
using model_pages = ashlar::os::basic_pages<model_calls>;
using ashlar::os::pages;

constexpr std::size_t page = model_system::page;

class pages_on_a_model : public ashlar_test::on_a_model {};

TEST_F(pages_on_a_model, a_size_is_rounded_up_to_whole_pages) {
  EXPECT_EQ(model_pages::round_up(0), page);
  EXPECT_EQ(model_pages::round_up(1), page);
  EXPECT_EQ(model_pages::round_up(page), page);
  EXPECT_EQ(model_pages::round_up(page + 1), 2 * page);
  EXPECT_EQ(model_pages::round_up(ashlar::max_size - page + 1), ashlar::max_size - page + 1);
  EXPECT_EQ(model_pages::round_up(ashlar::max_size - page + 2), 0u);
  EXPECT_EQ(model_pages::round_up(ashlar::max_size), 0u);
}

TEST_F(pages_on_a_model, a_block_is_aligned_and_nothing_else_stays_mapped) {
  for (std::size_t alignment = 1; alignment <= 64 * page; alignment *= 2)
    for (std::size_t count = 1; count <= 65; count = count * 2 + 1)
      for (std::size_t offset = 0; offset < 5; ++offset) {
        system_.next_address = 0x40000000 + offset * page;
        void* const p = model_pages::map(count * page, alignment);
        ASSERT_NE(p, nullptr);
        EXPECT_TRUE(ashlar::is_aligned(p, alignment));
        EXPECT_EQ(system_.mapped_bytes(), count * page);
        system_.touch(p, count * page);
        EXPECT_TRUE(model_pages::release(p, count * page));
        ASSERT_EQ(system_.mapped_bytes(), 0u);
      }
}

TEST_F(pages_on_a_model, a_lucky_place_costs_one_call) {
  system_.next_address = 0x40000000;
  static_cast<void>(model_pages::map(page, 64 * page));
  EXPECT_EQ(system_.calls, "m");
}

TEST_F(pages_on_a_model, reserved_pages_are_usable_between_commit_and_decommit) {
  void* const p = model_pages::reserve(8 * page, page);
  EXPECT_EQ(system_.usable_bytes(), 0u);
  EXPECT_TRUE(model_pages::commit(p, 4 * page));
  EXPECT_EQ(system_.usable_bytes(), 4 * page);
  system_.touch(p, 4 * page);
  EXPECT_TRUE(model_pages::decommit(p, 2 * page));
  EXPECT_EQ(system_.usable_bytes(), 2 * page);
  EXPECT_EQ(system_.resident_bytes(), 2 * page);
  EXPECT_EQ(system_.mapped_bytes(), 8 * page);
}

TEST_F(pages_on_a_model, locked_pages_are_resident_or_refused) {
  void* const p = model_pages::map(4 * page, page);
  EXPECT_TRUE(model_pages::lock(p, 3 * page));
  EXPECT_EQ(system_.resident_bytes(), 3 * page);
  EXPECT_EQ(system_.calls, "ml");
  fail_all('l');
  EXPECT_FALSE(model_pages::lock(p, 4 * page));
  EXPECT_EQ(system_.usable_bytes(), 4 * page) << "refused, they stay as they were";
}

TEST_F(pages_on_a_model, populated_pages_are_resident) {
  void* const p = model_pages::map(4 * page, page);
  model_pages::populate(p, 3 * page);
  EXPECT_EQ(system_.resident_bytes(), 3 * page);
  model_pages::advise_huge(p, 4 * page);
  EXPECT_EQ(system_.calls, "mPa");
}

// The calls are: map, unmap, map wider, unmap before, unmap behind.
TEST_F(pages_on_a_model, a_map_that_fails_is_null_and_leaves_nothing) {
  for (const std::size_t k : {0u, 2u}) {
    system_ = {};
    system_.next_address = 0x40000000 + page;
    fail_only(k);
    EXPECT_EQ(model_pages::map(2 * page, 16 * page), nullptr);
    EXPECT_EQ(system_.mapped_bytes(), 0u);
    EXPECT_NE(model_pages::map(2 * page, 16 * page), nullptr) << "not usable after failure " << k;
  }
}

TEST_F(pages_on_a_model, an_unmap_that_fails_costs_address_space_only) {
  for (const std::size_t k : {1u, 3u, 4u}) {
    system_ = {};
    system_.next_address = 0x40000000 + page;
    fail_only(k);
    void* const p = model_pages::map(2 * page, 16 * page);
    EXPECT_EQ(p == nullptr, k == 1);
    EXPECT_TRUE(ashlar::is_aligned(p, 16 * page));
    EXPECT_EQ(system_.calls, k == 1 ? "mu" : "mumuu");
    EXPECT_GT(system_.mapped_bytes(), p != nullptr ? 2 * page : 0);
    EXPECT_EQ(system_.resident_bytes(), 0u);
    EXPECT_TRUE(p == nullptr || model_pages::release(p, 2 * page));
  }
}

TEST_F(pages_on_a_model, a_release_that_is_refused_gives_the_memory_back_all_the_same) {
  void* const p = model_pages::map(4 * page, page);
  system_.touch(p, 4 * page);
  fail_all('u');
  EXPECT_FALSE(model_pages::release(p, 4 * page));
  EXPECT_EQ(system_.resident_bytes(), 0u);
  EXPECT_EQ(system_.mapped_bytes(), 4 * page);
}

TEST_F(pages_on_a_model, a_release_survives_when_nothing_works) {
  void* const p = model_pages::map(4 * page, page);
  system_.fails = [](char, std::size_t) { return true; };
  EXPECT_FALSE(model_pages::release(p, 4 * page));
  EXPECT_EQ(system_.mapped_bytes(), 4 * page);
}

TEST_F(pages_on_a_model, a_commit_that_fails_says_so) {
  void* const p = model_pages::reserve(4 * page, page);
  fail_all('p');
  EXPECT_FALSE(model_pages::commit(p, page));
  EXPECT_EQ(system_.usable_bytes(), 0u);
  fail_all(' ');
  EXPECT_TRUE(model_pages::commit(p, page));
}

TEST_F(pages_on_a_model, a_decommit_does_the_half_it_can) {
  void* const p = model_pages::map(4 * page, page);
  system_.touch(p, 4 * page);
  fail_all('p');
  EXPECT_FALSE(model_pages::decommit(p, 2 * page));
  EXPECT_EQ(system_.resident_bytes(), 2 * page);
  fail_all('d');
  EXPECT_FALSE(model_pages::decommit(p, 4 * page));
  EXPECT_EQ(system_.usable_bytes(), 0u);
  EXPECT_EQ(system_.resident_bytes(), 2 * page);
}

TEST_F(pages_on_a_model, pages_grow_where_nothing_is_behind_them) {
  void* const p = model_pages::map(2 * page, page);
  EXPECT_TRUE(model_pages::grow(p, 2 * page, 4 * page));
  EXPECT_EQ(system_.usable_bytes(), 4 * page);
  system_.next_address = reinterpret_cast<std::uintptr_t>(p) + 5 * page;
  static_cast<void>(model_pages::map(page, page));
  EXPECT_FALSE(model_pages::grow(p, 4 * page, 6 * page)) << "something is";
  fail_all('g');
  EXPECT_FALSE(model_pages::grow(p, 4 * page, 5 * page));
  EXPECT_EQ(system_.usable_bytes(), 5 * page);
}

TEST_F(pages_on_a_model, pages_move_as_they_are) {
  void* const p = model_pages::map(3 * page, page);
  system_.touch(p, 2 * page);
  void* const place = model_pages::reserve(8 * page, 16 * page);
  EXPECT_TRUE(model_pages::move(p, 3 * page, place, 8 * page));
  EXPECT_EQ(system_.mapped_bytes(), 8 * page);
  EXPECT_EQ(system_.usable_bytes(), 8 * page);
  EXPECT_EQ(system_.resident_bytes(), 2 * page);
  system_.touch(place, 8 * page);
}

// The state of the place is unknown after the failure: at worst its address space leaks.
TEST_F(pages_on_a_model, a_move_that_is_refused_leaves_the_pages_where_they_are) {
  void* const p = model_pages::map(3 * page, page);
  for (const bool late : {false, true}) {
    void* const place = model_pages::reserve(8 * page, page);
    if (late) system_.most_pages = 4;
    else fail_all('v');
    EXPECT_FALSE(model_pages::move(p, 3 * page, place, 8 * page));
    EXPECT_EQ(system_.usable_bytes(), 3 * page);
    system_.touch(p, 3 * page);
    fail_all(' ');
  }
}

TEST_F(pages_on_a_model, hints_that_are_refused_change_nothing) {
  void* const p = model_pages::map(4 * page, page);
  system_.fails = [](char, std::size_t) { return true; };
  model_pages::populate(p, 4 * page);
  model_pages::advise_huge(p, 4 * page);
  EXPECT_EQ(system_.resident_bytes(), 0u);
  EXPECT_EQ(system_.usable_bytes(), 4 * page);
}

TEST_F(pages_on_a_model, a_reservation_backs_off_by_halves) {
  for (std::size_t most_pages = 1; most_pages <= 70; ++most_pages) {
    system_ = {};
    system_.most_pages = most_pages;
    const block got = model_pages::reserve_up_to(64 * page, page, page);
    EXPECT_EQ(got.size, std::bit_floor(std::min<std::size_t>(most_pages, 64)) * page);
    EXPECT_EQ(system_.mapped_bytes(), got.size);
  }
}

TEST_F(pages_on_a_model, a_reservation_gives_up_after_its_least) {
  system_.most_pages = 10;
  EXPECT_EQ(model_pages::reserve_up_to(64 * page, 11 * page, page), block{});
  EXPECT_EQ(system_.calls, "mmmm");
  const block least = model_pages::reserve_up_to(64 * page, 9 * page, page);
  EXPECT_EQ(least.size, 9 * page);
  model_pages::release(least.data, least.size);
  EXPECT_EQ(model_pages::reserve_up_to(64 * page, 8 * page, page).size, 8 * page);
  system_.most_pages = 0;
  EXPECT_EQ(model_pages::reserve_up_to(64 * page, 0, page), block{});
  EXPECT_EQ(model_pages::reserve_up_to(0, 0, page), block{});
}

TEST_F(pages_on_a_model, an_odd_number_of_pages_is_halved_to_whole_ones) {
  system_.most_pages = 6;
  EXPECT_EQ(model_pages::reserve_up_to(13 * page, page, page).size, 6 * page);
}

TEST_F(pages_on_a_model, sizes_and_alignments_beyond_address_space_are_refused) {
  constexpr std::size_t top = ashlar::max_size / 2 + 1;
  constexpr std::size_t largest = ashlar::max_size - page + 1;
  EXPECT_EQ(model_pages::map(largest, page), nullptr);
  EXPECT_EQ(model_pages::map(largest, top), nullptr);
  system_.fails = [&](char, std::size_t number) { return number != 0 && system_.calls != "mu"; };
  EXPECT_EQ(model_pages::reserve(page, top), nullptr);
  EXPECT_EQ(system_.mapped_bytes(), 0u);
}

/// Returns: whether the page is mapped in the system.
[[nodiscard]] bool is_mapped(void* p) { return ::msync(p, pages::page_bytes(), MS_ASYNC) == 0; }

[[nodiscard]] bool is_zero(const void* p, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 512)
    if (static_cast<const volatile char*>(p)[i] != 0) return false;
  return true;
}

TEST(pages, are_zero_usable_and_aligned_up_to_a_gigabyte) {
  for (std::size_t alignment = 1; alignment <= std::size_t{1} << 30; alignment *= 2) {
    const std::size_t bytes = pages::round_up(alignment == 1 ? 1 : 100'000);
    auto* const p = static_cast<char*>(pages::map(bytes, alignment));
    ASSERT_NE(p, nullptr) << alignment;
    EXPECT_TRUE(ashlar::is_aligned(p, alignment));
    EXPECT_TRUE(is_zero(p, bytes));
    p[0] = p[bytes - 1] = 1;
    EXPECT_TRUE(pages::release(p, bytes));
  }
}

TEST(pages, are_refused_at_alignments_above_every_address) {
  for (std::size_t alignment = ashlar::max_size / 2 + 1; alignment > ashlar::max_size >> 8; alignment /= 2) {
    void* const p = pages::map(pages::page_bytes(), alignment);
    EXPECT_TRUE(ashlar::is_aligned(p, alignment)) << "32 bits have addresses at some of these";
    if (p != nullptr) pages::release(p, pages::page_bytes());
  }
}

TEST(pages, released_pages_are_gone) {
  void* const p = pages::map(2 * pages::page_bytes(), 1);
  EXPECT_TRUE(is_mapped(p));
  EXPECT_TRUE(pages::release(p, pages::page_bytes()));
  EXPECT_FALSE(is_mapped(p));
  auto* const second = static_cast<char*>(p) + pages::page_bytes();
  EXPECT_TRUE(is_mapped(second));
  EXPECT_TRUE(pages::release(second, pages::page_bytes()));
}

TEST(pages, are_zero_again_after_decommit) {
  const std::size_t bytes = 4 * pages::page_bytes();
  auto* const p = static_cast<char*>(pages::reserve(bytes, 1 << 16));
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(pages::commit(p, bytes));
    EXPECT_TRUE(is_zero(p, bytes));
    p[0] = p[bytes - 1] = 1;
    EXPECT_TRUE(pages::decommit(p, bytes));
  }
  EXPECT_TRUE(pages::release(p, bytes));
}

TEST(pages, refusals_of_the_system_are_null_and_keep_errno) {
  errno = 777;
  EXPECT_EQ(pages::map(ashlar::max_size - pages::page_bytes() + 1, 1), nullptr);
  EXPECT_EQ(pages::map(0, 1), nullptr);
  EXPECT_FALSE(pages::commit(nullptr, pages::page_bytes()));
  EXPECT_FALSE(pages::decommit(nullptr, pages::page_bytes()));
  EXPECT_FALSE(pages::grow(nullptr, pages::page_bytes(), 2 * pages::page_bytes()));
  EXPECT_FALSE(pages::move(nullptr, pages::page_bytes(), nullptr, pages::page_bytes()));
  pages::populate(nullptr, pages::page_bytes());
  pages::advise_huge(nullptr, pages::page_bytes());
  EXPECT_EQ(errno, 777);
}

[[nodiscard]] std::size_t address_space_in_use() {
  unsigned long in_pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lu", &in_pages) != 1) std::_Exit(10);
  std::fclose(file);
  return in_pages * pages::page_bytes();
}

void allow_more(std::size_t bytes) {
  const rlim_t most = address_space_in_use() + bytes;
  const rlimit limit{most, most};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(11);
}

// Exits with the number of the first failed step.
[[noreturn]] void live_under_a_limit(std::size_t allowed) {
  constexpr std::size_t gigabyte = std::size_t{1} << 30;
  allow_more(allowed);
  errno = 777;
  const block got = pages::reserve_up_to(gigabyte, pages::page_bytes(), 1 << 16);
  if (!got || got.size > allowed || got.size < allowed / 4) std::_Exit(1);
  if (pages::map(gigabyte, 1) != nullptr) std::_Exit(2);
  if (pages::reserve_up_to(gigabyte, allowed, 1)) std::_Exit(3);
  if (!pages::commit(got.data, got.size)) std::_Exit(4);
  *static_cast<volatile char*>(got.data) = 1;
  if (!pages::release(got.data, got.size)) std::_Exit(5);
  if (pages::map(got.size, 1) == nullptr) std::_Exit(6);
  std::_Exit(errno == 777 ? 0 : 7);
}

TEST(pages, live_under_a_limit_on_address_space) {
  if constexpr (ashlar_test::has_asan || ashlar_test::has_tsan) GTEST_SKIP() << "sanitizers need address space too";
  for (const std::size_t megabytes : {32u, 64u, 128u, 300u, 600u})
    EXPECT_EXIT(live_under_a_limit(megabytes << 20), ::testing::ExitedWithCode(0), "") << megabytes;
}

}  // namespace
