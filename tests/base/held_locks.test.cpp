// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a report releases the locks of its thread, the latest first, and no lock of another thread.
#include <ashlar/base/platform.hpp>

#include <csetjmp>
#include <csignal>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

std::vector<int> unlocked;

struct named_lock {
  int name;
  void lock() noexcept {}
  void unlock() noexcept { unlocked.push_back(name); }
};

using ashlar::detail::report_scope;

TEST(held_locks, a_scope_unlocks_once_where_nothing_is_reported) {
  unlocked.clear();
  named_lock first{1};
  {
    const report_scope held(first);
    EXPECT_TRUE(unlocked.empty());
  }
  EXPECT_EQ(unlocked, std::vector<int>{1});
  ashlar::detail::held_locks::release_all();
  EXPECT_EQ(unlocked, std::vector<int>{1});
}

std::jmp_buf back;

TEST(held_locks, a_report_lets_go_of_all_the_latest_first) {
  unlocked.clear();
  static named_lock first{1};
  static named_lock second{2};
  static named_lock gone{3};
  ashlar::set_violation_handler([](const ashlar::violation&) noexcept {
    EXPECT_EQ(unlocked, (std::vector<int>{3, 2, 1}));
    std::longjmp(back, 1);
  });
  if (setjmp(back) == 0) {
    const report_scope outer(first);
    const report_scope inner(second);
    {
      const report_scope over(gone);
    }
    ashlar::detail::report({.what = "tried it"});
  }
  ashlar::set_violation_handler(nullptr);
  ashlar::detail::held_locks::release_all();
  EXPECT_EQ(unlocked.size(), 3u);
}

TEST(held_locks, are_each_threads_own) {
  std::mutex mutex;
  const report_scope held(mutex);
  std::thread([&] {
    ashlar::detail::held_locks::release_all();
    EXPECT_FALSE(mutex.try_lock());
  }).join();
}

TEST(held_locks, a_thread_that_would_wait_for_itself_is_reported) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "nothing is checked";
  static ashlar::spin_lock lock;
  ASHLAR_EXPECT_DEATH(
      {
        ::alarm(60);
        const report_scope held(lock);
        std::signal(SIGUSR1, [](int) { const report_scope again(lock); });
        static_cast<void>(std::raise(SIGUSR1));
      },
      "ashlar: reentry: a signal handler or a callback used the resource that it interrupted");
}

TEST(held_locks, a_thread_may_take_a_lock_again_that_it_has_given_back) {
  ashlar::spin_lock lock, other;
  for (int i = 0; i < 2; ++i) {
    const report_scope held(lock);
    const report_scope inside(other);
  }
  EXPECT_TRUE(lock.try_lock());
}

static_assert(
    std::is_same_v<ashlar::detail::check_scope<ashlar::null_lock>, ashlar::detail::lock_scope<ashlar::null_lock>>);
static_assert(std::is_same_v<ashlar::detail::check_scope<std::mutex>,
                             std::conditional_t<ashlar::checking_level >= ashlar::checking::checked,
                                                report_scope<std::mutex>, ashlar::detail::lock_scope<std::mutex>>>);

}  // namespace
