// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the recorder's known stacks: each answer is the stack that the unwinder of the C++ library finds at that
// moment, regardless of how the former one was left.
#include "cli/preload/known_stacks.hpp"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <alloca.h>
#include <ucontext.h>

#include <gtest/gtest.h>

#include "cli/preload/stack_walk.hpp"
#include "cli/tests/record/unwound_stack.hpp"

namespace {

using namespace ashlar::recorder;
constexpr std::uint32_t most = 16;

struct outcome {
  int found = 0, refused = 0, known = 0;
};

std::unique_ptr<known_stacks> memory;
outcome seen;

/// Expects: the caller has a frame pointer. Compares the frames from its caller on.
[[gnu::noinline]] void expect_known() {
  std::vector<std::uint64_t> unwound = unwound_stack();
  known_stack* const found = memory->find(most, __builtin_frame_address(0), own_stack());
  if (found == nullptr) return void(++seen.refused);
  ++(found->id == 0 ? seen.found : seen.known);
  found->id = 1;
  unwound.resize(std::min<std::size_t>(unwound.size(), most));
  ASSERT_EQ(std::vector(found->codes.begin(), found->codes.begin() + found->count), unwound);
}

class recent_stacks : public testing::Test {
protected:
  void SetUp() override {
    if (!prepare_walk()) GTEST_SKIP() << "no walk on this machine";
    memory = std::make_unique<known_stacks>();
    seen = {};
  }
};

using choices = std::mt19937_64;

void go_on(choices& random, int levels);

/// Functions of one frame size, so that their frames lie at the same places.
template <int>
[[gnu::noinline]] void same_frames(choices& random, int levels) {  // NOLINT(misc-no-recursion)
  go_on(random, levels);
  expect_known();
}

/// A frame that is found by its frame pointer.
[[gnu::noinline]] void sized_frame(choices& random, int levels) {  // NOLINT(misc-no-recursion)
  std::memset(alloca(16 + 16 * (random() % 4)), 1, 1);
  go_on(random, levels);
  expect_known();
}

[[gnu::noinline]] void go_on(choices& random, int levels) {  // NOLINT(misc-no-recursion)
  expect_known();
  if (levels == 0) return;
  const auto times = random() % 3;
  for (std::uint64_t i = 0; i <= times; ++i) {
    switch (random() % 6) {
      case 0: same_frames<0>(random, levels - 1); break;
      case 1: same_frames<1>(random, levels - 1); break;
      case 2: same_frames<2>(random, levels - 1); break;
      case 3: same_frames<0>(random, levels - 1); break;
      case 4: sized_frame(random, levels - 1); break;
      default: expect_known();
    }
  }
}

TEST_F(recent_stacks, follow_random_calls) {
  choices random(3);
  for (int round = 0; round < 200; ++round) go_on(random, 3 + static_cast<int>(random() % 6));
  EXPECT_EQ(seen.refused, 0);
  EXPECT_GT(seen.found, 1000);
  EXPECT_GT(seen.known, 1000);
}

[[gnu::noinline]] void at_one_place(int kind);
[[gnu::noinline]] void by_one_way(int kind) { at_one_place(kind), expect_known(); }
[[gnu::noinline]] void by_another_way(int kind) { at_one_place(kind), expect_known(); }

std::jmp_buf escape;

/// Leaves its frames in several ways.
void at_one_place(int kind) {
  expect_known();
  if (kind == 1) std::longjmp(escape, 1);
  if (kind == 2) throw std::runtime_error("away");
}

void call_by_turns(int kind) {
  for (int round = 0; round < 20; ++round) {
    try {
      if (setjmp(escape) == 0) (round % 2 == 0 ? by_one_way : by_another_way)(kind);
    } catch (const std::runtime_error&) {
      expect_known();
    }
    expect_known();
  }
}

TEST_F(recent_stacks, are_right_after_returns_jumps_and_exceptions) {
  for (const int kind : {0, 1, 2}) call_by_turns(kind);
  EXPECT_EQ(seen.refused, 0);
  EXPECT_GT(seen.known, 60);
}

TEST_F(recent_stacks, may_have_been_of_another_thread) {
  for (int round = 0; round < 4; ++round) std::thread([] { call_by_turns(0); }).join();
  call_by_turns(0);
  EXPECT_EQ(seen.refused, 0);
}

ucontext_t fibre_context, main_context;

void run_fibre() {
  for (;;) {
    call_by_turns(0);
    swapcontext(&fibre_context, &main_context);
  }
}

/// Returns: the refusals of a fibre whose stack is `storage`.
int refused_on(std::byte* storage, std::size_t bytes) {
  getcontext(&fibre_context);
  fibre_context.uc_stack.ss_sp = storage;
  fibre_context.uc_stack.ss_size = bytes;
  makecontext(&fibre_context, run_fibre, 0);
  const int before = seen.refused;
  for (int round = 0; round < 3; ++round) {
    swapcontext(&main_context, &fibre_context);
    call_by_turns(0);
  }
  return seen.refused - before;
}

/// The bounds of the walk are those of the thread's own stack, down to where own_stack() is called.
TEST_F(recent_stacks, are_right_between_the_turns_of_fibres) {
  constexpr std::size_t bytes = 256 * 1024;
  const auto apart = std::make_unique<std::byte[]>(bytes);
  static_cast<void>(refused_on(apart.get(), bytes));
  EXPECT_GT(seen.known, 100);
  std::array<std::byte, bytes> within;
  static_cast<void>(refused_on(within.data(), bytes));
}

void handle_signal(int) { expect_known(); }

TEST_F(recent_stacks, refuse_the_frame_of_a_signal_and_are_right_after_it) {
  const auto former = std::signal(SIGUSR1, handle_signal);
  for (int round = 0; round < 3; ++round) {
    call_by_turns(0);
    std::raise(SIGUSR1);
  }
  std::signal(SIGUSR1, former);
  EXPECT_EQ(seen.refused, 3);
}

/// Calls `find` from one place, so that each call begins alike.
[[gnu::noinline]] known_stack* find_again(const stack_bounds& bounds) {
  return memory->find(most, __builtin_frame_address(0), bounds);
}

TEST_F(recent_stacks, are_known_until_rules_are_forgotten_or_bounds_shrink) {
  const stack_bounds whole = own_stack();
  stack_bounds bounds[] = {whole, whole, whole, whole, whole};
  bounds[4].high = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 16;
  std::vector<std::uint32_t> ids;
  for (std::uint32_t round = 0; round < 5; ++round) {
    if (round == 2) forget_rules();
    if (round == 3) reset_walk();
    known_stack* const found = find_again(bounds[round]);
    ASSERT_EQ(found == nullptr, round == 4) << "the bounds of the last round hold one frame";
    if (found != nullptr) ids.push_back(std::exchange(found->id, 1));
  }
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{0, 1, 0, 0}));
}

TEST_F(recent_stacks, stop_at_the_number_that_is_wanted) {
  known_stack* const found = memory->find(2, __builtin_frame_address(0), own_stack());
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->count, 2);
}

}  // namespace
