// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse of stacks and arenas beyond the scenes of matrix/: stale and foreign markers, resized blocks,
// destructors that free their own memory, frees after a reset, written chunk headers, and writes to dead blocks that
// are not simply used again.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/stack/chunk_store.hpp>
#include <ashlar/detail/stack/stack_order.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/frame_arena.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/two_ended_stack.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::arena;
using ashlar::stack_resource;
using ashlar::two_ended_stack;

const std::string where = ", pointer 0x*, resource 0x*";
const std::string foreign = "ashlar: invalid_free: freed a pointer that is not of this stack" + where;
const std::string other_size =
    "ashlar: size_mismatch: freed or resized a block with another size than it was allocated with" + where;
const std::string of_another = "ashlar: bad_marker: rewound to a marker of another stack" + where;
const std::string of_another_null = "ashlar: bad_marker: rewound to a marker of another stack, resource 0x*";
const std::string gone_below = "ashlar: bad_marker: rewound to a marker above the top of the stack" + where;
const std::string header_written =
    "ashlar: underflow: bytes before the first block of a chunk were written to, over the chunk's header" + where;
const std::string expanded = "ashlar: bad_marker: rewound to a marker whose top block was expanded since" + where;

// Runs each test on a growing stack, on one in a buffer, and on both ends of a shared buffer.
class stack_faults : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }

  template <class Test>
  static void on_each_kind(const Test& test) {
    alignas(16) std::array<std::byte, 4096> memory;
    {
      stack_resource<> growing;
      test(growing);
      growing.release();
    }
    {
      stack_resource<ashlar::null_resource> inside{std::span<std::byte>(memory)};
      test(inside);
    }
    two_ended_stack both(memory);
    test(both.front());
    test(both.back());
  }
};

TEST_F(stack_faults, one_byte_behind_a_block_is_seen_when_a_rewind_frees_it) {
  if (!ashlar::detail::watches_slack) GTEST_SKIP() << "looked for at hardened";
  on_each_kind([](auto& s) {
    const auto below = s.mark();
    auto* const p = static_cast<std::byte*>(s.allocate(40, 8));
    ashlar::detail::mark_readable(p + 40, 1);
    p[40] ^= std::byte{1};
    ASHLAR_EXPECT_LAST_WORDS(s.rewind(below), "ashlar: overflow: bytes past the end of a block were written to" +
                                                  where + ", expected 40, got 41");
    p[40] ^= std::byte{1};
    s.rewind(below);
  });
}

TEST_F(stack_faults, an_expansion_of_what_is_no_block) {
  stack_resource<> s;
  void* const p = s.allocate(40, 8);
  int local = 0;
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(s.try_expand(&local, 40, 50, 8)), foreign);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(s.try_expand(p, 30, 50, 8)), other_size + ", expected 40, got 30");
}

TEST_F(stack_faults, a_marker_that_the_stack_has_gone_below) {
  on_each_kind([](auto& s) {
    const auto outer = s.mark();
    void* const p = s.allocate(40, 8);
    const auto inner = s.mark();
    static_cast<void>(s.allocate(40, 8));
    s.rewind(outer);
    ASHLAR_EXPECT_LAST_WORDS(s.rewind(inner), gone_below);  // in the wrong order
    EXPECT_EQ(s.allocate(40, 8), p);
    ASHLAR_EXPECT_LAST_WORDS(s.rewind(inner), gone_below);  // the same place, another block
    s.deallocate(p, 40, 8);
    ASHLAR_EXPECT_LAST_WORDS(s.rewind(inner), gone_below);
    s.release();
    ASHLAR_EXPECT_LAST_WORDS(s.rewind(inner), gone_below);
    s.rewind(outer);
  });
}

TEST_F(stack_faults, a_marker_of_another_stack) {
  stack_resource<> a;
  stack_resource<> b;
  static_cast<void>(a.allocate(40, 8));
  static_cast<void>(b.allocate(40, 8));
  ASHLAR_EXPECT_LAST_WORDS(a.rewind(b.mark()), of_another);
  ASHLAR_EXPECT_LAST_WORDS(a.rewind({}), of_another_null);
  alignas(16) std::array<std::byte, 1024> memory;
  two_ended_stack one(memory);
  alignas(16) std::array<std::byte, 1024> more;
  two_ended_stack two(more);
  ASHLAR_EXPECT_LAST_WORDS(one.front().rewind(two.front().mark()), of_another);
}

