// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The second free of a heap's block comes from another thread: it is detected, or at least nothing hangs.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <iterator>
#include <span>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/heap/heap.hpp>

#include "tests/support/build.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::heap;
using ashlar_test::stress_rounds;

constexpr int found = 42, other_fault = 1;

// Under TSan a child that ends among threads sleeps for a second.
constexpr std::size_t rounds = ashlar_test::has_tsan ? 10 : ashlar_test::is_slow ? 100 : 300;

/// Returns: the exit status of a child that runs `f`, within a minute.
template <class F>
int status_of_child(F f) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ashlar::set_violation_handler([](const ashlar::violation& v) noexcept {
      ::_exit(v.kind == ashlar::fault::double_free ? found : other_fault);
    });
    f();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

bool is_found(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == found; }

/// Returns: whether the double free was reported, or without checks at least did not hang.
bool is_borne(int status) {
  if constexpr (ashlar_test::is_checked) return is_found(status);
  else return !(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

void free_in_another_thread(heap<>& all, std::span<void* const> blocks) {
  std::thread([&all, blocks] {
    for (void* const each : blocks) all.deallocate(each);
  }).join();
}

void allocate_all(heap<>& all, std::span<void*> blocks, std::size_t bytes) {
  for (void*& each : blocks) each = all.allocate(bytes);
}

// Spans and huge blocks go back at once, from any thread: every level detects the second free until the memory is
// reused. Meanwhile the block is free, coalesced with its neighbours, or beside live ones.
TEST(heap_double_free, of_blocks_that_are_not_noted_is_always_found) {
  static constexpr std::size_t all_sizes[] = {33'000, 1'000'000, 40'000, 3'900'000, 5'000'000};
  static constexpr auto sizes = std::span(all_sizes).first(ashlar_test::has_tsan ? 2 : std::size(all_sizes));
  for (std::size_t round = 0; round < 6 * sizes.size(); ++round) {
    const int status = status_of_child([round] {
      heap<> all;
      std::array<void*, 4> blocks = {};
      const std::size_t bytes = sizes[round / 6];
      allocate_all(all, blocks, bytes);
      const std::span every(blocks);
      const bool is_own = round % 2 != 0;
      free_in_another_thread(all, every.subspan(1, 2));
      if (round % 3 == 1 && bytes <= 1'000'000) static_cast<void>(all.trim());  // live blocks keep the segment
      if (round % 3 == 2) free_in_another_thread(all, every.subspan(0, 1));
      is_own ? all.deallocate(blocks[1]) : free_in_another_thread(all, every.subspan(1, 1));
      all.deallocate(blocks[2]);
    });
    ASSERT_TRUE(is_found(status)) << "round " << round << ", status " << status;
  }
}

TEST(heap_double_free, of_one_thread_that_only_frees) {
  for (std::size_t round = 0; round < stress_rounds(rounds) / 10; ++round) {
    const int status = status_of_child([round] {
      heap<> all;
      std::array<void*, 100> blocks = {};
      allocate_all(all, blocks, 64);
      std::thread([&] {
        for (void* const each : blocks) all.deallocate(each);
        all.deallocate(blocks[round % 100]);
      }).join();
    });
    ASSERT_TRUE(is_borne(status)) << "round " << round << ", status " << status;
  }
}

// Returns: the status of a child whose second free looks up the owner of its block while another thread gives the
// block's segment back; a visitor holds a lock to let both meet.
int status_of_a_free_while_the_segment_goes() {
  return status_of_child([] {
    heap<> all({.retain_bytes = 0});
    static_cast<void>(all.allocate(std::size_t{8} << 20));  // a huge block, which the visitor meets
    void* const p = all.allocate(64);
    all.deallocate(p);
    const auto moment = std::chrono::milliseconds(20);
    std::atomic<bool> has_begun = false;
    std::thread second_free;
    std::thread visitor([&] {
      all.inspect([&](const ashlar::heap_region& each) {
        if (each.kind != ashlar::region_kind::huge) return;
        second_free = std::thread([&] {
          has_begun = true;
          all.deallocate(p);
        });
        std::this_thread::sleep_for(5 * moment);
      });
    });
    while (!has_begun) std::this_thread::yield();
    std::this_thread::sleep_for(2 * moment);
    static_cast<void>(all.trim());
    visitor.join();
    second_free.join();
  });
}

TEST(heap_double_free, while_the_segment_goes) {
  if constexpr (!ashlar_test::is_checked) GTEST_SKIP() << "whose block it is, is not looked up";
  const auto is_late = [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) == other_fault; };
  int status = status_of_a_free_while_the_segment_goes();
  // On a busy machine the free may come when the segment is gone: of a pointer that is not of this heap.
  for (int tries = 0; tries < 10 && is_late(status); ++tries) status = status_of_a_free_while_the_segment_goes();
  ASSERT_TRUE(is_found(status)) << "status " << status;
}

}  // namespace
