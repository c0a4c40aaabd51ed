// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the parts of threads: one for each thread and owner, ended once in any order of ends, held over forks.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include <gtest/gtest.h>

#include <ashlar/base/atomics.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/per_thread.hpp>
#include <ashlar/detail/thread/process_threads.hpp>
#include <ashlar/detail/thread/thread_place.hpp>
#include <ashlar/detail/thread/thread_records.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/latch.hpp"

namespace {

using ashlar::detail::fork_step;
using ashlar::detail::look_up;

struct part {
  int entered = 0;
};

template <look_up First>
struct owner {
  using threads_type = ashlar::detail::per_thread<owner, part, First>;

  std::atomic<int>& ended;
  std::vector<fork_step> steps = {};
  std::function<void()> in_first_step = {};
  bool is_held = false;
  part* of_child = nullptr;
  threads_type threads{*this};

  explicit owner(std::atomic<int>& count) : ended(count) {}
  ~owner() { threads.end(); }

  [[nodiscard]] part* begin_thread() noexcept { return new part; }
  void end_thread(part& leaving) noexcept {
    ended += leaving.entered;
    delete &leaving;
  }
  void before_fork(fork_step step) noexcept {
    if (step == fork_step::outer_locks) steps.clear();  // a fork may start again
    steps.push_back(step);
    if (in_first_step) std::exchange(in_first_step, nullptr)();
    is_held = true;
  }
  void after_fork_in_parent() noexcept { is_held = false; }
  void after_fork_in_child(part* mine) noexcept {
    is_held = false;
    of_child = mine;
  }

  [[nodiscard]] int sum() noexcept {
    int seen = 0;
    threads.for_each([&](part& each) { seen += each.entered; }, [] {});
    return seen;
  }
};

using by_number = owner<look_up::by_number>;
using by_words = owner<look_up::last_used>;

template <class Owner>
class per_thread_of : public testing::Test {};
using kinds = testing::Types<by_number, by_words>;
TYPED_TEST_SUITE(per_thread_of, kinds);

TEST(per_thread, passes_a_part_to_another_thread) {
  std::atomic<int> ended = 0;
  by_words mine(ended);
  part* const first = mine.threads.find_or_attach();
  first->entered = 1;
  EXPECT_TRUE(by_words::threads_type::last_used() == first && mine.threads.is_last_used());
  EXPECT_EQ(mine.threads.attach(nullptr), first);
  EXPECT_TRUE(mine.threads.find() == nullptr && by_words::threads_type::last_used() == nullptr);
  EXPECT_EQ(mine.threads.attach(nullptr), nullptr) << "there is none any more";
  std::thread([&] {
    EXPECT_EQ(mine.threads.attach(first), nullptr);
    EXPECT_EQ(mine.threads.cached(), first);
    EXPECT_EQ(mine.threads.attach(new part), first) << "the former one comes back";
    const std::unique_ptr<part> second(mine.threads.attach(first));
    EXPECT_EQ(second->entered, 0);
  }).join();
  EXPECT_EQ(ended, 1);
  EXPECT_NE(mine.threads.find_or_attach(), nullptr);
}

TYPED_TEST(per_thread_of, holds_the_owner_over_a_fork) {
  std::atomic<int> ended = 0;
  TypeParam mine(ended);
  mine.threads.find_or_attach()->entered = 1;
  EXPECT_TRUE(ashlar_test::child_does([&] { return !mine.is_held && mine.of_child == mine.threads.find(); }));
  EXPECT_FALSE(mine.is_held);
  EXPECT_EQ(mine.steps, (std::vector<fork_step>{fork_step::outer_locks, fork_step::inner_locks, fork_step::shared_locks,
                                                fork_step::last_locks}));
  mine.threads.end();
  mine.steps.clear();
  EXPECT_TRUE(ashlar_test::child_does([&] { return mine.steps.empty(); })) << "a fork leaves an ended owner alone";
}

TEST(per_thread, a_child_of_a_fork_has_none_of_a_thread_that_came_first_meanwhile) {
  std::atomic<int> ended = 0;
  by_number before(ended);
  EXPECT_NE(before.threads.find_or_attach(), nullptr);  // from now on a fork waits for the records, too
  by_number mine(ended);
  mine.threads.expect_forks();
  std::thread other;
  ashlar_test::latch entered(1);
  ashlar_test::latch forked(1);
  mine.in_first_step = [&] {  // there is no link to lock
    other = std::thread([&] {
      mine.threads.find_or_attach()->entered = 1;
      entered.count_down();
      forked.wait();
    });
    entered.wait();
  };
  EXPECT_TRUE(ashlar_test::child_does([&] {
    if (mine.of_child != nullptr || mine.sum() != 0) return false;
    mine.threads.find_or_attach()->entered = 10;
    return mine.sum() == 10;
  }));
  forked.count_down();
  other.join();
  EXPECT_EQ(ended, 1);
}

int records_left = 0;

// Records whose allocation fails after a few.
template <class Record>
struct scarce_records {
  template <class... Args>
  [[nodiscard]] static Record* try_make(Args&&... args) noexcept {
    return records_left-- > 0 ? ashlar::detail::thread_records<Record>::try_make(std::forward<Args>(args)...) : nullptr;
  }
  static void end(Record* leaving) noexcept { ashlar::detail::thread_records<Record>::end(leaving); }
};

struct scarce_owner {
  ashlar::detail::per_thread<scarce_owner, part, look_up::by_number, scarce_records> threads{*this};
  ~scarce_owner() { threads.end(); }
  [[nodiscard]] static part* begin_thread() noexcept { return scarce_records<part>::try_make(); }
  static void end_thread(part& leaving) noexcept { scarce_records<part>::end(&leaving); }
  static void before_fork(fork_step) noexcept {}
  static void after_fork_in_parent() noexcept {}
  static void after_fork_in_child(part*) noexcept {}
};

TEST(per_thread, gives_none_where_there_is_no_memory_and_one_once_there_is) {
  scarce_owner mine;
  for (const int left : {0, 1, 1}) {  // the link, the record, the part
    records_left = left;
    EXPECT_EQ(mine.threads.find_or_attach(), nullptr);
    EXPECT_EQ(mine.threads.find(), nullptr);
  }
  records_left = 1;
  EXPECT_NE(mine.threads.find_or_attach(), nullptr);
}

struct process_owner {
  std::atomic<int> registered = 0, begun = 0, ended = 0, sum = 0, steps = 0;
  std::atomic<bool> has_memory = true, is_held = false;
  const part* of_child = nullptr;
  ashlar::detail::process_threads<process_owner, part> threads{*this};