TEST_F(stack_faults, a_marker_whose_top_block_was_expanded) {
  stack_resource<> s;
  void* const p = s.allocate(40, 8);
  const auto at = s.mark();
  EXPECT_TRUE(s.try_expand(p, 40, 80, 8));
  ASHLAR_EXPECT_LAST_WORDS(s.rewind(at), expanded);
}

TEST_F(stack_faults, a_marker_of_an_arena_that_is_gone_or_of_another) {
  const std::string no_longer = "ashlar: bad_marker: rewound to a marker that is no longer valid" + where;
  const std::string of_another_arena = "ashlar: bad_marker: rewound to a marker of another arena" + where;
  ashlar::arena<> a;
  ashlar::arena<> b;
  const auto outer = a.mark();
  static_cast<void>(a.allocate(40, 8));
  const auto inner = a.mark();
  static_cast<void>(b.allocate(40, 8));
  ASHLAR_EXPECT_LAST_WORDS(a.rewind(b.mark()), of_another_arena);
  ASHLAR_EXPECT_LAST_WORDS(b.rewind(outer), "ashlar: bad_marker: rewound to a marker of another arena, resource 0x*");

  a.rewind(outer);
  ASHLAR_EXPECT_LAST_WORDS(a.rewind(inner), no_longer);
  static_cast<void>(a.allocate(40, 8));
  static_cast<void>(a.allocate(40, 8));
  ASHLAR_EXPECT_LAST_WORDS(a.rewind(inner), no_longer);
  const auto again = a.mark();
  a.reset();
  ASHLAR_EXPECT_LAST_WORDS(a.rewind(again), no_longer);
  const auto late = a.mark();
  a.release();
  ASHLAR_EXPECT_LAST_WORDS((static_cast<void>(a.allocate(99, 1)), a.rewind(late)), no_longer);
}

enum class by { reset, release, rewind };

struct ends_its_arena {
  arena<>& from;
  arena<>::marker to;
  by how;

  ends_its_arena(arena<>& a, const arena<>::marker& m, by h) : from(a), to(m), how(h) {}
  ~ends_its_arena() {
    if (how == by::reset) from.reset();
    else if (how == by::release) from.release();
    else from.rewind(to);
  }
};

TEST(arena_faults, a_destructor_that_ends_its_own_arena) {
  arena<> a;
  const auto start = a.mark();
  const auto end_by = [&](by how, bool whole) {
    static_cast<void>(a.make<ends_its_arena>(a, start, how));
    whole ? a.release() : a.reset();
  };
  const std::string ended = "ashlar: precondition: a destructor reset or released the arena that destroys its object";
  for (const bool whole : {false, true}) {
    ASHLAR_EXPECT_LAST_WORDS(end_by(by::reset, whole), ended);
    ASHLAR_EXPECT_LAST_WORDS(end_by(by::release, whole), ended);
    ASHLAR_EXPECT_LAST_WORDS(end_by(by::rewind, whole),
                             "ashlar: precondition: a destructor rewound the arena to a marker older than its object");
  }
}

TEST(stack_frees, without_a_size_are_checked) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  ashlar::stack_resource<> stack;
  void* const below = stack.allocate(16, 8);
  void* const top = stack.allocate(100, 8);
  ASHLAR_EXPECT_LAST_WORDS(stack.deallocate(below),
                           "ashlar: out_of_order: freed a block that is not on top of the stack, pointer 0x*, "
                           "resource 0x*");
  stack.deallocate(top);
  ASHLAR_EXPECT_LAST_WORDS(stack.deallocate(top), "ashlar: double_free: freed a block that is free, pointer 0x*, "
                                                  "resource 0x*");
}

