// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the recorder's walk of a stack and of its known stacks: each answer is the stack that the unwinder of the
// C++ library finds at that moment, or none, regardless of how the former one was left.
#include "cli/preload/stack_walk.hpp"

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <alloca.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::recorder;
using stack = std::vector<std::uint64_t>;
constexpr std::uint32_t most = 16;

_Unwind_Reason_Code add_unwound_frame(_Unwind_Context* context, void* to) {
  if (const auto address = _Unwind_GetIP(context); address != 0) static_cast<stack*>(to)->push_back(address);
  return _URC_NO_REASON;
}

/// Returns: the return addresses of the caller and of those beyond it.
[[gnu::noinline]] stack unwound_stack() {
  stack all;
  _Unwind_Backtrace(add_unwound_frame, &all);
  all.erase(all.begin(), all.begin() + 2);  // this function, and a place within its caller
  return all;
}

/// Returns: the bounds of the calling thread's stack, down to here.
[[gnu::noinline]] stack_bounds own_stack() {
  stack_bounds found;
  extend_stack(found, __builtin_frame_address(0));
  return found;
}

/// Returns: at most `most` frames, each once, but for the first one that comes again.
stack folded(const stack& whole, std::size_t most_kept) {
  stack kept;
  bool has_recursion = false;
  for (const std::uint64_t frame : whole) {
    if (kept.size() == most_kept) break;
    if (std::ranges::find(kept, frame) != kept.end() && std::exchange(has_recursion, true)) continue;
    kept.push_back(frame);
  }
  return kept;
}

struct outcome {
  int found = 0, refused = 0, known = 0;
};

std::unique_ptr<known_stacks> memory;
outcome seen;

/// Expects: the caller has a frame pointer. Compares the frames from its caller on, as walked and as known.
[[gnu::noinline]] void compare() {
  const stack unwound = unwound_stack();
  const void* const function = __builtin_frame_address(0);
  std::array<std::uint64_t, 256> walked{};
  const int n = walk_stack(walked.data(), walked.size(), function, own_stack());
  known_stack* const found = memory->find(most, function, own_stack());
  EXPECT_EQ(found == nullptr, n <= 0);
  if (found == nullptr) return void(++seen.refused);
  ++(found->id == 0 ? seen.found : seen.known);
  found->id = 1;
  ASSERT_EQ(stack(walked.begin(), walked.begin() + n), folded(unwound, walked.size()));
  ASSERT_EQ(stack(found->frames.begin(), found->frames.begin() + found->count), folded(unwound, most));
}

class stack_walk : public testing::Test {
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
  compare();
}

/// A frame that is found by its frame pointer.
[[gnu::noinline]] void sized_frame(choices& random, int levels) {  // NOLINT(misc-no-recursion)
  std::memset(alloca(16 + 16 * (random() % 4)), 1, 1);
  go_on(random, levels);
  compare();
}

[[gnu::noinline]] void go_on(choices& random, int levels) {  // NOLINT(misc-no-recursion)
  compare();
  if (levels == 0) return;
  const auto times = random() % 3;
  for (std::uint64_t i = 0; i <= times; ++i) {
    switch (random() % 6) {
      case 0: same_frames<0>(random, levels - 1); break;
      case 1: same_frames<1>(random, levels - 1); break;
      case 2: same_frames<2>(random, levels - 1); break;
      case 3: same_frames<0>(random, levels - 1); break;
      case 4: sized_frame(random, levels - 1); break;
      default: compare();
    }
  }
}

TEST_F(stack_walk, follows_random_calls) {
  choices random(3);
  for (int round = 0; round < 200; ++round) go_on(random, 3 + static_cast<int>(random() % 6));
  EXPECT_EQ(seen.refused, 0);
  EXPECT_GT(seen.found, 1000);
  EXPECT_GT(seen.known, 1000);
}

[[gnu::noinline]] void at_one_place(int kind);
[[gnu::noinline]] void by_one_way(int kind) { at_one_place(kind), compare(); }
[[gnu::noinline]] void by_another_way(int kind) { at_one_place(kind), compare(); }

std::jmp_buf escape;

/// Leaves its frames in several ways.
void at_one_place(int kind) {
  compare();
  if (kind == 1) std::longjmp(escape, 1);
  if (kind == 2) throw std::runtime_error("away");
}

