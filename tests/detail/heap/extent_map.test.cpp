// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the extent map of a heap, over upstreams that keep records, refuse, grow and move blocks.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/extent_map.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/faulty_calls.hpp"

namespace {

using ashlar::detail::window;
using ashlar::detail::window_bytes;
using ashlar_test::counting_resource;
using space_type = ashlar::detail::extent_map<ashlar::resource_ref<counting_resource<>>>;

constexpr std::size_t page = 4096;

/// An upstream with room behind each block, which grows in place step by step.
class roomy_pages {
public:
  static constexpr std::size_t room = 16 * window_bytes;

  ashlar::detail::failure_plan plan;
  std::size_t live_bytes = 0;

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return ashlar::detail::allocate_or_throw(*this, bytes, alignment);
  }
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = plan.fails_next() || bytes > room ? nullptr : pages_.try_allocate(room, alignment);
    live_bytes += p != nullptr ? bytes : 0;
    return p;
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    live_bytes -= bytes;
    pages_.deallocate(p, room, alignment);
  }
  [[nodiscard]] bool try_expand(void*, std::size_t bytes, std::size_t new_bytes, std::size_t) noexcept {
    if (plan.fails_next() || new_bytes > bytes + 2 * window_bytes) return false;
    live_bytes += new_bytes - bytes;
    return true;
  }
  [[maybe_unused]] friend bool operator==(const roomy_pages& a, const roomy_pages& b) noexcept { return &a == &b; }

private:
  ashlar::page_resource pages_;
};

TEST(extent_map, knows_what_lies_in_the_windows_it_holds) {
  counting_resource<> upstream;
  {
    space_type space(ashlar::detail::max_size, upstream);
    std::vector<std::byte*> extents;
    for (std::size_t bytes = page; bytes < 10 * window_bytes; bytes = bytes * 3 + page)
      for (const std::size_t alignment : {window_bytes, 2 * window_bytes}) {
        std::byte* const p = space.take(bytes, alignment, false);
        ASSERT_TRUE(p != nullptr && ashlar::detail::is_aligned(p, alignment));
        for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1}) {
          ASSERT_NE(space.find(p + at), nullptr);
          ASSERT_EQ(space.find(p + at)->start, p);
        }
        ASSERT_EQ(space.find(p + bytes), nullptr);
        extents.push_back(p);
        ASSERT_TRUE(space.invariant());
      }
    for (std::size_t i = 0; i < extents.size(); i += 2) space.give(extents[i]);
    for (std::size_t i = 0; i < extents.size(); ++i) EXPECT_EQ(space.find(extents[i]) != nullptr, i % 2 == 1);
    space.keep(extents[1]);
    EXPECT_TRUE(space.is_spare(extents[1]) && space.invariant());
  }
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
}

TEST(extent_map, keeps_to_its_limit_and_costs_nothing_beyond) {
  counting_resource<> upstream;
  space_type space(10 * window_bytes, upstream);
  EXPECT_EQ(space.take(11 * window_bytes, window_bytes, false), nullptr);
  upstream.limit_bytes(window_bytes);
  EXPECT_EQ(space.take(2 * window_bytes, window_bytes, false), nullptr);
  upstream.limit_bytes(9 * window_bytes);
  EXPECT_EQ(space.take(9 * window_bytes, window_bytes, false), nullptr) << "no memory is left for the table";
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  upstream.limit_bytes(12 * window_bytes);
  EXPECT_NE(space.take(9 * window_bytes, window_bytes, false), nullptr);
  EXPECT_EQ(space.take(2 * window_bytes, window_bytes, true), nullptr);
  EXPECT_TRUE(space.held_bytes() == 9 * window_bytes && space.invariant());
}

