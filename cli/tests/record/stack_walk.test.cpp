// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the recorder's walk of a stack: it finds the frames that the unwinder of the C++ library finds, or refuses.
#include "cli/preload/stack_walk.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include <alloca.h>
#include <link.h>
#include <sys/mman.h>

#include <gtest/gtest.h>

#include "cli/preload/frame_rules.hpp"
#include "cli/tests/record/unwound_stack.hpp"

namespace {

using namespace ashlar::recorder;
using stack = std::vector<std::uint64_t>;

int walks = 0;
int refusals = 0;

/// Expects: the caller has a frame pointer. Checks the frames from its caller on.
[[gnu::noinline]] void compare() {
  const stack unwound = unwound_stack();
  std::array<std::uint64_t, 256> walked{};
  const int n = walk_stack(walked.data(), walked.size(), __builtin_frame_address(0), own_stack());
  if (n <= 0) return void(++refusals);
  ++walks;
  EXPECT_EQ(stack(walked.begin(), walked.begin() + n), unwound);
}

class stack_walk : public testing::Test {
protected:
  void SetUp() override {
    if (!prepare_walk()) GTEST_SKIP() << "no walk on this machine";
    walks = refusals = 0;
  }
};

// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] int descend(int levels, int mode) {
  volatile char large[3000];
  large[0] = static_cast<char>(levels);
  if (mode == 1) std::memset(alloca(static_cast<std::size_t>(100 + levels)), 1, 100);
  if (levels == 0) compare();
  else descend(levels - 1, mode);
  return large[0];
}

TEST_F(stack_walk, finds_frames_of_all_shapes) {
  compare();
  for (int levels = 0; levels < 60; levels += 7)
    for (const int mode : {0, 1}) descend(levels, mode);
  EXPECT_EQ(refusals, 0);
  EXPECT_EQ(walks, 19);
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
  EXPECT_GE(walks, 7);
  EXPECT_EQ(refusals, 0);
}

TEST_F(stack_walk, finds_frames_of_threads) {
  std::thread([] { descend(5, 1); }).join();
  EXPECT_EQ(walks, 1);
}

TEST_F(stack_walk, stops_at_the_number_that_is_wanted) {
  std::array<std::uint64_t, 2> two{};
  EXPECT_EQ(walk_stack(two.data(), two.size(), __builtin_frame_address(0), own_stack()), 2);
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
  auto* const memory =
      static_cast<std::byte*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory), end = begin + 4 * page;
  stack_bounds bounds{.low = end, .high = end};
  extend_stack(bounds, memory + 3 * page - 1);
  EXPECT_EQ(bounds.low, begin + 2 * page);
  extend_stack(bounds, memory);
  EXPECT_EQ(bounds.low, begin + 2 * page);
  munmap(memory, 4 * page);
}

TEST_F(stack_walk, bounds_are_not_sought_far_away) {
  stack_bounds bounds = own_stack();
  const stack_bounds before = bounds;
  extend_stack(bounds, reinterpret_cast<const void*>(bounds.low - (std::uintptr_t{9} << 20)));
  EXPECT_EQ(bounds.low, before.low);
  EXPECT_TRUE(bounds.has(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))));
}

void handle(int) { compare(); }

TEST_F(stack_walk, refuses_the_frame_of_a_signal) {
  const auto former = std::signal(SIGUSR1, handle);
  std::raise(SIGUSR1);
  std::signal(SIGUSR1, former);
  EXPECT_EQ(walks, 0);
  EXPECT_EQ(refusals, 1);
}

TEST_F(stack_walk, works_after_the_rules_are_forgotten) {
  descend(2, 0);
  forget_rules();
  descend(2, 0);
  EXPECT_EQ(walks, 2);
}

/// Returns: the tables of this program, with the segment that they lie in.
unwind_tables own_tables() {
  unwind_tables found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        auto& tables = *static_cast<unwind_tables*>(to);
        const auto place = [&](ElfW(Addr) at) { return reinterpret_cast<const std::byte*>(info->dlpi_addr + at); };
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) tables.header = place(info->dlpi_phdr[i].p_vaddr);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          const std::byte* const begin = place(part.p_vaddr);
          if (part.p_type == PT_LOAD && begin <= tables.header && tables.header < begin + part.p_memsz)
            tables.begin = begin, tables.end = begin + part.p_memsz;
        }
        return 1;  // the program is the first one
      },
      &found);
  return found;
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
