// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the resource of several processes, which die at every step of a call and at random.
#include <ashlar/resource/shared_memory.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/deadline.hpp"
#include "tests/support/death.hpp"
#include "tests/support/pattern.hpp"
#include "tests/support/pid_space.hpp"
#include "tests/support/shared_mapping.hpp"

namespace {

using ashlar::interprocess::basic_shared_memory;
using ashlar::interprocess::shared_memory;
using ashlar_test::shared_file;
using ashlar_test::shared_mapping;

constexpr std::size_t bytes = std::size_t{1} << 18;

struct in_a_mapping : ashlar_test::conformance_defaults {
  shared_file file{std::size_t{1} << 21};
  shared_mapping map{file, std::size_t{1} << 21};
  ashlar::resource_ref<shared_memory> resource = *shared_memory::create(map.at, map.size).memory;
};
[[maybe_unused]] const bool tested = ashlar_test::conforms<in_a_mapping>("shared_memory");

class shared_memories : public ::testing::Test {
protected:
  shared_file file_{bytes};
  shared_mapping map_{file_, bytes};
};

// Dies at its n-th step; never if n is 0.
struct dying_steps {
  static inline int left = 0;
  static void step() noexcept {
    if (left != 0 && --left == 0) ::raise(SIGKILL);
  }
};
using mortal = basic_shared_memory<ashlar::os::process_lock, dying_steps>;

pid_t last_child = 0;

// Expects: `f` either ends or dies by SIGKILL. Returns: whether it died.
template <class F>
bool dies(F f) {
  const pid_t child = ::fork();
  if (child == 0) {
    const ashlar_test::deadline soon;
    f();
    ::_exit(0);
  }
  last_child = child;
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  EXPECT_TRUE(killed || status == 0);
  return killed;
}

struct held {
  void* p;
  std::size_t size;
};

// As if the program had another C library, with a mutex of the same size.
struct lock_of_other_library : ashlar::os::process_lock {
  static constexpr std::uint8_t c_library = ashlar::os::process_lock::c_library + 1;
};

// Frees what other processes left and what the caller has; then the memory is as new.
template <class Memory>
void expect_all_comes_back(Memory& memory, const std::vector<held>& mine) {
  ASSERT_TRUE(memory.invariant());
  for (const held& each : mine) {
    EXPECT_TRUE(ashlar_test::has_pattern(each.p, each.size, 3));
    memory.deallocate(each.p, each.size, 1);
  }
  std::vector<void*> left;
  memory.for_each_live([&](void* p, std::size_t, std::uint32_t) { left.push_back(p); });
  for (void* const p : left) memory.deallocate(p);
  ASSERT_TRUE(memory.invariant());
  EXPECT_EQ(memory.used(), 0u);
  void* const all = memory.try_allocate(memory.capacity() - 16, 16);
  EXPECT_NE(all, nullptr);
  memory.deallocate(all);
}

template <class Memory>
std::vector<held> fill_some(Memory& memory) {
  std::vector<held> mine;
  std::vector<void*> holes;
  for (std::size_t i = 1; i < 12; ++i) {
    mine.push_back({memory.allocate(i * 24, 1), i * 24});
    ashlar_test::write_pattern(mine.back().p, mine.back().size, 3);
    holes.push_back(memory.allocate(i * 40, 16));
  }
  for (void* const each : holes) memory.deallocate(each);
  return mine;
}

template <class Memory>
void use_all_calls(Memory& memory) {
  std::array<void*, 6> got{};
  for (std::size_t i = 0; i < got.size(); ++i) got[i] = memory.try_allocate(30 * i, std::size_t{16} << i);
  static_cast<void>(memory.try_expand(got[5], 150, 400, 16));
  static_cast<void>(memory.try_expand(got[3], 90, 10, 16));
  memory.deallocate(got[1]);
  memory.deallocate(got[3]);
  memory.deallocate(got[2]);
  memory.deallocate(got[5]);
}

TEST_F(shared_memories, survives_a_death_at_each_step) {
  int at = 1;
  for (bool died = true; died; ++at) {
    const auto memory = mortal::create(map_.at, bytes);
    ASSERT_TRUE(memory);
    const auto mine = fill_some(*memory);
    died = dies([&] {
      dying_steps::left = at;
      use_all_calls(*memory);
    });
    const pid_t first_child = last_child;
    // A second process dies while it repairs.
    if (died && at % 3 == 0)
      static_cast<void>(dies([&] {
        dying_steps::left = 1 + at % 17;
        static_cast<void>(memory->used());
      }));
    EXPECT_EQ(memory->repairs() != 0, died);
    memory->for_each_live([&](void*, std::size_t, std::uint32_t process) {
      EXPECT_TRUE(static_cast<pid_t>(process) == ::getpid() || static_cast<pid_t>(process) == first_child);
    });
    expect_all_comes_back(*memory, mine);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "step " << at;
  }
  EXPECT_GT(at, 50);
}

// Each block has contents, which no other process may change. Returns: whether that held for all blocks.
bool churn(shared_memory& memory, unsigned seed, int turns) {
  std::mt19937 random(seed);
  std::array<held, 32> live{};
  for (; turns != 0; --turns) {
    held& place = live[random() % live.size()];
    if (place.p != nullptr && !ashlar_test::has_pattern(place.p, place.size, static_cast<unsigned char>(seed)))
      return false;
    memory.deallocate(place.p);
    place.size = random() % 600;
    place.p = memory.try_allocate(place.size, std::size_t{1} << random() % 8);
    if (place.p != nullptr) ashlar_test::write_pattern(place.p, place.size, static_cast<unsigned char>(seed));
  }
  for (const held& each : live) memory.deallocate(each.p);
  return true;
}

[[noreturn]] void churn_for_ever(shared_memory& memory, unsigned seed) {
  static_cast<void>(churn(memory, seed, -1));
  ::_exit(1);
}

TEST_F(shared_memories, survives_deaths_at_random) {
  std::mt19937 random(11);
  const unsigned rounds =
      ashlar_test::has_tsan || ashlar_test::has_asan ? 100 : ashlar_test::cases_of_build(300u, 2000u);
  std::uint32_t repairs = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const ashlar_test::deadline soon;
    const auto memory = shared_memory::create(map_.at, bytes);
    const auto mine = fill_some(*memory);
    const pid_t child = ::fork();
    if (child == 0) churn_for_ever(*memory, round);
    for (auto turns = random() % 400; turns != 0; --turns) memory->deallocate(memory->try_allocate(turns, 16));
    ::usleep(static_cast<useconds_t>(random() % 300));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    expect_all_comes_back(*memory, mine);
    repairs += memory->repairs();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round;
  }
  EXPECT_GT(repairs, 0u);
}

