// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the lock between processes: it excludes, and tells of a holder that died.
#include <ashlar/os/process_lock.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include <gtest/gtest.h>

#include "tests/support/child.hpp"
#include "tests/support/death.hpp"
#include "tests/support/shared_mapping.hpp"

namespace {

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
};

TEST_F(process_lock_test, counts_of_two_processes_add_up) {
  const auto count = [this] {
    for (int i = 0; i < 20'000; ++i) {
      if (shared_.lock.lock()) return false;
      ++shared_.count;
      shared_.lock.unlock();
    }
    return true;
  };
  const pid_t other = ::fork();
  if (other == 0) ::_exit(count() ? 0 : 1);
  EXPECT_TRUE(count());
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(shared_.count, 40'000);
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
  EXPECT_TRUE(shared_.lock.lock());
  shared_.lock.unlock();
  EXPECT_FALSE(shared_.lock.lock());
  shared_.lock.unlock();
}

TEST_F(process_lock_test, knows_the_process_also_after_a_fork) {
  EXPECT_EQ(process_lock::process_id(), static_cast<unsigned>(::getpid()));
  EXPECT_TRUE(ashlar_test::child_does([] { return process_lock::process_id() == static_cast<unsigned>(::getpid()); }));
}

TEST_F(process_lock_test, a_second_lock_by_the_holder_ends_the_process) {
  ASHLAR_EXPECT_DEATH((static_cast<void>(shared_.lock.lock()), static_cast<void>(shared_.lock.lock())),
                      "ashlar: reentry: a signal handler or a callback used the resource that it interrupted");
}

}  // namespace
