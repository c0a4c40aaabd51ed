// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse of stacks and markers: wrong order, double frees, foreign blocks, wrong sizes, stale markers.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/stack/stack_order.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/two_ended_stack.hpp>

#include "tests/death/caught.hpp"
#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::fault;
using ashlar::stack_resource;
using ashlar::two_ended_stack;
using ashlar_test::caught_in;

const std::string where = ", pointer 0x*, resource 0x*";
const std::string not_on_top = "ashlar: out_of_order: freed a block that is not on top of the stack" + where;
const std::string is_free = "ashlar: double_free: freed a block that is free" + where;
const std::string foreign = "ashlar: invalid_free: freed a pointer that is not of this stack" + where;
const std::string null_freed = "ashlar: invalid_free: freed a pointer that is not of this stack, resource 0x*";
const std::string in_the_middle = "ashlar: misaligned_free: freed a pointer into the middle of a block" + where;
const std::string other_size =
    "ashlar: size_mismatch: freed or resized a block with another size than it was allocated with" + where;
const std::string other_alignment =
    "ashlar: size_mismatch: freed or resized a block with another alignment than it was allocated with" + where;
const std::string of_another = "ashlar: bad_marker: rewound to a marker of another stack" + where;
const std::string of_another_null = "ashlar: bad_marker: rewound to a marker of another stack, resource 0x*";
const std::string gone_below = "ashlar: bad_marker: rewound to a marker above the top of the stack" + where;
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

TEST_F(stack_faults, one_byte_behind_a_block_is_seen_when_it_goes) {
  if (!ashlar::detail::watches_slack) GTEST_SKIP() << "looked for at hardened";
  on_each_kind([](auto& s) {
    const auto below = s.mark();
    for (const std::size_t bytes : {1u, 16u, 40u, 64u}) {
      auto* const p = static_cast<volatile unsigned char*>(s.allocate(bytes, 8));
      const auto flip = [p, bytes] {
        ashlar::detail::mark_readable(const_cast<unsigned char*>(p) + bytes, 1);
        p[bytes] = static_cast<unsigned char>(p[bytes] ^ 1);
      };
      flip();
      void* const block = const_cast<unsigned char*>(p);
      const auto freed = caught_in([&] { s.deallocate(block, bytes, 8); });
      const auto rewound = caught_in([&] { s.rewind(below); });
      ASSERT_TRUE(freed && rewound);
      EXPECT_EQ(freed->kind, fault::overflow);
      EXPECT_EQ(rewound->kind, fault::overflow);
      EXPECT_EQ(rewound->got, bytes + 1);
      flip();
      s.deallocate(block, bytes, 8);
    }
  });
}

TEST_F(stack_faults, each_free_has_its_sentence) {
  stack_resource<> other;
  void* const of_other = other.allocate(40, 8);
  on_each_kind([&](auto& s) {
    auto* const lower = static_cast<std::byte*>(s.allocate(40, 8));
    void* const p = s.allocate(40, 16);
    ASHLAR_EXPECT_LAST_WORDS(s.deallocate(lower, 40, 8), not_on_top);
    ASHLAR_EXPECT_LAST_WORDS((s.deallocate(p, 40, 16), s.deallocate(p, 40, 16)), is_free);
    ASHLAR_EXPECT_LAST_WORDS(s.deallocate(of_other, 40, 8), foreign);
    ASHLAR_EXPECT_LAST_WORDS(s.deallocate(nullptr, 4, 4), null_freed);
    ASHLAR_EXPECT_LAST_WORDS(s.deallocate(p, 80, 16), other_size + ", expected 40, got 80");
    ASHLAR_EXPECT_LAST_WORDS(s.deallocate(p, 40, 64), other_alignment + ", expected 16, got 64");
    s.deallocate(p, 40, 16);
    ASHLAR_EXPECT_LAST_WORDS(s.deallocate(lower + 8, 40, 8), in_the_middle);
  });
  alignas(16) std::array<std::byte, 1024> memory;
  two_ended_stack both(memory);
  void* const low = both.front().allocate(40, 8);
  ASHLAR_EXPECT_LAST_WORDS(both.back().deallocate(low, 40, 8), foreign);
}

TEST_F(stack_faults, a_vector_that_grows_on_a_stack) {
  stack_resource<> s;
  const auto grow = [&] {
    std::vector<int, ashlar::allocator<int, stack_resource<>>> values(s);
    for (int i = 0; i < 100; ++i) values.push_back(i);
  };
  ASHLAR_EXPECT_LAST_WORDS(grow(), not_on_top);
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

  a.rewind(outer);
  ASHLAR_EXPECT_LAST_WORDS(a.rewind(inner), no_longer);
  static_cast<void>(a.allocate(40, 8));
  static_cast<void>(a.allocate(40, 8));
  ASHLAR_EXPECT_LAST_WORDS(a.rewind(inner), no_longer);
  const auto again = a.mark();
  a.reset();
  ASHLAR_EXPECT_LAST_WORDS(a.rewind(again), no_longer);
}

TEST_F(stack_faults, the_header_of_a_chunk_that_was_written_to) {
  if (ashlar_test::has_asan) GTEST_SKIP() << "sees the write itself";
  const std::string seen =
      "ashlar: underflow: bytes before the first block of a chunk were written to, over the chunk's "
      "header" +
      where;
  stack_resource<> s;
  auto* const p = static_cast<std::byte*>(s.allocate(40, 8));
  auto* const header = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(p) & ~std::uintptr_t{4095});
  header[1] ^= std::byte{0x41};
  ASHLAR_EXPECT_LAST_WORDS(s.release(), seen);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(s.owns(&s)), seen);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(s.allocate(100'000, 8)), seen);
  header[1] ^= std::byte{0x41};
}

}  // namespace
