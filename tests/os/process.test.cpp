// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the identity of a process, of its processors, and of the lock between processes: it excludes, and tells of a
// holder that died.
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/os/pages.hpp>
#include <ashlar/os/process_lock.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/death.hpp"
#include "tests/support/pid_space.hpp"
#include "tests/support/shared_mapping.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::detail::process_identity;

TEST(process_identity, stays_in_a_process_and_changes_in_a_fork) {
  const std::uint64_t key = process_identity::key(), space = process_identity::space();
  const std::uint32_t number = process_identity::foreign_number();
  EXPECT_NE(key, 0u);
  EXPECT_EQ(key, process_identity::key());
  EXPECT_GE(number, std::uint32_t{1} << 31);
  EXPECT_EQ(process_identity::number(), static_cast<std::uint32_t>(::getpid()));
  EXPECT_TRUE(ashlar_test::child_does([&] {
    return process_identity::key() != key && process_identity::space() == space &&
           process_identity::foreign_number() != number &&
           process_identity::number() == static_cast<std::uint32_t>(::getpid());
  }));
}

#if defined(__linux__)
TEST(usable_processors, are_those_of_the_thread) {
  EXPECT_GE(ashlar::detail::usable_processors(), 1u);
  EXPECT_TRUE(ashlar_test::child_does([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    return ::sched_setaffinity(0, sizeof one, &one) == 0 && ashlar::detail::usable_processors() == 1;
  }));
}
#endif