void call_by_turns(int kind) {
  for (int round = 0; round < 20; ++round) {
    try {
      if (setjmp(escape) == 0) (round % 2 == 0 ? by_one_way : by_another_way)(kind);
    } catch (const std::runtime_error&) {
      compare();
    }
    compare();
  }
}

TEST_F(stack_walk, is_right_after_returns_jumps_and_exceptions) {
  for (const int kind : {0, 1, 2}) call_by_turns(kind);
  EXPECT_EQ(seen.refused, 0);
  EXPECT_GT(seen.known, 60);
}

TEST_F(stack_walk, knows_no_stack_of_another_thread_for_its_own) {
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

/// The bounds of the walk are the bounds of the thread's own stack, down to where own_stack() is called.
TEST_F(stack_walk, is_right_between_the_turns_of_fibres) {
  constexpr std::size_t bytes = 256 * 1024;
  const auto apart = std::make_unique<std::byte[]>(bytes);
  static_cast<void>(refused_on(apart.get(), bytes));
  EXPECT_GT(seen.known, 100);
  std::array<std::byte, bytes> within;
  static_cast<void>(refused_on(within.data(), bytes));
}

void handle_signal(int) { compare(); }

TEST_F(stack_walk, refuses_the_frame_of_a_signal_and_is_right_after_it) {
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

TEST_F(stack_walk, knows_a_stack_until_rules_are_forgotten_or_bounds_shrink) {
  const stack_bounds whole = own_stack();
  stack_bounds bounds[] = {whole, whole, whole, whole, whole};
  bounds[4].high = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 16;
  std::vector<std::uint32_t> ids;
  for (std::uint32_t round = 0; round < 5; ++round) {
    if (round == 2) frame_rules.forget();
    if (round == 3) frame_rules.reset();
    known_stack* const found = find_again(bounds[round]);
    ASSERT_EQ(found == nullptr, round == 4) << "the bounds of the last round hold one frame";
    if (found != nullptr) ids.push_back(std::exchange(found->id, 1));
  }
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{0, 1, 0, 0}));
}

TEST_F(stack_walk, stops_at_the_number_that_is_wanted) {
  std::array<std::uint64_t, 2> two{};
  EXPECT_EQ(walk_stack(two.data(), two.size(), __builtin_frame_address(0), own_stack()), 2);
  known_stack* const found = memory->find(2, __builtin_frame_address(0), own_stack());
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->count, 2);
}

// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] int descend(int levels, int mode) {
  volatile char large[3000];
  large[0] = static_cast<char>(levels);
  if (mode == 1) std::memset(alloca(static_cast<std::size_t>(100 + levels)), 1, 100);
  if (levels == 0) compare();
  else descend(levels - 1, mode);
  return large[0];
}

/// Returns: the frames that are kept of a number of levels.
stack known_below(int levels, int mode);

/// Functions of one frame size.
template <int Number>
[[gnu::noinline]] stack go_down(int levels, int mode) {  // NOLINT(misc-no-recursion)
  volatile int used = levels;
  stack all = known_below(levels - 1, mode);
  used = used + Number;
  return all;
}

// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] stack known_below(int levels, int mode) {
  if (levels > 0) return mode == 0 || levels % 2 == 0 ? go_down<1>(levels, mode) : go_down<2>(levels, mode);
  stack all;
  for (int round = 0; round < 2; ++round) {
    known_stack* const found = memory->find(most, __builtin_frame_address(0), own_stack());
    seen.known += std::exchange(found->id, 1) == 1 ? 1 : 0;
    all.assign(found->frames.begin(), found->frames.begin() + found->count);
  }
  return all;
}

TEST_F(stack_walk, keeps_the_frames_of_a_recursion_once) {
  std::vector<stack> found;
  for (const int levels : {6, 12, 200})
    for (const int mode : {0, 1}) found.push_back(known_below(levels, mode));
  for (const std::size_t mode : {0U, 1U}) {
    const stack &few = found[mode], &many = found[mode + 2];
    EXPECT_EQ(few, many) << "24 frames of recursion fill no stack of 16";
    EXPECT_EQ(std::set<std::uint64_t>(many.begin(), many.end()).size(), many.size() - 1) << "there is evidence of it";
  }
  EXPECT_GE(seen.known, 4) << "by their words";
  const stack& endless = found[4];
  ASSERT_EQ(endless.size(), most);
  EXPECT_EQ(endless[most - 1], endless[most - 2]) << "it is cut in its recursion, and full of it";
}

