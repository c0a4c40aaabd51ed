// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of an extent table over an upstream of calls: what each may do, and what it lacks.
#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/extent_table.hpp>
#include <ashlar/detail/heap/page_map.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::extent_calls;
using ashlar::detail::extent_table;
using ashlar::detail::window;
using ashlar::detail::window_bytes;

// Addresses that are never read, and one table.
class counted : public extent_table {
public:
  explicit counted(const extent_calls& calls) : extent_table(ashlar::detail::max_size, calls) {}
  ~counted() { release(); }

  std::size_t taken = 0, given = 0;

  static void* take_next(extent_table& of, const window&, std::size_t bytes, std::uintptr_t alignment) noexcept {
    auto& all = static_cast<counted&>(of);
    if (alignment < window_bytes) return bytes <= sizeof all.slots_ ? all.slots_.data() : nullptr;
    return reinterpret_cast<void*>(window_bytes * (100 + 10 * all.taken++));
  }
  static void* give_one(extent_table& of, const window&, std::size_t, std::uintptr_t) noexcept {
    return ++static_cast<counted&>(of).given, nullptr;
  }
  static void* give_slots(extent_table&, const window&, std::size_t, std::uintptr_t) noexcept { return nullptr; }
  static void* expand_always(extent_table&, const window& extent, std::size_t, std::uintptr_t) noexcept {
    return extent.start;
  }
  static std::byte* move_to_next(extent_table& of, const window& was, std::size_t bytes,
                                 std::size_t alignment) noexcept {
    auto& all = static_cast<counted&>(of);
    if (!all.begin_move(was, bytes)) return nullptr;
    return all.end_move(was, take_next(of, was, bytes, alignment), bytes, alignment);
  }

private:
  std::array<window, 64> slots_ = {};
};

constexpr extent_calls least = {.take = &counted::take_next,
                                .give = &counted::give_one,
                                .give_table = &counted::give_slots,
                                .expand = nullptr,
                                .move = nullptr,
                                .split = nullptr,
                                .guard = nullptr,
                                .takes_back = false};

constexpr extent_calls all_calls = [] {
  extent_calls calls = least;
  calls.expand = &counted::expand_always;
  calls.move = &counted::move_to_next;
  calls.takes_back = true;
  return calls;
}();

TEST(extent_table, neither_resizes_nor_moves_what_its_upstream_cannot) {
  counted table(least);
  std::byte* const p = table.take(window_bytes, window_bytes, false);
  ASSERT_NE(p, nullptr);
  EXPECT_FALSE(table.resize(p, 2 * window_bytes));
  EXPECT_EQ(table.move(p, 2 * window_bytes, window_bytes), nullptr);
  EXPECT_EQ(table.held_bytes(), window_bytes);
  table.give(p);
  EXPECT_TRUE(table.given == 1 && table.held_bytes() == 0 && table.invariant());
}

TEST(extent_table, keeps_spare_extents_of_an_upstream_that_would_lose_them) {
  if (ashlar_test::is_hardened) GTEST_SKIP() << "spare extents are filled";
  for (const extent_calls* const calls : {&least, &all_calls}) {
    counted table(*calls);
    table.keep(table.take(window_bytes, window_bytes, true));
    EXPECT_EQ(table.give_spares(0), calls->takes_back ? window_bytes : 0);
    EXPECT_EQ(table.given, calls->takes_back ? 1u : 0u);
    EXPECT_TRUE(table.invariant());
  }
}

TEST(extent_table, finds_an_extent_where_the_upstream_has_moved_it) {
  counted table(all_calls);
  std::byte* const p = table.take(window_bytes, window_bytes, false);
  EXPECT_TRUE(table.resize(p, 3 * window_bytes));
  EXPECT_EQ(table.find(p + 2 * window_bytes)->start, p);
  std::byte* const q = table.move(p, 4 * window_bytes, window_bytes);
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(table.find(p), nullptr);
  EXPECT_EQ(table.find(q + 3 * window_bytes)->start, q);
  EXPECT_EQ(table.held_bytes(), 4 * window_bytes);
  std::size_t extents = 0;
  table.for_each([&](const window& each) { extents += each.start == q ? 1 : 0; });
  EXPECT_TRUE(extents == 1 && table.invariant());
}

}  // namespace