TEST(extent_map, spare_extents_go_back_before_anything_is_refused) {
  for (const bool limited : {true, false}) {
    counting_resource<> upstream;
    space_type space(limited ? 3 * window_bytes : ashlar::detail::max_size, upstream);
    if (!limited) upstream.limit_bytes(3 * window_bytes);
    std::byte* const a = space.take(window_bytes, window_bytes, false);
    std::byte* const b = space.take(window_bytes, window_bytes, false);
    space.keep(a), space.keep(b);
    EXPECT_EQ(space.spare_bytes(), 2 * window_bytes);
    EXPECT_NE(space.take(window_bytes, window_bytes, true), nullptr);
    EXPECT_EQ(space.spare_bytes(), 2 * window_bytes) << "there was room";
    EXPECT_NE(space.take(window_bytes, window_bytes, true), nullptr);
    EXPECT_TRUE(space.spare_bytes() == 0 && !space.is_spare(a) && !space.is_spare(b));
    EXPECT_EQ(space.take(2 * window_bytes, window_bytes, true), nullptr);
    EXPECT_TRUE(space.invariant());
  }
}

TEST(extent_map, has_few_spare_extents_and_gives_the_old_ones_back) {
  counting_resource<> upstream;
  space_type space(ashlar::detail::max_size, upstream);
  std::vector<std::byte*> all;
  for (std::size_t i = 0; i < ashlar::detail::spare_extents::most + 2; ++i)
    all.push_back(space.take(page, window_bytes, false));
  for (std::byte* const each : all) space.keep(each);
  EXPECT_EQ(space.spare_bytes(), ashlar::detail::spare_extents::most * page);
  EXPECT_FALSE(space.is_spare(all[1]));
  EXPECT_EQ(space.take_spare(page, window_bytes), all.back());
  EXPECT_EQ(space.take_spare(2 * page, window_bytes), nullptr) << "nothing is known of moving this upstream's";
  space.age_spares();
  space.keep(all.back());
  space.age_spares();
  EXPECT_EQ(space.spare_bytes(), page);
  space.age_spares();
  EXPECT_EQ(space.spare_bytes(), 0u);
  space.keep(all.front() = space.take(page, window_bytes, false));
  EXPECT_EQ(space.give_spares(page), 0u);
  EXPECT_EQ(space.give_spares(page - 1), page);
}

// Growth and shrinking in place by the upstream; a refusal leaves everything unchanged.
TEST(extent_map, grows_where_the_upstream_does_and_survives_each_refusal) {
  if (sizeof(void*) == 4) GTEST_SKIP() << "no address space for that";
  for (std::size_t k = 0; k < 12; ++k) {
    roomy_pages upstream;
    {
      ashlar::detail::extent_map<ashlar::resource_ref<roomy_pages>> space(12 * window_bytes, upstream);
      upstream.plan.fail_at(k);
      std::byte* const p = space.take(window_bytes + page, window_bytes, false);
      std::size_t held = p != nullptr ? window_bytes + page : 0, refused = held == 0 ? 1 : 0;
      for (const std::size_t wanted : {2u, 4u, 6u, 8u, 5u, 1u, 3u}) {
        if (p == nullptr) break;
        const bool done = space.resize(p, wanted * window_bytes - page);
        held = done ? wanted * window_bytes - page : held;
        refused += done ? 0 : 1;
        ASSERT_EQ(space.find(p)->bytes(), held);
        ASSERT_EQ(space.find(p + held - 1)->start, p);
        ASSERT_EQ(space.find(p + held), nullptr);
        ASSERT_TRUE(space.held_bytes() == held && space.invariant());
        p[held - 1] = std::byte{1};
      }
      EXPECT_TRUE(refused == 0 || k < 11);
      EXPECT_FALSE(p != nullptr && space.resize(p, 13 * window_bytes)) << "the limit refuses";
    }
    EXPECT_EQ(upstream.live_bytes, 0u);
  }
}

TEST(extent_map, makes_no_table_for_what_can_hardly_be) {
  roomy_pages upstream;
  ashlar::detail::extent_map<ashlar::resource_ref<roomy_pages>> space(ashlar::detail::max_size, upstream);
  std::byte* const p = space.take(page, window_bytes, false);
  EXPECT_FALSE(space.resize(p, ashlar::detail::align_down(ashlar::detail::max_block_bytes, page)));
  EXPECT_EQ(upstream.live_bytes, page);
}

struct moving;
using calls = ashlar_test::faulty_calls<moving>;
using moving_pages = ashlar_test::faulty_pages<moving>;

#if defined(__linux__)
constexpr bool can_move = true;
#else
constexpr bool can_move = false;
#endif