TEST(arena_faults, blocks_of_a_former_frame_or_reset) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  const std::string invalid =
      "ashlar: invalid_free: freed a pointer that is not of this arena, pointer 0x*, resource 0x*";
  arena<> a;
  void* const p = a.allocate(16, 8);
  ASHLAR_EXPECT_LAST_WORDS((a.reset(), a.deallocate(p, 16, 8)), invalid);
  ashlar::frame_arena<> frames;
  void* const old = frames.allocate(16, 8);
  frames.next_frame();
  frames.deallocate(old, 16, 8);
  frames.next_frame();
  ASHLAR_EXPECT_LAST_WORDS(frames.deallocate(old, 16, 8), invalid);
}

/// Adjoining chunks: each begins at the end of the one before it, header included.
struct side_by_side {
  std::byte* memory;
  std::size_t* used;

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t /*alignment*/) {
    return memory + std::exchange(*used, *used + bytes);
  }
  void deallocate(void* /*p*/, std::size_t /*bytes*/, std::size_t /*alignment*/) noexcept {}
  [[nodiscard]] bool operator==(const side_by_side& other) const noexcept { return memory == other.memory; }
};

class chunk_headers : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "sealed from level checked on";
    if (ashlar_test::has_asan) GTEST_SKIP() << "sees the write itself";
  }

  using small_arena = arena<side_by_side>;
  static constexpr ashlar::arena_options of_1024 = {.initial_bytes = 1024, .max_growth_bytes = 1024};

  // Returns: the first block of the second chunk.
  [[nodiscard]] static std::byte* fill(auto& blocks) {
    void* volatile last = nullptr;
    for (int i = 0; i < 2; ++i) last = blocks.allocate(800, 8);
    return static_cast<std::byte*>(last);
  }

  alignas(64) std::byte memory_[8192];
  std::size_t used_ = 0;
};

TEST_F(chunk_headers, hit_from_behind_are_not_believed) {
  small_arena a(of_1024, side_by_side{memory_, &used_});
  std::byte* const first = fill(a);
  const auto marker = a.mark();
  for (const int before : {1, 8}) {
    first[-before] ^= std::byte{0x41};
    ASHLAR_EXPECT_LAST_WORDS(a.release(), header_written);
    ASHLAR_EXPECT_LAST_WORDS(a.reset(), header_written);
    ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(a.owns(&used_)), header_written);
    first[-before] ^= std::byte{0x41};
  }
  a.rewind(marker);
  a.reset();
}

TEST_F(chunk_headers, hit_by_the_block_in_front_are_not_believed) {
  small_arena a(of_1024, side_by_side{memory_, &used_});
  std::byte* const first = fill(a);
  std::byte* const last = static_cast<std::byte*>(a.allocate(1, 1));
  std::byte* const end = memory_ + used_ - sizeof(ashlar::detail::chunk);
  ASSERT_TRUE(first < last && last < end);
  *end ^= std::byte{0x41};
  ASHLAR_EXPECT_LAST_WORDS(a.release(),
                           "ashlar: overflow: bytes past the end of the last block of a chunk were written to, over "
                           "the chunk's header, pointer 0x*, resource 0x*");
  *end ^= std::byte{0x41};
}

TEST_F(chunk_headers, of_spare_chunks_are_not_believed) {
  small_arena a(of_1024, side_by_side{memory_, &used_});
  const auto empty = a.mark();
  std::byte* const first = fill(a);
  a.rewind(empty);
  first[-1] ^= std::byte{0x41};
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(a.allocate(800, 8)), header_written);
  ASHLAR_EXPECT_LAST_WORDS(a.release(), header_written);
  first[-1] ^= std::byte{0x41};
}

TEST_F(chunk_headers, of_stacks_are_sealed_alike) {
  stack_resource<> s;
  auto* const p = static_cast<std::byte*>(s.allocate(40, 8));
  auto* const header = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(p) & ~std::uintptr_t{1023});
  header[1] ^= std::byte{0x41};
  ASHLAR_EXPECT_LAST_WORDS(s.release(), header_written);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(s.owns(&s)), header_written);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(s.allocate(100'000, 8)), header_written);
  header[1] ^= std::byte{0x41};
}

using ashlar_test::caught_in;
using growing = ashlar::stack_resource<ashlar::new_delete_resource>;

class stack_dead_blocks : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar::detail::keeps_canaries)
      GTEST_SKIP() << "poison is kept at level hardened, where no tool sees each access";
  }

  // Calls `use` after a write to `at`, and undoes the write. Expects a report of that byte.
  template <class Use>
  static void expect_seen(std::byte* at, const Use& use) {
    *at ^= std::byte{0x41};
    const auto seen = caught_in(use);
    *at ^= std::byte{0x41};
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(ashlar::name_of(seen->kind), "corrupt_link") << seen->what;
    EXPECT_EQ(seen->pointer, at);
  }
};

