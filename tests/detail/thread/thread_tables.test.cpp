// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the tables of threads: one for each thread and owner, closed once, in any order of ends.
#include <atomic>
#include <cstddef>
#include <latch>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/detail/support/list.hpp>
#include <ashlar/detail/thread/thread_records.hpp>
#include <ashlar/detail/thread/thread_tables.hpp>

#include "tests/support/child.hpp"

namespace {

struct table : ashlar::detail::list_node<table> {
  int entered = 0;
};

struct owner {
  std::atomic<int>& closed;
  ashlar::detail::thread_tables<owner, table> tables = {};

  explicit owner(std::atomic<int>& count) : closed(count) {}
  ~owner() {
    tables.part(*this, [] {});
  }
  void close(table& leaving) noexcept { closed += leaving.entered; }
};

TEST(thread_tables, gives_each_thread_one_and_closes_it_with_the_thread) {
  std::atomic<int> closed = 0;
  owner mine(closed);
  EXPECT_EQ(mine.tables.known(), nullptr);
  std::thread([&] {
    table* const got = mine.tables.obtain(mine);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(mine.tables.obtain(mine), got);
    EXPECT_EQ(mine.tables.recent(), got);
    got->entered = 1;
  }).join();
  EXPECT_EQ(closed, 1);
  EXPECT_EQ(mine.tables.known(), nullptr);
}

TEST(thread_tables, closes_all_when_the_owner_ends_first) {
  std::atomic<int> closed = 0;
  std::optional<owner> mine(std::in_place, closed);
  std::latch entered(3);
  std::latch gone(1);
  const auto body = [&] {
    mine->tables.obtain(*mine)->entered = 1;
    entered.count_down();
    gone.wait();
  };
  std::thread first(body);
  std::thread second(body);
  mine->tables.obtain(*mine)->entered = 1;
  entered.count_down();
  entered.wait();
  int seen = 0;
  mine->tables.for_each([&](table& each) { seen += each.entered; }, [&] { EXPECT_EQ(seen, 3); });
  mine.reset();
  EXPECT_EQ(closed, 3);
  gone.count_down();
  first.join();
  second.join();
  EXPECT_EQ(closed, 3);
}

TEST(thread_tables, a_child_of_a_fork_has_only_its_own) {
  std::atomic<int> closed = 0;
  owner mine(closed);
  mine.tables.obtain(mine)->entered = 1;
  std::latch entered(1);
  std::latch forked(1);
  std::thread other([&] {
    mine.tables.obtain(mine)->entered = 1;
    entered.count_down();
    forked.wait();
  });
  entered.wait();
  mine.tables.before_fork();
  EXPECT_TRUE(ashlar_test::child_does([&] {
    const table* const left = mine.tables.after_fork_in_child();
    int seen = 0;
    mine.tables.for_each([&](table& each) { seen += each.entered; }, [] {});
    return seen == 1 && left == mine.tables.known();
  }));
  mine.tables.after_fork_in_parent();
  forked.count_down();
  other.join();
}

TEST(thread_tables, a_child_of_a_fork_has_none_of_a_thread_that_came_first_meanwhile) {
  std::atomic<int> closed = 0;
  owner mine(closed);
  std::latch entered(1);
  std::latch forked(1);
  mine.tables.before_fork();  // there is no link to lock
  std::thread other([&] {
    mine.tables.obtain(mine)->entered = 1;
    entered.count_down();
    forked.wait();
  });
  entered.wait();
  EXPECT_TRUE(ashlar_test::child_does([&] {
    if (mine.tables.after_fork_in_child() != nullptr) return false;
    int seen = 0;
    mine.tables.for_each([&](table&) { ++seen; }, [] {});
    table* const own = mine.tables.obtain(mine);
    mine.tables.for_each([&](table& each) { seen += &each == own ? 10 : 1; }, [] {});
    return seen == 10;
  }));
  mine.tables.after_fork_in_parent();
  forked.count_down();
  other.join();
  EXPECT_EQ(closed, 1);
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
  ashlar::detail::thread_tables<scarce_owner, table, scarce_records> tables = {};
  ~scarce_owner() {
    tables.part(*this, [] {});
  }
  void close(table&) noexcept {}
};

TEST(thread_tables, gives_none_where_there_is_no_memory_and_one_once_there_is) {
  scarce_owner mine;
  for (const int left : {0, 1}) {  // the link, the table
    records_left = left;
    EXPECT_EQ(mine.tables.obtain(mine), nullptr);
    EXPECT_EQ(mine.tables.known(), nullptr);
  }
  records_left = 1;
  EXPECT_NE(mine.tables.obtain(mine), nullptr);
}

}  // namespace
