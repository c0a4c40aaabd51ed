// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the arena, down to destructors with markers, markers with shrinking blocks, adjoining chunks; and of the one
// with its first bytes inside the object.
#include <array>
#include <atomic>
#include <cstddef>
#include <new>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_arena.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/live_blocks.hpp"

namespace {

using ashlar::arena;
using ashlar_test::counting_resource;
using counted_arena = arena<ashlar::resource_ref<counting_resource<>>>;

struct arena_subject : ashlar_test::conformance_defaults {
  static constexpr bool reuses = false;
  static constexpr std::size_t churn_steps = 500;
};
struct over_pages : arena_subject {
  static constexpr bool exhaustible = false;
  arena<> resource;
};
struct over_counted : arena_subject {
  counting_resource<> upstream;
  counted_arena resource{{.initial_bytes = 1000, .max_growth_bytes = 20'000}, upstream};
};
struct over_buffer : arena_subject {
  alignas(64) std::array<std::byte, 3000> buffer;
  counting_resource<> upstream;
  counted_arena resource{buffer, {.initial_bytes = 1000, .max_bytes = 2'000'000}, upstream};
};

struct arenas : ::testing::Test {
  counting_resource<> upstream;

  std::size_t calls() const { return upstream.allocations() + upstream.refusals() + upstream.deallocations(); }
};

std::string ended;

struct named {
  explicit named(char as) : name(as) {}
  named(const named&) = delete;
  named& operator=(const named&) = delete;
  ~named() { ended += name; }
  char name;
};

static_assert(!std::is_copy_constructible_v<arena<>> && !std::is_move_constructible_v<arena<>>);
static_assert(!std::is_copy_assignable_v<arena<>> && !std::is_move_assignable_v<arena<>>);

TEST_F(arenas, are_made_without_asking) {
  const counted_arena made({}, upstream);
  EXPECT_EQ(calls(), 0u);
  EXPECT_EQ(made.capacity() + made.used() + made.waste() + made.high_water() + made.held_bytes(), 0u);
  EXPECT_TRUE(made.invariant());
}

TEST_F(arenas, lay_blocks_behind_each_other_and_count_them) {
  counted_arena a({.initial_bytes = 1000}, upstream);
  auto* const first = static_cast<std::byte*>(a.allocate(10, 1));
  EXPECT_EQ(a.allocate(8, 8), first + 16);
  EXPECT_EQ(a.used(), 24u);
  EXPECT_EQ(a.waste(), 0u);
  EXPECT_EQ(a.capacity(), 1000 - sizeof(ashlar::detail::chunk));
  EXPECT_EQ(a.held_bytes(), 1000u);
  static_cast<void>(a.allocate(1000, 1));
  EXPECT_EQ(a.used(), 1024u);
  EXPECT_EQ(a.waste(), 1000 - sizeof(ashlar::detail::chunk) - 24);
  EXPECT_EQ(a.high_water(), 1024u);
  a.release();
  EXPECT_EQ(a.used() + a.waste() + a.capacity() + a.high_water(), 0u);
}

TEST_F(arenas, after_a_warm_up_never_ask_again) {
  counted_arena a({.initial_bytes = 256, .max_growth_bytes = 4096}, upstream);
  const auto frame = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 300; ++i) static_cast<void>(a.allocate(1 + random() % 100, std::size_t{1} << random() % 5));
    EXPECT_TRUE(a.invariant());
    a.reset();
    EXPECT_EQ(a.used() + a.waste(), 0u);
    EXPECT_TRUE(a.invariant());
  };
  for (unsigned i = 0; i < 3; ++i) frame(1);
  EXPECT_EQ(upstream.balance().blocks, 1u);
  const std::size_t before = calls();
  for (unsigned i = 0; i < 20; ++i) frame(1);
  EXPECT_EQ(calls(), before);
}

TEST_F(arenas, with_a_buffer_use_it_first_and_again_after_a_reset) {
  alignas(16) std::array<std::byte, 100> buffer;
  counted_arena a(buffer, {.initial_bytes = 256}, upstream);
  EXPECT_EQ(a.allocate(100, 1), buffer.data());
  EXPECT_EQ(calls(), 0u);
  static_cast<void>(a.allocate(200, 1));
  static_cast<void>(a.allocate(300, 1));
  EXPECT_EQ(upstream.balance().blocks, 2u);
  EXPECT_TRUE(a.owns(buffer.data() + 99));
  a.reset();
  EXPECT_EQ(upstream.balance().blocks, 1u);
  const std::size_t before = calls();
  for (int i = 0; i < 3; ++i, a.reset()) {
    EXPECT_EQ(a.allocate(100, 1), buffer.data());
    static_cast<void>(a.allocate(200, 1));
    static_cast<void>(a.allocate(300, 1));
  }
  EXPECT_EQ(calls(), before);
  a.release();
  EXPECT_EQ(a.allocate(1, 1), buffer.data());
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
}

TEST_F(arenas, stop_at_the_limit_and_go_on_after_a_reset) {
  counted_arena a({.initial_bytes = 1024, .max_bytes = 4096}, upstream);
  std::size_t got = 0;
  while (a.try_allocate(64, 1) != nullptr) ++got;
  EXPECT_GE(got, 3u * 1024 / 64);
  EXPECT_LE(a.held_bytes(), 4096u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(a.try_allocate(64, 1), nullptr);
  EXPECT_LE(upstream.peak().bytes, 4096u);
  a.reset();
  EXPECT_EQ(upstream.balance().blocks, 1u);
  EXPECT_NE(a.try_allocate(64, 1), nullptr);
  EXPECT_LE(upstream.peak().bytes, 4096u);
}

TEST_F(arenas, grow_and_shrink_the_last_block_where_it_stands) {
  counted_arena a({.initial_bytes = 4096}, upstream);
  void* p = a.allocate(16, 8);
  std::size_t bytes = 16;
  for (; bytes < 2048; bytes *= 2) EXPECT_TRUE(a.try_expand(p, bytes, 2 * bytes, 8));
  EXPECT_EQ(a.used(), bytes);  // no bytes are left behind
  EXPECT_FALSE(a.try_expand(p, bytes, 5000, 8));
  EXPECT_FALSE(a.try_expand(p, bytes, ashlar::max_size, 8));
  EXPECT_TRUE(a.try_expand(p, bytes, 0, 8));
  EXPECT_EQ(a.used(), 1u) << "its address stays unique";
  EXPECT_TRUE(a.try_expand(p, 0, 100, 8));
  EXPECT_EQ(a.used(), 100u);
  EXPECT_EQ(a.high_water(), 2048u);
  static_cast<void>(a.allocate(1, 1));
  EXPECT_FALSE(a.try_expand(p, 100, 101, 8));
  EXPECT_TRUE(a.try_expand(p, 100, 50, 8));
  EXPECT_EQ(a.used(), 101u);
}

static_assert(std::is_nothrow_default_constructible_v<arena<>::marker>);

TEST_F(arenas, go_back_to_a_marker_and_keep_the_memory) {
  counted_arena a({.initial_bytes = 256}, upstream);
  const auto empty = a.mark();
  void* const first = a.allocate(100, 1);
  const auto after_first = a.mark();
  const auto fill = [&] {
    for (int i = 0; i < 50; ++i) static_cast<void>(a.allocate(100, 1));
  };
  fill();
  const std::size_t used = a.used(), before = calls();
  for (int i = 0; i < 5; ++i) {
    a.rewind(after_first);
    EXPECT_EQ(a.used(), 100u);
    EXPECT_EQ(a.waste(), 0u);
    EXPECT_TRUE(a.invariant());
    fill();
  }
  EXPECT_EQ(calls(), before);
  EXPECT_EQ(a.high_water(), used);
  a.rewind(empty);
  EXPECT_EQ(a.used(), 0u);
  EXPECT_EQ(a.allocate(100, 1), first);
  EXPECT_EQ(calls(), before);
}

TEST_F(arenas, end_objects_the_latest_first) {
  ended.clear();
  {
    counted_arena a({.initial_bytes = 256}, upstream);
    static_cast<void>(a.make<named>('a'));
    const auto m = a.mark();
    for (char c = 'b'; c <= 'e'; ++c) static_cast<void>(a.make<named>(c));
    a.rewind(m);
    EXPECT_EQ(ended, "edcb");
    static_cast<void>(a.make<named>('f'));
    a.reset();
    EXPECT_EQ(ended, "edcbfa");
    static_cast<void>(a.make<named>('g'));
    a.release();
    static_cast<void>(a.make<named>('h'));
    static_cast<void>(a.make_unowned<named>('i'));
  }
  EXPECT_EQ(ended, "edcbfagh");
}

TEST_F(arenas, store_nothing_for_trivially_destructible_objects) {
  counted_arena a({}, upstream);
  EXPECT_EQ(*a.make<int>(7), 7);
  EXPECT_EQ(a.used(), sizeof(int));
  EXPECT_EQ(a.make_array<int>(5)[4], 0);
  EXPECT_EQ(a.used(), 6 * sizeof(int));
  const auto texts = a.make_array<std::string>(3);
  texts[2] = std::string(100, 'x');  // a sanitizer would see it leak
  EXPECT_EQ(texts[0], "");
  EXPECT_TRUE(a.make_array<std::string>(0).empty());
}

struct fails {
  static inline int left = 0;
  fails() {
    if (left-- == 0) ASHLAR_THROW(1);
  }
  explicit fails(counted_arena& a) {
    static_cast<void>(a.make<named>('n'));
    ASHLAR_THROW(1);
  }
  ~fails() { ended += '-'; }
};

#if defined(__cpp_exceptions)
TEST_F(arenas, forget_an_object_whose_constructor_throws) {
  counted_arena a({}, upstream);
  static_cast<void>(a.allocate(8, 8));
  ended.clear();
  for (int i = 0; i < 10; ++i) {
    fails::left = 0;
    EXPECT_THROW(static_cast<void>(a.make<fails>()), int);
    fails::left = 2;
    EXPECT_THROW(static_cast<void>(a.make_array<fails>(4)), int);
  }
  EXPECT_EQ(a.used(), 8u);
  EXPECT_EQ(ended, std::string(20, '-'));
  ended.clear();
  EXPECT_THROW(static_cast<void>(a.make<fails>(a)), int);  // its objects lie above it, and stay
  EXPECT_GT(a.used(), 8u);
  EXPECT_EQ(ended, "");
  a.reset();
  EXPECT_EQ(ended, "n");
  EXPECT_THROW(static_cast<void>(a.make_array<int>(ashlar::max_size / 2)), std::bad_array_new_length);
  EXPECT_THROW(static_cast<void>(a.make_array<std::string>(ashlar::max_size / sizeof(std::string))),
               std::bad_array_new_length);
}
#endif

// Its destructor makes another one in the same arena, several times, and uses scratch memory of the arena.
struct heir {
  counted_arena& from;
  int left;
  heir(counted_arena& a, int n) : from(a), left(n) {}
  heir(const heir&) = delete;
  heir& operator=(const heir&) = delete;
  ~heir() {
    const auto m = from.mark();
    static_cast<void>(from.allocate(300, 1));
    static_cast<void>(from.make<named>('t'));
    from.rewind(m);
    if (left != 0) static_cast<void>(from.make<heir>(from, left - 1));
    ended += 'h';
  }
};

TEST_F(arenas, let_destructors_allocate_and_make_objects) {
  ended.clear();
  counted_arena a({.initial_bytes = 256}, upstream);
  for (int round = 0; round < 4; ++round) {
    if (round < 2) static_cast<void>(a.make<named>('a'));  // in later rounds the heir is the oldest object
    static_cast<void>(a.make<heir>(a, 3));
    static_cast<void>(a.make<named>('b'));
    round % 2 == 1 ? a.release() : a.reset();
    EXPECT_EQ(ended, round < 2 ? "bththththa" : "bthththth");
    EXPECT_EQ(a.used(), 0u);
    EXPECT_TRUE(a.invariant());
    ended.clear();
  }
}

TEST_F(arenas, end_a_long_chain_without_a_deep_stack) {
  counted_arena a({}, upstream);
  std::size_t ends = 0;
  struct link {
    std::size_t& counted;
    link* next;
    link(std::size_t& n, link* to) : counted(n), next(to) {}
    ~link() { ++counted; }
  };
  link* last = nullptr;
  for (int i = 0; i < 100'000; ++i) last = a.make<link>(ends, last);
  a.reset();
  EXPECT_EQ(ends, 100'000u);
}

// A plain model: the live blocks, by marker; every block keeps its contents until it is taken back.
TEST_F(arenas, agree_with_a_model) {
  for (unsigned seed = 0; seed < (ashlar_test::is_slow ? 10u : 100u); ++seed) {
    std::mt19937 random(seed);
    alignas(16) std::array<std::byte, 64> buffer;
    counted_arena a(std::span<std::byte>(buffer).first(seed % 2 * 64), {.initial_bytes = 100, .max_growth_bytes = 2000},
                    upstream);
    ashlar_test::live_blocks blocks(a);
    struct point {
      counted_arena::marker m;
      std::size_t blocks;
    };
    std::vector<point> points;
    const auto forget_down_to = [&](std::size_t n) {
      while (blocks.size() > n) static_cast<void>(blocks.forget(blocks.size() - 1));
    };
    for (int step = 0; step < 300; ++step) {
      switch (random() % 20) {
        case 0: points.push_back({a.mark(), blocks.size()}); break;
        case 1:
          if (points.empty()) break;
          points.resize(points.size() - random() % points.size());
          forget_down_to(points.back().blocks);
          a.rewind(points.back().m);
          break;
        case 2:
          if (random() % 5 != 0) break;
          forget_down_to(0), points.clear();
          random() % 4 == 0 ? a.release() : a.reset();
          break;
        default: ASSERT_TRUE(blocks.try_allocate(random() % 200, std::size_t{1} << random() % 8));
      }
      ASSERT_TRUE(a.invariant());
    }
    EXPECT_TRUE(blocks.all_intact());
    forget_down_to(0);
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
  struct never_made {
    std::byte bytes[16];
    never_made() { ASHLAR_THROW(1); }
  };
  EXPECT_THROW(static_cast<void>(a.make_unowned<never_made>()), int);  // leaves the chunk empty, and on top
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

// ThreadSanitizer watches.
TEST(arena, tells_other_threads_what_it_holds) {
  arena<> a;
  std::atomic<bool> is_over = false;
  std::thread reader([&] {
    for (std::size_t seen = 0; !is_over; seen = a.held_bytes()) EXPECT_GE(a.held_bytes(), seen);
  });
  for (int i = 0; i < 100; ++i) static_cast<void>(a.allocate(10'000, 8));
  is_over = true;
  reader.join();
  EXPECT_GE(a.held_bytes(), 1'000'000u);
}

using ashlar::inline_arena;
using counted = inline_arena<256, ashlar::resource_ref<counting_resource<>>>;

struct spills : arena_subject {
  counting_resource<> upstream;
  counted resource{{.initial_bytes = 1000}, upstream};
};

TEST(inline_arena, uses_its_own_bytes_first_and_again_after_each_reset) {
  counting_resource<> upstream;
  counted a{upstream};
  for (int i = 0; i < 3; ++i, a.reset()) EXPECT_EQ(a.allocate(256, alignof(std::max_align_t)), static_cast<void*>(&a));
  EXPECT_EQ(upstream.allocations(), 0u);
  static_cast<void>(a.allocate(257, 1));
  EXPECT_EQ(upstream.allocations(), 1u);
  a.release();
  EXPECT_EQ(a.allocate(1, 1), static_cast<void*>(&a));
}

TEST(inline_arena, with_no_upstream_is_bounded) {
  inline_arena<100, ashlar::null_resource> a;
  EXPECT_EQ(a.capacity(), 100u);
  EXPECT_NE(a.try_allocate(100, 1), nullptr);
  EXPECT_EQ(a.try_allocate(1, 1), nullptr);
  a.reset();
  EXPECT_NE(a.try_allocate(100, 1), nullptr);
  EXPECT_TRUE(a.invariant());
}

const bool tested = ashlar_test::conforms<over_pages, over_counted, over_buffer>("arena");
const bool inline_arena_tested = ashlar_test::conforms<spills>("inline_arena");

}  // namespace