// Two processes in two containers: both have number 1, and so have their threads.
class two_pid_spaces : public shared_memories {
protected:
  // Returns: the child, which does `f`.
  template <class F>
  pid_t in_new_space(F f) {
    const pid_t child = ashlar_test::fork_in_new_pid_space();
    if (child == 0) {
      const ashlar_test::deadline soon;
      ::_exit(f() ? 0 : 1);
    }
    return child;
  }
  static bool ends_well(pid_t child) {
    int status = -1;
    return ::waitpid(child, &status, 0) == child && status == 0;
  }
  static bool is_killed(pid_t child) {
    ::kill(child, SIGKILL);
    int status = -1;
    return ::waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }

  void SetUp() override {
    const pid_t child = in_new_space([] { return ::getpid() == 1; });
    if (child < 0) GTEST_SKIP() << "the user may not make PID namespaces";
    ASSERT_TRUE(ends_well(child));
  }
};

TEST_F(two_pid_spaces, share_one_memory) {
  const int turns = ashlar_test::is_slow ? 5'000 : 20'000;
  for (int round = 0; round < 3; ++round) {
    const auto memory = shared_memory::create(map_.at, bytes);
    const pid_t one = in_new_space([&] { return churn(*memory, 1, turns); });
    const pid_t two = in_new_space([&] { return churn(*memory, 2, turns); });
    EXPECT_TRUE(ends_well(one) & ends_well(two));
    expect_all_comes_back(*memory, {});
    EXPECT_EQ(memory->repairs(), 0u);
  }
}

