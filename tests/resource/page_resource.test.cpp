// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the resources over the operating system's pages, with real calls and with calls that fail.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/os/huge_pages.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/huge_page_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/huge_pages.hpp"

namespace {

using ashlar::page_resource;

template <class Fresh>
struct pages_of : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = std::size_t{1} << 18;
  static constexpr std::size_t largest = 10'000;
  static constexpr std::size_t most_live = 20;
  static constexpr std::size_t churn_steps = 300;
  static constexpr bool exhaustible = false;
  ashlar::basic_page_resource<Fresh> resource;
};

// System calls that fail on a test's request.
struct refusing_calls : ashlar::os::system_calls {
  static inline int maps_left = 0;
  static inline bool may_populate = true;
  static inline bool may_advise = true;
  static inline bool may_lock = true;
  static inline std::size_t populated = 0;
  static inline std::size_t advised = 0;
  static inline std::size_t refused = 0;
  static inline std::size_t locked = 0;
  static inline std::size_t unmapped = 0;

  static void* map(std::size_t bytes, bool accessible) noexcept {
    if (maps_left-- > 0) return system_calls::map(bytes, accessible);
    errno = ENOMEM;
    return nullptr;
  }
  static bool unmap(void* p, std::size_t bytes) noexcept {
    unmapped += bytes;
    return system_calls::unmap(p, bytes);
  }
  static bool lock(void*, std::size_t bytes) noexcept {
    errno = ENOMEM;
    locked += may_lock ? bytes : 0;
    return may_lock;
  }
  static bool populate(void* p, std::size_t bytes) noexcept {
    errno = EINVAL;
    populated += bytes;
    return may_populate && system_calls::populate(p, bytes);
  }
  static bool advise_huge(void* p, std::size_t bytes) noexcept {
    errno = EINVAL;
    advised += bytes;
    return may_advise && system_calls::advise_huge(p, bytes);
  }
  static bool refuse_huge(void*, std::size_t bytes) noexcept {
    errno = EINVAL;
    refused += bytes;
    return may_advise;
  }
};

template <class Fresh>
using refusing_pages = ashlar::basic_page_resource<Fresh, ashlar::os::basic_pages<refusing_calls>>;

static_assert(std::is_empty_v<page_resource>);
static_assert(ashlar::prefaulting_resource<page_resource>, "and no other policy");
static_assert(!ashlar::prefaulting_resource<ashlar::basic_page_resource<ashlar::fresh::plain>>);
static_assert(!ashlar::prefaulting_resource<ashlar::basic_page_resource<ashlar::fresh::huge>>);

// A block with the hints granted and refused, which is no failure and leaves errno alone.
template <class Fresh>
void hand_out(std::size_t bytes, std::size_t alignment, std::size_t populated, std::size_t locked) {
  refusing_pages<Fresh> pages;
  for (const bool granted : {false, true}) {
    refusing_calls::may_populate = refusing_calls::may_advise = granted;
    refusing_calls::maps_left = 10;
    refusing_calls::populated = refusing_calls::locked = 0;
    errno = 12345;
    void* const p = pages.allocate(bytes, 1);
    EXPECT_TRUE(ashlar::is_aligned(p, alignment));
    EXPECT_EQ(refusing_calls::populated, populated);
    EXPECT_EQ(refusing_calls::locked, locked);
    if constexpr (ashlar::prefaulting_resource<refusing_pages<Fresh>>) pages.prefault(p, bytes);
    std::memset(p, 1, bytes);
    pages.deallocate(p, bytes, 1);
    EXPECT_EQ(errno, 12345);
  }
}

TEST(page_resource, policies_hold_for_each_block_and_combine) {
  using namespace ashlar::fresh;
  constexpr std::size_t small = 100'000, large = std::size_t{3} << 20;
  const std::size_t whole = ashlar::os::pages::round_up(small);
  hand_out<populated>(small, 1, 0, 0);
  hand_out<huge>(large, huge::huge_bytes, 0, 0);
  hand_out<resident<>>(small, 1, whole, 0);
  hand_out<locked<>>(small, 1, 0, whole);
  hand_out<locked<huge>>(large, huge::huge_bytes, 0, large);
}