TEST_F(stack_walk, finds_frames_through_libraries) {
  std::array<int, 3> numbers{3, 1, 2};
  std::qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* a, const void* b) {
    compare();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return compare(), a > b; });
  const std::function<void()> call = [] { descend(3, 0); };
  call();
  struct at_end {
    ~at_end() { compare(); }
  };
  try {
    const at_end within;
    throw 1;
  } catch (int) {
    compare();
  }
  EXPECT_GE(seen.found + seen.known, 7);
  EXPECT_EQ(seen.refused, 0);
}

TEST_F(stack_walk, refuses_a_frame_of_another_stack) {
  std::array<std::uint64_t, 8> found{};
  EXPECT_EQ(walk_stack(found.data(), found.size(), __builtin_frame_address(0), {}), 0);
  EXPECT_EQ(walk_stack(found.data(), found.size(), found.data(), {1, 2}), 0);
  EXPECT_EQ(walk_stack(found.data(), found.size(), nullptr, own_stack()), 0);
}

/// Two pages that can be read above one that cannot, and the frame of another stack below it.
TEST_F(stack_walk, bounds_end_before_a_guard_page) {
  constexpr std::size_t page = 4096;
  auto* const pages =
      static_cast<std::byte*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  const auto begin = reinterpret_cast<std::uintptr_t>(pages), end = begin + 4 * page;
  stack_bounds bounds{.low = end, .high = end};
  extend_stack(bounds, pages + 3 * page - 1);
  EXPECT_EQ(bounds.low, begin + 2 * page);
  extend_stack(bounds, pages);
  EXPECT_EQ(bounds.low, begin + 2 * page);
  munmap(pages, 4 * page);
}

TEST_F(stack_walk, bounds_are_not_sought_far_away) {
  stack_bounds bounds = own_stack();
  const stack_bounds before = bounds;
  extend_stack(bounds, reinterpret_cast<const void*>(bounds.low - (std::uintptr_t{9} << 20)));
  EXPECT_EQ(bounds.low, before.low);
  EXPECT_TRUE(bounds.has(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))));
}

/// Returns: the tables of this program, with the memory from there to their end. Where a linker leaves a gap between
/// the segments, the loader gives the bounds of the code alone.
unwind_tables own_tables() {
  dl_find_object found{};
  if (_dl_find_object(reinterpret_cast<void*>(&own_stack), &found) != 0) return {};
  const auto* const header = static_cast<const std::byte*>(found.dlfo_eh_frame);
  const auto* const code = static_cast<const std::byte*>(found.dlfo_map_start);
  return {.header = header,
          .begin = std::min(header, code),
          .end = header < code ? code : static_cast<const std::byte*>(found.dlfo_map_end)};
}

/// Copies what AddressSanitizer counts as gaps between objects too.
__attribute__((no_sanitize("address"))) std::vector<std::byte> copy_of(const std::byte* from, std::size_t bytes) {
  std::vector<std::byte> copy(bytes);
  for (std::size_t i = 0; i < bytes; ++i) copy[i] = const_cast<const volatile std::byte*>(from)[i];
  return copy;
}

/// A copy of the tables in memory of its own, so that a read beyond it is found by AddressSanitizer.
TEST_F(stack_walk, damaged_tables_yield_a_rule_or_none) {
  const unwind_tables own = own_tables();
  ASSERT_NE(own.header, nullptr);
  const auto bytes = std::min<std::size_t>(static_cast<std::size_t>(own.end - own.header), 1 << 20);
  const auto address = reinterpret_cast<std::uintptr_t>(&descend) + 20;
  ASSERT_NE(compile_rule(own, address).base, frame_base::unknown);
  const std::vector<std::byte> whole = copy_of(own.header, bytes);
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> copy = whole;
    for (int i = 0; i < 200; ++i) copy[random() % copy.size()] = static_cast<std::byte>(random());
    const unwind_tables damaged{copy.data(), copy.data(), copy.data() + copy.size() - random() % 5000};
    const std::uint64_t near =
        reinterpret_cast<std::uintptr_t>(copy.data()) + address - reinterpret_cast<std::uintptr_t>(own.header);
    for (int i = 0; i < 50; ++i) static_cast<void>(compile_rule(damaged, near + random() % 4096));
  }
}

}  // namespace