TEST_F(two_pid_spaces, survive_each_others_deaths) {
  std::mt19937 random(12);
  const unsigned rounds = ashlar_test::has_tsan || ashlar_test::has_asan ? 30 : ashlar_test::cases_of_build(60u, 300u);
  std::uint32_t repairs = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const ashlar_test::deadline soon;
    const auto memory = shared_memory::create(map_.at, bytes);
    const auto mine = fill_some(*memory);
    const pid_t one = in_new_space([&] { return churn(*memory, round, -1); });
    const pid_t two = in_new_space([&] { return churn(*memory, round + 1, -1); });
    ::usleep(static_cast<useconds_t>(500 + random() % 1500));
    ASSERT_TRUE(is_killed(one));
    ::usleep(static_cast<useconds_t>(random() % 300));
    ASSERT_TRUE(is_killed(two)) << "the blocks of a living process were changed";
    expect_all_comes_back(*memory, mine);
    repairs += memory->repairs();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round;
  }
  EXPECT_GT(repairs, 0u);
}

TEST_F(two_pid_spaces, have_different_numbers_of_processes) {
  const auto memory = shared_memory::create(map_.at, bytes);
  const auto take = [&] { return memory->allocate(10, 1) != nullptr; };
  ASSERT_TRUE(take());
  ASSERT_TRUE(ends_well(in_new_space(take)));
  ASSERT_TRUE(ends_well(in_new_space(take)));
  std::set<std::uint32_t> numbers;
  memory->for_each_live([&](void*, std::size_t, std::uint32_t process) { numbers.insert(process); });
  EXPECT_EQ(numbers.size(), 3u);
  EXPECT_TRUE(numbers.contains(static_cast<std::uint32_t>(::getpid())));
  EXPECT_EQ(memory->process_number(), static_cast<std::uint32_t>(::getpid()));
}