TEST(page_resource, follows_a_wish_that_changes) {
  using ashlar::fresh::huge_pages;
  constexpr std::size_t bytes = std::size_t{4} << 20;
  refusing_pages<ashlar::fresh::by_wish> pages;
  EXPECT_TRUE(ashlar::prefaulting_resource<refusing_pages<ashlar::fresh::by_wish>>);
  for (const huge_pages wish :
       {huge_pages::by_system, huge_pages::wanted, huge_pages::refused, huge_pages::by_system}) {
    refusing_calls::maps_left = 10;
    refusing_calls::advised = refusing_calls::refused = 0;
    ashlar::fresh::by_wish::set_wish(wish);
    errno = 12345;
    void* const p = pages.allocate(bytes, 1);
    EXPECT_EQ(errno, 12345);
    EXPECT_EQ(refusing_calls::advised, wish == huge_pages::wanted ? bytes : 0);
    EXPECT_EQ(refusing_calls::refused, wish == huge_pages::refused ? bytes : 0);
    const bool grown = pages.try_expand(p, bytes, 2 * bytes, 1);
    EXPECT_EQ(refusing_calls::advised, wish == huge_pages::wanted ? bytes + (grown ? 2 * bytes : 0) : 0);
    EXPECT_EQ(refusing_calls::refused, wish == huge_pages::refused ? bytes + (grown ? 2 * bytes : 0) : 0);
    pages.deallocate(p, grown ? 2 * bytes : bytes, 1);
  }
}

TEST(page_resource, populates_blocks_of_a_segment_while_that_is_wished) {
  using by_wish = ashlar::fresh::by_wish;
  refusing_pages<by_wish> pages;
  const auto populated_of = [&](std::size_t bytes) {
    refusing_calls::maps_left = 10;
    refusing_calls::populated = 0;
    errno = 12345;
    void* const p = pages.allocate(bytes, 1);
    EXPECT_EQ(errno, 12345);
    std::memset(p, 1, bytes);
    pages.deallocate(p, bytes, 1);
    return refusing_calls::populated;
  };
  const std::size_t page = ashlar::os::pages::round_up(1), most = by_wish::most_populated_bytes;
  EXPECT_EQ(populated_of(most), 0u);
  by_wish::set_populates(true);
  for (const bool granted : {true, false}) {
    refusing_calls::may_populate = granted;
    EXPECT_EQ(populated_of(1), page);
    EXPECT_EQ(populated_of(most), most);
    EXPECT_EQ(populated_of(most + 1), 0u);
  }
  refusing_calls::may_populate = true;
  by_wish::set_populates(false);
  EXPECT_EQ(populated_of(page), 0u);
}