TEST(extent_map, moves_pages_with_their_contents_and_survives_each_refusal) {
  for (std::size_t k = 0; k < 8; ++k) {
    {
      ashlar::detail::extent_map<moving_pages> space(10 * window_bytes, {});
      std::byte* p = space.take(window_bytes + page, window_bytes, false);
      p[0] = p[window_bytes] = std::byte{7};
      calls::faults.maps.fail_at(k);
      calls::faults.unmaps.fail_at(k);
      calls::faults.moves.fail_at(k);
      for (const std::size_t wanted : {2u, 5u, 6u}) {
        std::byte* const moved = space.move(p, wanted * window_bytes, 2 * window_bytes);
        EXPECT_TRUE(moved != nullptr || k < 8 || !can_move);
        p = moved != nullptr ? moved : p;
        ASSERT_TRUE(p[0] == std::byte{7} && p[window_bytes] == std::byte{7});
        ASSERT_TRUE(moved == nullptr || ashlar::detail::is_aligned(p, 2 * window_bytes));
        const std::size_t held = space.find(p)->bytes();
        ASSERT_EQ(space.find(p + held - 1)->start, p);
        p[held - 1] = std::byte{1};
        ASSERT_TRUE(space.held_bytes() == held && space.invariant());
      }
      calls::faults.fail_never();
      EXPECT_EQ(space.move(p, 11 * window_bytes, window_bytes), nullptr) << "the limit refuses";
    }
    calls::faults.give_back_lost();
    EXPECT_EQ(calls::faults.mapped_bytes, 0u);
  }
}

TEST(extent_map, fits_a_spare_extent_to_what_is_wanted) {
  if (!can_move) GTEST_SKIP();
  {
    ashlar::detail::extent_map<moving_pages> space(ashlar::detail::max_size, {});
    std::byte* const p = space.take(5 * window_bytes + page, window_bytes, false);
    p[0] = p[window_bytes + 5000] = std::byte{7};
    space.keep(p);
    std::byte* const small = space.take_spare(page, window_bytes);
    EXPECT_EQ(small, p) << "cut off its start";
    EXPECT_TRUE(space.find(p)->bytes() == page && space.spare_bytes() == 4 * window_bytes + page);
    std::byte* const large = space.take_spare(6 * window_bytes, window_bytes);
    ASSERT_NE(large, nullptr) << "the rest of it, moved and grown";
    EXPECT_TRUE(large[5000] == std::byte{7} && large[6 * window_bytes - 1] == std::byte{0});
    EXPECT_TRUE(space.spare_bytes() == 0 && space.invariant());
    space.keep(large);
    calls::faults.moves.fail_from(0);
    EXPECT_EQ(space.take_spare(7 * window_bytes, window_bytes), nullptr);
    EXPECT_TRUE(space.is_spare(large) && space.invariant());
    calls::faults.fail_never();
  }
  calls::faults.give_back_lost();
  EXPECT_EQ(calls::faults.mapped_bytes, 0u);
}

TEST(extent_map, counts_what_is_set_aside_within_its_limit) {
  counting_resource<> upstream;
  space_type space(2 * window_bytes, upstream);
  std::byte* const p = space.take(window_bytes, window_bytes, false);
  EXPECT_TRUE(space.charge(page));
  EXPECT_EQ(space.take(window_bytes, window_bytes, false), nullptr);
  EXPECT_FALSE(space.charge(window_bytes));
  space.keep(p);
  EXPECT_TRUE(space.charge(window_bytes)) << "instead of what was spare";
  EXPECT_TRUE(space.held_bytes() == 0 && space.charged_bytes() == window_bytes + page);
  space.uncharge(window_bytes + page);
  EXPECT_NE(space.take(2 * window_bytes, window_bytes, true), nullptr);
}

TEST(extent_map, makes_two_extents_of_one) {
  ashlar::detail::extent_map<ashlar::page_resource> space(ashlar::detail::max_size, {});
  std::byte* const both = space.take(2 * window_bytes, window_bytes, true);
  space.split(both, window_bytes);
  EXPECT_EQ(space.find(both + window_bytes)->start, both + window_bytes);
  EXPECT_TRUE(space.find(both)->bytes() == window_bytes && space.find(both)->is_segment() && space.invariant());
  space.give(both);
  EXPECT_TRUE(space.held_bytes() == window_bytes && space.invariant());
}

}  // namespace
