// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the extent map of a heap, over upstreams that keep records, refuse, grow and move blocks.
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/resource/page_resource.hpp>

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

}  // namespace
