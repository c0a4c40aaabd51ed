// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The second free of a cell comes from another thread: it is detected, or at least nothing hangs.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <span>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/face/process_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar_test::stress_rounds;
using pool = ashlar::detail::process_pool<32, 8, ashlar::thread_cached>;

constexpr int found = 42;

// Under TSan a child that ends among threads sleeps for a second.
constexpr std::size_t rounds = ashlar_test::has_tsan ? 10 : 1000;

/// Returns: the exit status of a child that runs `f`, within a minute.
template <class F>
int status_of_child(F f) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ashlar::set_violation_handler(
        [](const ashlar::violation& v) noexcept { ::_exit(v.kind == ashlar::fault::double_free ? found : 1); });
    f();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

void free_in_another_thread(std::span<void* const> cells) {
  std::thread([cells] {
    for (void* const cell : cells) pool::deallocate(cell);
  }).join();
}

// The freeing threads never allocated: both frees are noted, and meet at the second arrival or before. Other frees
// surround them: one cell each, or many.
TEST(double_free, of_two_threads_that_only_free_is_found) {
  for (std::size_t round = 0; round < stress_rounds(rounds); ++round) {
    const int status = status_of_child([round] {
      std::array<void*, 100> all = {};
      for (void*& cell : all) cell = pool::allocate();
      const std::span cells(all);
      const std::size_t twice = round % 100;
      for (std::size_t i = 0; i < std::min<std::size_t>(twice, round % 4); ++i)
        free_in_another_thread(cells.subspan(i, 1));
      free_in_another_thread(cells.subspan(twice));
      free_in_another_thread(cells.subspan(twice, 1 + round % (100 - twice)));
    });
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == found) << "round " << round << ", status " << status;
  }
}

TEST(double_free, at_the_same_time_is_found) {
  for (std::size_t round = 0; round < stress_rounds(rounds); ++round) {
    const int status = status_of_child([] {
      void* const cell = pool::allocate();
      std::thread one([cell] { pool::deallocate(cell); });
      std::thread other([cell] { pool::deallocate(cell); });
      one.join();
      other.join();
    });
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == found) << "round " << round << ", status " << status;
  }
}

// Without checks the owner may have the cell in its cache, and then two callers get it. The program still ends.
TEST(double_free, of_the_owner_and_another_never_hangs) {
  for (std::size_t round = 0; round < stress_rounds(rounds); ++round) {
    const int status = status_of_child([round] {
      std::array<void*, 300> cells = {};
      for (void*& cell : cells) cell = pool::allocate();
      for (std::size_t i = 0; i <= round % 100; ++i) pool::deallocate(cells[i]);
      for (std::size_t i = 0; i <= round % 100; i += 40) free_in_another_thread(std::span(cells).subspan(i, 1));
      for (int again = 0; again < 20; ++again) {
        for (void*& cell : cells) cell = pool::allocate();
        for (void* const cell : cells) pool::deallocate(cell);
        pool::flush();
      }
    });
    ASSERT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) << "round " << round;
    if constexpr (ashlar_test::is_checked)
      ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == found) << "round " << round << ", status " << status;
  }
}

}  // namespace
