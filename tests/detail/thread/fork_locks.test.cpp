// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the list of locks that a fork takes: in order of entry, all or none.
#include <ashlar/detail/thread/fork.hpp>

#include <string>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::fork_lock;
using ashlar::detail::fork_locks;

std::string done;

struct named : fork_lock {
  explicit named(const char* of) : fork_lock(take, give), name(of) {}

  static named& of(fork_lock& self) { return static_cast<named&>(self); }
  static bool take(fork_lock& self, unsigned patience) noexcept {
    if (patience < of(self).needed) return false;
    done += std::string("+") + of(self).name;
    return true;
  }
  static void give(fork_lock& self) noexcept { done += std::string("-") + of(self).name; }

  const char* name;
  unsigned needed = 0;
};

std::string tried(fork_locks& all, unsigned patience = 1) {
  done.clear();
  if (all.try_lock_all(patience)) all.unlock_all();
  return done;
}

TEST(fork_locks, are_taken_in_order_of_entry_and_given_back_the_last_first) {
  fork_locks all;
  named a("a"), b("b"), c("c");
  for (named* each : {&a, &b, &c, &a}) all.enter(*each);  // the second entry has no effect
  EXPECT_EQ(tried(all), "+a+b+c-c-b-a");
}

TEST(fork_locks, are_all_given_back_where_one_is_refused) {
  fork_locks all;
  named a("a"), b("b"), c("c");
  for (named* each : {&a, &b, &c}) all.enter(*each);
  c.needed = 2;
  EXPECT_EQ(tried(all), "+a+b-b-a");
  EXPECT_EQ(tried(all, 2), "+a+b+c-c-b-a");
  a.needed = 3;
  EXPECT_EQ(tried(all, 2), "");
}

TEST(fork_locks, leave_from_anywhere_and_may_enter_again_as_the_last) {
  fork_locks all;
  named a("a"), b("b"), c("c");
  for (named* each : {&a, &b, &c}) all.enter(*each);
  all.leave(b);
  all.leave(b);  // the second leave has no effect
  EXPECT_EQ(tried(all), "+a+c-c-a");
  all.leave(a);
  all.enter(b);
  EXPECT_EQ(tried(all), "+c+b-b-c");
  all.leave(b);
  all.enter(a);
  EXPECT_EQ(tried(all), "+c+a-a-c");
  all.leave(c);
  all.leave(a);
  EXPECT_EQ(tried(all), "");
}

}  // namespace