TEST_F(shared_memories, names_the_process_of_each_block) {
  const auto memory = shared_memory::create(map_.at, bytes);
  const void* const mine = memory->allocate(10, 1);
  EXPECT_FALSE(dies([&] { static_cast<void>(memory->allocate(100, 1)); }));
  memory->for_each_live([&](void* p, std::size_t size, std::uint32_t process) {
    EXPECT_EQ(p == mine, process == static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(size, p == mine ? 16u : 112u);
  });
}

TEST(shared_memory, is_one_at_two_addresses) {
  shared_file file(bytes);
  shared_mapping one(file, bytes), two(file, bytes);
  ASSERT_EQ(shared_memory::open(one.at, bytes).why, shared_memory::error::not_created);
  const auto a = shared_memory::create(one.at, bytes);
  const auto b = shared_memory::open(two.at, bytes);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(b->root(), nullptr);
  auto* const text = static_cast<char*>(a->allocate(16, 1));
  std::strcpy(text, "seen by both");
  a->set_root(text);
  EXPECT_STREQ(static_cast<char*>(b->root()), "seen by both");
  EXPECT_NE(b->root(), a->root());
  EXPECT_TRUE(a->owns(text) && !b->owns(text) && !(*a == *b));
  b->deallocate(b->root());
  a->set_root(nullptr);
  EXPECT_TRUE(a->invariant() && a->used() == 0 && b->root() == nullptr);
}

TEST_F(shared_memories, tells_what_is_wrong_with_the_memory) {
  using error = shared_memory::error;
  auto* const at = static_cast<std::byte*>(map_.at);
  EXPECT_EQ(shared_memory::create(nullptr, bytes).why, error::misaligned);
  EXPECT_EQ(shared_memory::create(at + 16, bytes - 16).why, error::misaligned);
  EXPECT_EQ(shared_memory::create(at, 4096).why, error::too_small);
  EXPECT_EQ(shared_memory::open(at + 64, bytes - 64).why, error::misaligned);
  std::memset(at, 0x55, 4096);
  EXPECT_EQ(shared_memory::open(at, bytes).why, error::not_created);
  EXPECT_EQ(shared_memory::create(at, 4096 + 63).why, error::too_small);
  EXPECT_TRUE(shared_memory::create(at, 4096 + 64));
  ASSERT_TRUE(shared_memory::create(at, bytes));
  EXPECT_EQ(shared_memory::open(at, 4096).why, error::truncated);
  EXPECT_EQ(shared_memory::open(at, bytes - 1).why, error::truncated);
  EXPECT_EQ(basic_shared_memory<ashlar::null_lock>::open(at, bytes).memory, nullptr);
  EXPECT_EQ(basic_shared_memory<lock_of_other_library>::open(at, bytes).why,
            basic_shared_memory<lock_of_other_library>::error::other_layout);
  at[8] ^= std::byte{1};  // of the layout
  EXPECT_EQ(shared_memory::open(at, bytes).why, error::other_layout);
  EXPECT_EQ(name_of(error::truncated), "truncated");
}

TEST_F(shared_memories, overwritten_sizes_refuse_and_do_no_harm) {
  const auto memory = shared_memory::create(map_.at, bytes);
  void* const p = memory->allocate(64, 16);
  EXPECT_TRUE(dies([&] {
    std::memset(static_cast<std::byte*>(p) - 16, 0xFF, 16);
    memory->for_each_live([](void*, std::size_t, std::uint32_t) {});
    const auto dying = static_cast<mortal*>(map_.at);
    dying_steps::left = 1;
    static_cast<void>(dying->try_allocate(16, 16));
  }));
  EXPECT_TRUE(memory->is_damaged());
  EXPECT_EQ(memory->try_allocate(16, 16), nullptr);
  memory->deallocate(p);
  EXPECT_FALSE(memory->invariant());
  EXPECT_EQ(shared_memory::open(map_.at, bytes).why, shared_memory::error::damaged);
}

TEST_F(shared_memories, refuses_alignments_above_a_page_and_what_does_not_fit) {
  const auto memory = shared_memory::create(map_.at, bytes);
  EXPECT_EQ(memory->try_allocate(1, 8192), nullptr);
  EXPECT_EQ(memory->try_allocate(bytes, 1), nullptr);
  EXPECT_EQ(memory->try_allocate(ashlar::max_size, 1), nullptr);
  void* const p = memory->try_allocate(1, 4096);
  EXPECT_TRUE(ashlar::is_aligned(p, 4096));
}

TEST_F(shared_memories, reports_misuse_without_the_lock) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  const auto memory = shared_memory::create(map_.at, bytes);
  auto* const p = static_cast<std::byte*>(memory->allocate(64, 16));
  void* const q = memory->allocate(64, 16);
  ASHLAR_EXPECT_DEATH(
      memory->deallocate(&file_),
      "ashlar: invalid_free: freed a pointer that is not of this shared memory, pointer 0x*, resource 0x*");
  ASHLAR_EXPECT_DEATH((memory->deallocate(q), memory->deallocate(q)),
                      "ashlar: double_free: freed a block of shared memory that is free, pointer 0x*, resource 0x*");
  // Those deaths were of other processes, in the same memory: `q` is free here too.
  ASHLAR_EXPECT_DEATH(
      memory->deallocate(p + 16),
      "ashlar: misaligned_free: freed a pointer into a block of shared memory, pointer 0x*, resource 0x*");
  for (const std::size_t wrong : {std::size_t{100}, ~std::size_t{0}})
    ASHLAR_EXPECT_DEATH(memory->deallocate(p, wrong, 16),
                        "ashlar: size_mismatch: freed a block of shared memory with another size than it was allocated "
                        "with, pointer 0x*, resource 0x*, block of 64 bytes, got " +
                            std::to_string(wrong));
  ASHLAR_EXPECT_DEATH(
      (std::memset(p + 64, 0x41, 8), memory->deallocate(p)),
      "ashlar: overflow: the header after a block of shared memory was overwritten, pointer 0x*, resource 0x*");
}

}  // namespace
