// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the records of threads: distinct, aligned, reused, by many threads and in the child of a fork.
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/thread/thread_records.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"

namespace {

using small_cells = ashlar::detail::record_cells<192>;
using large_cells = ashlar::detail::record_cells<9024>;

template <class Cells>
std::vector<void*> take(std::size_t count) {
  std::vector<void*> taken(count);
  for (void*& each : taken) each = Cells::try_allocate();
  return taken;
}

template <class Cells>
void give(const std::vector<void*>& cells) {
  for (void* const each : cells) Cells::deallocate(each);
}

TEST(thread_records, threads_share_cells_and_no_cell_is_given_twice) {
  const int rounds = ashlar_test::is_slow ? 300 : 3000;
  std::atomic<int> wrong = 0;
  std::atomic<std::size_t*> passed = nullptr;  // a cell of another thread
  const auto body = [&](std::size_t mark) {
    for (int i = 0; i < rounds; ++i) {
      auto* const mine = static_cast<std::size_t*>(small_cells::try_allocate());
      mine[2] = mark;
      std::this_thread::yield();
      if (mine[2] != mark) ++wrong;
      if (std::size_t* const others = passed.exchange(mine); others != nullptr) small_cells::deallocate(others);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t mark = 1; mark <= 4; ++mark) threads.emplace_back(body, mark);
  for (std::thread& each : threads) each.join();
  small_cells::deallocate(passed);
  EXPECT_EQ(wrong, 0);
}

struct record {
  static inline int live = 0;
  int value;
  explicit record(int v) : value(v) { ++live; }
  ~record() { --live; }
};

TEST(thread_records, a_child_finds_the_lock_free) {
  std::atomic<bool> is_over = false;
  std::thread busy([&] {
    while (!is_over) give<small_cells>(take<small_cells>(10));
  });
  for (int i = 0; i < (ashlar_test::is_slow ? 5 : 50); ++i)
    EXPECT_TRUE(ashlar_test::child_does([] { return small_cells::try_allocate() != nullptr; }));
  is_over = true;
  busy.join();
}

}  // namespace