// Returns: whether the child ended without an error.
bool ends_well(pid_t child) {
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(process_identity, differs_in_another_pid_namespace) {
  const std::uint64_t space = process_identity::space();
  const pid_t child = ashlar_test::fork_in_new_pid_space();
  if (child == 0) ::_exit(process_identity::number() == 1 && process_identity::space() != space ? 0 : 1);
  if (child < 0) GTEST_SKIP() << "the user may not make PID namespaces";
  EXPECT_TRUE(ends_well(child));
}

using ashlar::os::process_lock;

struct guarded {
  process_lock lock;
  int count = 0;
};

class process_lock_test : public ::testing::Test {
protected:
  ashlar_test::shared_file file_{4096};
  ashlar_test::shared_mapping map_{file_, 4096};
  guarded& shared_ = *::new (map_.at) guarded;

  [[nodiscard]] std::byte* word_of_holder() const {
    return static_cast<std::byte*>(map_.at) + (sizeof(::pthread_mutex_t) + 7) / 8 * 8;
  }

  // Returns: whether the lock was had without a word of a dead holder; it is free again.
  [[nodiscard]] bool locks_at_once() const {
    const bool has_died = shared_.lock.lock();
    shared_.lock.unlock();
    return !has_died;
  }

  // Counts under the lock, with holds of different lengths.
  [[nodiscard]] bool count() const {
    for (int i = 0; i < 40'000; ++i) {
      if (shared_.lock.lock()) return false;
      for (volatile int left = i % 97; left != 0;) left = left - 1;
      ++shared_.count;
      shared_.lock.unlock();
    }
    return true;
  }

  // Returns: a child that has the lock with count 1 for a while, and then dies or leaves it with count 2.
  template <class F>
  [[nodiscard]] pid_t fork_holder(bool dies, F before) const {
    const pid_t holder = ::fork();
    if (holder == 0) {
      static_cast<void>(shared_.lock.lock());
      before();
      __atomic_store_n(&shared_.count, 1, __ATOMIC_RELEASE);
      ::usleep(30'000);
      if (dies) ::raise(SIGKILL);
      shared_.count = 2;
      shared_.lock.unlock();
      ::_exit(0);
    }
    while (__atomic_load_n(&shared_.count, __ATOMIC_ACQUIRE) == 0) ::usleep(100);
    return holder;
  }
};

TEST_F(process_lock_test, counts_of_two_processes_add_up) {
  const pid_t other = ::fork();
  if (other == 0) ::_exit(count() ? 0 : 1);
  EXPECT_TRUE(count());
  EXPECT_TRUE(ends_well(other));
  EXPECT_EQ(shared_.count, 80'000);
}

// Both holders have the number 1 in their containers, by which the mutex would take one for the other.
TEST_F(process_lock_test, counts_of_two_pid_namespaces_add_up) {
  std::array<pid_t, 2> others{};
  for (pid_t& each : others) {
    each = ashlar_test::fork_in_new_pid_space();
    if (each < 0) GTEST_SKIP() << "the user may not make PID namespaces";
    if (each == 0) ::_exit(count() ? 0 : 1);
  }
  for (const pid_t each : others) EXPECT_TRUE(ends_well(each));
  EXPECT_EQ(shared_.count, 80'000);
}

TEST_F(process_lock_test, counts_of_threads_add_up) {
  ashlar_test::on_threads(4, [this](std::size_t) { EXPECT_TRUE(count()); });
  EXPECT_EQ(shared_.count, 160'000);
}

TEST_F(process_lock_test, a_waiter_sleeps_until_the_holder_leaves_or_dies) {
  for (const bool dies : {false, true}) {
    EXPECT_TRUE(locks_at_once());
    const pid_t holder = fork_holder(dies, [] {});
    EXPECT_EQ(shared_.lock.lock(), dies);
    EXPECT_EQ(shared_.count, dies ? 1 : 2);
    shared_.count = 0;
    shared_.lock.unlock();
    ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);
  }
}

TEST_F(process_lock_test, tells_of_each_holder_that_died) {
  for (int death = 0; death < 3; ++death) {
    const pid_t other = ::fork();
    if (other == 0) {
      static_cast<void>(shared_.lock.lock());
      ::raise(SIGKILL);
    }
    ASSERT_EQ(::waitpid(other, nullptr, 0), other);
  }
  EXPECT_FALSE(locks_at_once());
  EXPECT_TRUE(locks_at_once());
}

#if defined(__linux__)
// As a thread leaves the lock that is killed between its word and the mutex, on the way in or out.
TEST_F(process_lock_test, a_thread_that_died_beside_the_mutex_is_passed_by) {
  const std::uint64_t dead = 12345;
  std::memcpy(word_of_holder(), &dead, sizeof dead);
  EXPECT_TRUE(locks_at_once()) << "it held nothing";
  EXPECT_TRUE(locks_at_once());
}

TEST_F(process_lock_test, a_word_that_is_wrong_does_not_open_the_lock) {
  const pid_t holder = fork_holder(false, [this] {
    const std::uint64_t none = 0;
    std::memcpy(word_of_holder(), &none, sizeof none);
  });
  EXPECT_FALSE(shared_.lock.lock());
  EXPECT_EQ(shared_.count, 2);
  shared_.lock.unlock();
  EXPECT_TRUE(ends_well(holder));
}
#endif

TEST_F(process_lock_test, knows_the_process_also_after_a_fork) {
  EXPECT_EQ(process_lock::process_id(), static_cast<unsigned>(::getpid()));
  EXPECT_TRUE(ashlar_test::child_does([] { return process_lock::process_id() == static_cast<unsigned>(::getpid()); }));
}

// One that passed this thread by, and put its word back after the unlock, leaves that word behind.
TEST_F(process_lock_test, a_word_left_behind_is_no_second_lock) {
  std::uint64_t mine = 0;
  EXPECT_FALSE(shared_.lock.lock());
  std::memcpy(&mine, word_of_holder(), sizeof mine);
  shared_.lock.unlock();
  std::memcpy(word_of_holder(), &mine, sizeof mine);
  EXPECT_TRUE(locks_at_once());
}

TEST_F(process_lock_test, a_second_lock_by_the_holder_ends_the_process) {
  ASHLAR_EXPECT_DEATH((static_cast<void>(shared_.lock.lock()), static_cast<void>(shared_.lock.lock())),
                      "ashlar: reentry: a thread locked again what it holds");
}

TEST_F(process_lock_test, an_unlock_without_a_lock_is_reported) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "nothing is checked";
  ASHLAR_EXPECT_DEATH(shared_.lock.unlock(),
                      "ashlar: precondition: unlocked a process_lock that the thread does not hold");
}

}  // namespace