  constexpr process_owner() = default;

  void enter_registry() noexcept { ++registered; }
  [[nodiscard]] part* begin_thread() noexcept { return has_memory ? (++begun, new part) : nullptr; }
  void end_thread(part& leaving) noexcept {
    ++ended;
    sum += leaving.entered;
    delete &leaving;
  }
  void before_fork(fork_step) noexcept {
    ++steps;
    is_held = true;
  }
  void after_fork_in_parent() noexcept { is_held = false; }
  void after_fork_in_child(const part* mine) noexcept {
    is_held = false;
    of_child = mine;
  }
};

constinit process_owner all;  // as an owner of the process is: constant-initialised

TEST(process_threads, shows_an_empty_part_until_a_thread_has_one) {
  std::thread([] {
    EXPECT_EQ(all.threads.cached(), nullptr);
    EXPECT_EQ(all.threads.find(), nullptr);
    const part* const empty = all.threads.last_used();
    ASSERT_NE(empty, nullptr);
    EXPECT_EQ(empty->entered, 0);
    part* const mine = all.threads.find_or_attach();
    ASSERT_NE(mine, nullptr);
    EXPECT_GE(all.registered, 1);
    EXPECT_NE(mine, empty);
    EXPECT_TRUE(mine == all.threads.last_used() && mine == all.threads.cached() &&
                mine == all.threads.find_or_attach());
    EXPECT_TRUE(all.threads.is_last_used());
  }).join();
  EXPECT_EQ(all.begun, all.ended);
}

// A key whose destructor is called in the last round, after the part has gone.
struct last_round {
  pthread_key_t key = {};
  int rounds = 0;
  bool has_part = true;
  bool gets_one = true;
};
constinit last_round last;

TEST(process_threads, gives_no_part_to_a_thread_that_has_left) {
  if constexpr (ashlar_test::has_tsan) GTEST_SKIP() << "ThreadSanitizer forgets the thread in the last round";
  const auto count = [](void* value) {
    if (++last.rounds < PTHREAD_DESTRUCTOR_ITERATIONS) ::pthread_setspecific(last.key, value);
    last.has_part = all.threads.cached() != nullptr;
    if (last.rounds == PTHREAD_DESTRUCTOR_ITERATIONS) last.gets_one = all.threads.find_or_attach() != nullptr;
  };
  ASSERT_EQ(::pthread_key_create(&last.key, count), 0);
  std::thread([] {
    static_cast<void>(all.threads.find_or_attach());
    ASSERT_EQ(::pthread_setspecific(last.key, &last), 0);
  }).join();
  EXPECT_EQ(last.rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
  EXPECT_FALSE(last.has_part);
  EXPECT_FALSE(last.gets_one);
  EXPECT_EQ(all.begun, all.ended);
  ::pthread_key_delete(last.key);
}

TEST(process_threads, asks_again_after_a_refusal) {
  std::thread([] {
    all.has_memory = false;
    EXPECT_EQ(all.threads.find_or_attach(), nullptr);
    EXPECT_EQ(all.threads.cached(), nullptr);
    all.has_memory = true;
    EXPECT_NE(all.threads.find_or_attach(), nullptr);
  }).join();
  EXPECT_EQ(all.begun, all.ended);
}

struct moving_owner {
  struct part {
    static constexpr bool may_move = true;

    struct {
      ashlar::detail::atomic<ashlar::detail::thread_place<part>*> place = nullptr;
      ashlar::detail::atomic<bool> is_asked_for = false;
      std::uint32_t thread = 0;
    } moves;
  };

  const part* of_child = nullptr;
  ashlar::detail::process_threads<moving_owner, part> threads{*this};

  constexpr moving_owner() = default;

  void enter_registry() noexcept {}
  [[nodiscard]] part* begin_thread() noexcept { return new part; }
  void end_thread(part& leaving) noexcept { delete &leaving; }
  void before_fork(fork_step) noexcept {}
  void after_fork_in_parent() noexcept {}
  void after_fork_in_child(const part* mine) noexcept { of_child = mine; }
};

constinit moving_owner moving;

TEST(process_threads, a_child_has_the_part_that_another_thread_has_asked_for) {
  if (!moving.threads.expect_moves()) GTEST_SKIP() << "no thread takes a part";
  moving_owner::part* const mine = moving.threads.find_or_attach();
  moving.threads.leave();
  moving.threads.let_move();
  ASSERT_NE(mine, nullptr);
  moving.threads.ask(&mine, 1);
  EXPECT_TRUE(ashlar_test::child_does(
      [&] { return moving.of_child == mine && moving.threads.cached() == mine && !moving.threads.try_take(*mine); }));
  EXPECT_EQ(moving.threads.find(), mine);
}

TEST(process_threads, exchanges_the_part_of_a_thread) {
  part* moved = nullptr;
  std::thread([&] {
    moved = all.threads.find_or_attach();
    EXPECT_EQ(all.threads.attach(nullptr), moved);
    EXPECT_EQ(all.threads.cached(), nullptr);
  }).join();
  EXPECT_EQ(all.begun, all.ended + 1);
  std::thread([&] {
    EXPECT_EQ(all.threads.attach(moved), nullptr);
    EXPECT_EQ(all.threads.cached(), moved);
  }).join();
  EXPECT_EQ(all.begun, all.ended);
}

TEST(process_threads, holds_the_owner_over_a_fork_and_names_the_part_of_the_child) {
  ashlar::detail::fork_participants::install_at_start();
  part* const mine = all.threads.find_or_attach();
  all.steps = 0;
  EXPECT_TRUE(
      ashlar_test::child_does([mine] { return !all.is_held && all.of_child == mine && all.threads.cached() == mine; }));
  EXPECT_EQ(all.steps, 4);
  EXPECT_FALSE(all.is_held);
  EXPECT_TRUE(ashlar_test::child_does([] {
    bool is_other = false;
    std::thread([&] { is_other = all.threads.find_or_attach() != all.of_child; }).join();
    return is_other;
  }));
}

using small_cells = ashlar::detail::record_cells<192>;

TEST(thread_records, a_child_finds_the_lock_free) {
  std::atomic<bool> is_over = false;
  std::thread busy([&] {
    while (!is_over) small_cells::deallocate(small_cells::try_allocate());
  });
  for (int i = 0; i < (ashlar_test::is_slow ? 5 : 50); ++i)
    EXPECT_TRUE(ashlar_test::child_does([] { return small_cells::try_allocate() != nullptr; }));
  is_over = true;
  busy.join();
}

}  // namespace