constexpr std::size_t bytes = 300;

template <class Stack>
std::byte* take(Stack& stack) {
  return static_cast<std::byte*>(stack.allocate(bytes, 8));
}

TEST_F(stack_dead_blocks, what_a_rewind_frees_is_poisoned) {
  growing stack({.initial_bytes = 64 * 1024, .max_growth_bytes = 64 * 1024});
  const auto start = stack.mark();
  const std::array<std::byte*, 3> p = {take(stack), take(stack), take(stack)};
  stack.rewind(start);
  for (std::byte* const each : p) expect_seen(each + 17, [&] { static_cast<void>(stack.allocate(5000, 8)); });
  static_cast<void>(take(stack));  // the rest stays watched
  expect_seen(p[2] + 17, [&] { static_cast<void>(stack.allocate(5000, 8)); });
}

TEST_F(stack_dead_blocks, what_a_block_gave_up_in_place_is_dead) {
  growing stack;
  std::byte* const p = take(stack);
  ASSERT_TRUE(stack.try_expand(p, bytes, 50, 8));
  expect_seen(p + 290, [&] { static_cast<void>(stack.try_expand(p, 50, bytes, 8)); });
}

TEST_F(stack_dead_blocks, a_chunk_is_looked_at_when_the_stack_leaves_it) {
  growing stack({.initial_bytes = 4096, .max_growth_bytes = 4096});
  static_cast<void>(take(stack));
  std::byte* const p = take(stack);
  stack.deallocate(p, bytes, 8);
  expect_seen(p + 100, [&] { static_cast<void>(stack.allocate(8000, 8)); });
}

TEST_F(stack_dead_blocks, of_much_freed_downwards_the_64_kib_next_to_the_top_are_watched) {
  constexpr std::size_t large = 200'000, watched = ashlar::detail::stack_poison<0, true>::most_at_once;
  alignas(16) static std::array<std::byte, 300'000> space;
  two_ended_stack both(space);
  const auto end = both.back().mark();
  auto* const low = static_cast<std::byte*>(both.back().allocate(large, 8));
  both.back().rewind(end);
  static_cast<void>(both.back().allocate(1000, 8));  // the rest stays watched
  expect_seen(low + large - watched + 100, [&] { static_cast<void>(both.back().allocate(large, 8)); });
  low[0] ^= std::byte{1};
  EXPECT_FALSE(caught_in([&] { both.release(); }).has_value());
}

TEST_F(stack_dead_blocks, the_other_end_sees_it_when_it_takes_the_place) {
  alignas(16) std::array<std::byte, 4096> memory;
  ashlar::two_ended_stack both(memory);
  std::byte* const p = take(both.front());
  both.front().deallocate(p, bytes, 8);
  expect_seen(p + 250, [&] { static_cast<void>(both.back().allocate(3800, 8)); });
  static_cast<void>(both.back().allocate(3800, 8));  // what lies in front of it stays watched
  expect_seen(p + 17, [&] { static_cast<void>(both.front().allocate(100, 8)); });
}

TEST_F(stack_dead_blocks, of_much_that_is_freed_at_once_64_kib_are_watched) {
  constexpr std::size_t large = 200'000, watched = ashlar::detail::stack_poison<0, true>::most_at_once;
  growing stack;
  const auto start = stack.mark();
  auto* const p = static_cast<std::byte*>(stack.allocate(large, 8));
  stack.rewind(start);
  expect_seen(p + watched - 100, [&] { stack.trim(); });
  p[large - 1] ^= std::byte{1};
  EXPECT_FALSE(caught_in([&] { stack.release(); }).has_value());
}

}  // namespace