TEST(page_resource, what_cannot_be_locked_is_given_back_and_memory_that_ran_out) {
  refusing_calls::may_lock = false;
  refusing_calls::maps_left = 10;
  refusing_calls::unmapped = 0;
  refusing_pages<ashlar::fresh::locked<>> pages;
  errno = 12345;
  EXPECT_EQ(pages.try_allocate(100'000, 1), nullptr);
  EXPECT_EQ(errno, 12345);
  EXPECT_EQ(refusing_calls::unmapped, ashlar::os::pages::round_up(100'000));
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(pages.allocate(1, 1)), std::bad_alloc);
#endif
  refusing_calls::may_lock = true;
  pages.deallocate(pages.allocate(1, 1), 1, 1);
}

// A block grows into freed pages behind it: a shrunk one into its former pages.
TEST(page_resource, shrinks_always_and_grows_into_what_is_free) {
  page_resource pages;
  const std::size_t page = ashlar::os::pages::page_bytes();
  auto* const p = static_cast<unsigned char*>(pages.allocate(64 * page, 1));
  std::memset(p, 1, 64 * page);
  errno = 12345;
  EXPECT_TRUE(pages.try_expand(p, 64 * page, 63 * page + 1, 1)) << "the last page is needed";
  EXPECT_TRUE(pages.try_expand(p, 63 * page + 1, 2 * page, 1));
  const bool grown = pages.try_expand(p, 2 * page, 32 * page, 1);
  EXPECT_FALSE(pages.try_expand(p, grown ? 32 * page : 2 * page, ashlar::max_size, 1));
  EXPECT_EQ(errno, 12345);
#if defined(__linux__)
  EXPECT_TRUE(grown);
#endif
  EXPECT_EQ(p[2 * page - 1], 1);
  EXPECT_TRUE(!grown || std::all_of(p + 2 * page, p + 32 * page, [](unsigned char byte) { return byte == 0; }));
  pages.deallocate(p, grown ? 32 * page : 2 * page, 1);
}

template <class Fresh>
void grow_a_shrunk_block(std::size_t bytes) {
  refusing_calls::maps_left = 10;
  refusing_pages<Fresh> pages;
  void* p = pages.allocate(bytes, 1);
  ASSERT_TRUE(pages.try_expand(p, bytes, bytes / 2, 1));
  refusing_calls::populated = refusing_calls::advised = 0;
  const bool grown = pages.try_expand(p, bytes / 2, bytes, 1);
  if (grown && std::is_same_v<Fresh, ashlar::fresh::resident<>>) {
    EXPECT_EQ(refusing_calls::populated, bytes / 2);
  }
  if (grown && std::is_same_v<Fresh, ashlar::fresh::huge>) {
    EXPECT_EQ(refusing_calls::advised, bytes);
  }
  const std::size_t held = grown ? bytes : bytes / 2;
  void* const place = ashlar::os::pages::reserve(2 * bytes, std::size_t{4} << 20);
  const bool moved = pages.move(p, held, place, 2 * bytes);
  if (!moved) ashlar::os::pages::release(place, 2 * bytes);
  pages.deallocate(moved ? place : p, moved ? 2 * bytes : held, 1);
}

TEST(page_resource, policies_hold_for_what_a_block_grows_by) {
  constexpr std::size_t bytes = std::size_t{4} << 20;
  grow_a_shrunk_block<ashlar::fresh::plain>(bytes);
  grow_a_shrunk_block<ashlar::fresh::resident<>>(bytes);
  grow_a_shrunk_block<ashlar::fresh::huge>(bytes);
  grow_a_shrunk_block<ashlar::fresh::locked<ashlar::fresh::resident<ashlar::fresh::huge>>>(bytes);
}

// The real limit, in a child that lowers it: one page may be locked, a second may not.
TEST(page_resource, the_systems_limit_of_locked_memory_is_memory_that_ran_out) {
  if constexpr (ashlar_test::has_asan || ashlar_test::has_tsan) GTEST_SKIP() << "sanitizers say yes and lock nothing";
  const auto under_the_limit = [] {
    const rlimit one_page = {ashlar::os::pages::page_bytes(), ashlar::os::pages::page_bytes()};
    if (::setrlimit(RLIMIT_MEMLOCK, &one_page) != 0) std::_Exit(0);
    if (::geteuid() == 0 && ::setuid(65534) != 0) std::_Exit(0);  // the limit does not bind a privileged user
    ashlar::basic_page_resource<ashlar::fresh::locked<>> pages;
    void* const first = pages.try_allocate(1, 1);
    const bool refused = first == nullptr || pages.try_allocate(1, 1) == nullptr;
    std::_Exit(refused ? 0 : 1);
  };
  EXPECT_EXIT(under_the_limit(), ::testing::ExitedWithCode(0), "");
}

TEST(page_resource, a_refused_map_is_null_or_bad_alloc) {
  refusing_pages<ashlar::fresh::plain> pages;
  for (int granted = 0; granted < 2; ++granted) {  // 1: the first mapping succeeds, and its wider second one may not
    refusing_calls::maps_left = granted;
    errno = 12345;
    void* const p = pages.try_allocate(4096, std::size_t{1} << 24);
    EXPECT_EQ(errno, 12345);
    if (p != nullptr) pages.deallocate(p, 4096, std::size_t{1} << 24);
    EXPECT_TRUE(granted != 0 || p == nullptr);
  }
#if defined(__cpp_exceptions)
  refusing_calls::maps_left = 0;
  EXPECT_THROW(static_cast<void>(pages.allocate(1, 1)), std::bad_alloc);
#endif
  refusing_calls::maps_left = 1;
  void* const p = pages.allocate(1, 1);
  pages.deallocate(p, 1, 1);
}

constexpr std::size_t huge = ashlar_test::huge_page_conformance::page_bytes;

struct huge_pages_of_the_machine : ashlar_test::huge_page_conformance {
  ashlar::huge_page_resource resource;
};

const bool tested = ashlar_test::conforms<huge_pages_of_the_machine>("huge_page_resource");

TEST(huge_page_resource, hands_out_zeroes_at_huge_pages) {
  ashlar::huge_page_resource pages;
  constexpr std::size_t bytes = huge + 1;
  auto* const p = static_cast<unsigned char*>(pages.allocate(bytes, 64));
  EXPECT_TRUE(ashlar::is_aligned(p, huge));
  EXPECT_TRUE(std::all_of(p, p + bytes, [](unsigned char byte) { return byte == 0; }));
  std::memset(p, 1, 2 * huge);
  pages.deallocate(p, bytes, 64);
}

// Smaller slabs would take a page each.
TEST(huge_page_resource, has_pages_for_the_slabs_of_pools) {
  if (!ashlar::os::huge_pages::releases_parts) GTEST_SKIP() << "no part of a block goes back";
  EXPECT_EQ(ashlar::block_pool<ashlar::huge_page_resource>({.cell_bytes = 24}).slab_bytes(), huge);
  EXPECT_EQ(ashlar::shared_block_pool<ashlar::huge_page_resource>({.cell_bytes = 24}).slab_bytes(), huge);
  const ashlar::fixed_block_pool<24, 8, ashlar::huge_page_resource> nodes;
  EXPECT_EQ(nodes.slab_bytes(), huge);
}

const bool policies_tested =
    ashlar_test::conforms<pages_of<ashlar::fresh::plain>, pages_of<ashlar::fresh::populated>,
                          pages_of<ashlar::fresh::huge>, pages_of<ashlar::fresh::resident<>>>("page_resource");

}  // namespace
