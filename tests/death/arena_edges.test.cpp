// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of corner cases of an arena: destructors with markers, markers with shrinking blocks, adjoining chunks.
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/buffer_resource.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::arena;

template <class F>
struct calls_at_end {
  F f;
  explicit calls_at_end(F g) : f(std::move(g)) {}
  calls_at_end(const calls_at_end&) = delete;
  calls_at_end& operator=(const calls_at_end&) = delete;
  ~calls_at_end() { f(); }
};

TEST(arena_edges, the_oldest_object_goes_back_to_its_own_marker_too) {
  arena<> a;
  int ends = 0;
  const auto end = [&] {
    const auto here = a.mark();
    const auto inner = [&] { ++ends; };
    static_cast<void>(a.make<calls_at_end<decltype(inner)>>(inner));
    a.rewind(here);
    EXPECT_EQ(ends % 2, 1);
    ++ends;
  };
  for (int round = 1; round <= 3; ++round) {
    static_cast<void>(a.make<calls_at_end<decltype(end)>>(end));
    round == 2 ? a.release() : a.reset();
    EXPECT_EQ(ends, 2 * round);
    EXPECT_TRUE(a.used() == 0 && a.invariant());
  }
}

TEST(arena_edges, a_marker_stays_good_when_the_block_under_it_shrinks) {
  for (const bool spills : {false, true}) {
    arena<> a(ashlar::arena_options{.initial_bytes = 256});
    void* const p = a.allocate(100, 8);
    const auto here = a.mark();
    EXPECT_TRUE(a.try_expand(p, 100, 40, 8));
    for (int i = 0; i < 2; ++i) {
      static_cast<void>(a.allocate(spills ? 1000 : 8, 8));
      a.rewind(here);
      EXPECT_TRUE(a.invariant());
      EXPECT_LE(a.used(), i == 0 ? 48u : 56u);
    }
    EXPECT_TRUE(a.owns(p));
  }
}

// The upstream's first block begins at the end of the buffer.
TEST(arena_edges, a_buffer_ends_where_the_first_chunk_begins) {
  alignas(64) std::array<std::byte, 4096> memory;
  ashlar::buffer_resource upstream(std::span<std::byte>(memory).subspan(64));
  arena<ashlar::resource_ref<ashlar::buffer_resource>> a(std::span<std::byte>(memory).first(64), {.initial_bytes = 512},
                                                         upstream);
  const auto start = a.mark();
  void* const p = a.allocate(64, 1);
  const auto full = a.mark();
  void* const q = a.allocate(1, 1);
  ASSERT_EQ(q, static_cast<void*>(memory.data() + 64));
  const auto in_chunk = a.mark();
  a.rewind(in_chunk);
  EXPECT_FALSE(a.try_expand(p, 64, 128, 1));
  a.rewind(full);
#if defined(__cpp_exceptions)
  struct fails {
    std::byte bytes[16];
    fails() { ASHLAR_THROW(1); }
  };
  EXPECT_THROW(static_cast<void>(a.make_unowned<fails>()), int);  // leaves the chunk empty, and on top
  EXPECT_FALSE(a.try_expand(p, 64, 128, 1));
  EXPECT_TRUE(a.try_expand(p, 64, 32, 1));
  EXPECT_EQ(a.used(), 64u);
  EXPECT_EQ(a.high_water(), 64u + 16u);
#endif
  EXPECT_TRUE(a.invariant());
  EXPECT_FALSE(a.owns(memory.data() + 3000));
  a.rewind(start);
  EXPECT_EQ(a.used(), 0u);
  EXPECT_TRUE(a.invariant());
}

#if defined(__cpp_exceptions)
TEST(arena_edges, the_high_water_counts_an_object_that_was_not_to_be) {
  struct fails {
    std::byte bytes[1000];
    fails() { ASHLAR_THROW(1); }
  };
  arena<> a;
  static_cast<void>(a.allocate(16, 8));
  EXPECT_THROW(static_cast<void>(a.make_unowned<fails>()), int);
  EXPECT_EQ(a.used(), 16u);
  EXPECT_EQ(a.high_water(), 1016u);
}
#endif

#if defined(GTEST_HAS_DEATH_TEST)
#endif

}  // namespace
