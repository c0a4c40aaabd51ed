// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forks at single instructions of a thread that uses a heap, so that some are inside each of its locks.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/heap/heap.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/deadline.hpp"
#include "tests/support/stamped_block.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::heap;
using ashlar::detail::fork_participant;
using ashlar::detail::fork_participants;
using ashlar::detail::fork_step;
using ashlar_test::stamped_block;

// The processor stops after each instruction while bit 8 of its flags is set.
#if defined(__x86_64__)
constexpr bool can_step = !ashlar_test::has_tsan && !ashlar_test::has_asan;
void change_steps(bool on) {
  if (on)
    asm volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                     : "memory", "cc");
  else
    asm volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                     : "memory", "cc");
}
#else
constexpr bool can_step = false;
void change_steps(bool) {}
#endif

/// A thread runs in steps. At some of them it stops until another thread has forked, or waits for a lock that it holds.
class steps {
  static inline std::atomic<bool> has_begun_ = false, has_locks_ = false, has_ended_ = false;

  template <fork_step Step, std::atomic<bool>* Seen>
  static fork_participant participant() {
    return {.before = [](void*, fork_step step) noexcept { *Seen = *Seen || step == Step; },
            .in_parent = [](void*) noexcept {},
            .in_child = [](void*) noexcept {}};
  }

public:
  /// Effects: from now on stops at each `every`th step, first after `phase`; later if a fork is in progress then.
  static void plan(std::size_t every, std::size_t phase) {
    every_ = every, taken_ = 0, next_ = phase;
    held_ = asked_ = answered_ = 0;
  }

  /// Effects: calls `f` in a thread that runs in steps until its end, destructors included; `answer()` when it stops.
  template <class F, class Answer>
  static void take(F f, Answer answer) {
    has_ended_ = false;
    std::thread walker([&] {
      thread_local end_of_thread last;  // made first, so that it is destroyed last
      last.arm();
      change_steps(true);
      f();
    });
    while (!has_ended_ || asked_ != answered_) {
      if (asked_ != answered_) answer(), ++answered_;
      else nap();
    }
    walker.join();
  }

  [[nodiscard]] static std::size_t taken() { return taken_; }
  [[nodiscard]] static std::size_t forks() { return answered_; }
  /// Returns: forks that waited for the thread to continue.
  [[nodiscard]] static std::size_t held() { return held_; }

  /// Participants that see a fork begin, entered before all others, and see all locks taken, entered after them.
  struct watchers {
    fork_participant first = participant<fork_step::outer_locks, &has_begun_>();
    fork_participant last = participant<fork_step::last_locks, &has_locks_>();

    watchers() { fork_participants::enter(first); }
    watchers(const watchers&) = delete;
    watchers& operator=(const watchers&) = delete;
    ~watchers() {
      fork_participants::leave(first);
      fork_participants::leave(last);
    }
  };

private:
  struct end_of_thread {
    void arm() { std::signal(SIGTRAP, on_step); }
    ~end_of_thread() {
      change_steps(false);
      has_ended_ = true;
    }
  };

  static void on_step(int) {
    if (taken_++ < next_) return;
    if (asked_ != answered_) return;  // that fork waits for a lock held here, for many steps
    next_ = taken_ - 1 + every_;
    const int saved = errno;
    has_begun_ = has_locks_ = false;
    const std::size_t question = ++asked_;
    wait_until([] { return has_begun_.load(); }, 1'000'000);
    if (!wait_until([] { return has_locks_.load(); }, 300)) ++held_;
    else wait_until([question] { return answered_ >= question; }, 100'000);  // otherwise malloc's locks are waited for
    errno = saved;
  }

  template <class Condition>
  static bool wait_until(Condition is_so, long microseconds) {
    for (const long end = now() + microseconds; !is_so();) {
      if (now() > end) return false;
      nap();
    }
    return true;
  }

  // After a yield, other processes of a busy machine would hold the processor for long.
  static void nap() {
    const timespec moment{.tv_sec = 0, .tv_nsec = 20'000};
    ::nanosleep(&moment, nullptr);
  }

  static long now() {
    timespec at{};
    ::clock_gettime(CLOCK_MONOTONIC, &at);
    return static_cast<long>(at.tv_sec % 1000) * 1'000'000 + static_cast<long>(at.tv_nsec / 1000);
  }

  static inline std::size_t every_ = 1, taken_ = 0, next_ = 0, held_ = 0;
  static inline std::atomic<std::size_t> asked_ = 0, answered_ = 0;
};

constexpr std::size_t sizes[] = {48, 48, 3'000, 40'000, 200'000, std::size_t{5} << 20};

// In the child, at any point of the other thread.
bool lives(heap<>& all, void* before_fork) {
  all.deallocate(before_fork);
  std::vector<stamped_block> blocks;
  for (int i = 0; i < 100; ++i)
    for (const std::size_t bytes : sizes)
      if (i == 0 || bytes < 40'000) blocks.push_back({all.allocate(bytes), bytes, blocks.size()});
  for (const stamped_block& each : blocks) each.write();
  bool good = true;
  for (const stamped_block& each : blocks) good = each.is_intact() && good, all.deallocate(each.p);
  static_cast<void>(all.trim());
  return good && all.invariant();
}

/// Runs `f(heap, blocks)` in steps, with blocks of another thread to free, and forks at every `every`th step.
template <class F>
void fork_within(F f, std::size_t every, std::size_t phase) {
  const ashlar_test::deadline hang;
  steps::watchers watching;
  heap<> all;
  void* const p = all.allocate(100);
  std::vector<void*> blocks;
  for (int i = 0; i < 600; ++i) blocks.push_back(all.allocate(sizes[static_cast<std::size_t>(i) % 4]));
  fork_participants::enter(watching.last);  // behind the heap, which has entered
  steps::plan(every, phase);
  steps::take([&] { f(all, blocks); }, [&] { EXPECT_TRUE(ashlar_test::child_does([&] { return lives(all, p); })); });
  all.deallocate(p);
  EXPECT_TRUE(all.invariant());
}

/// As above: first without a fork, to count the steps; then repeatedly, each time with another first step.
template <class F>
void fork_all_over(F f) {
  if constexpr (!can_step) GTEST_SKIP() << "no single steps here";
  fork_within(f, std::size_t{1} << 31, std::size_t{1} << 31);
  if (steps::taken() == 0) GTEST_SKIP() << "this machine takes no single steps";
  const std::size_t passes = ashlar_test::stress_rounds(1), wanted = ashlar_test::is_slow ? 5 : passes == 1 ? 10 : 30;
  const std::size_t every = steps::taken() / wanted + 1;
  std::size_t forks = 0, held = 0;
  const auto are_few = [&] { return forks <= passes * wanted / 5; };  // a lock that is held for long costs a few
  const std::size_t most_passes = passes + 10;                        // and a busy machine many
  for (std::size_t pass = 0; pass < passes || (are_few() && pass < most_passes); ++pass) {
    fork_within(f, every, every * ((pass * 13 + 16) % 32 * 2 + 1) / 64);
    forks += steps::forks(), held += steps::held();
  }
  std::printf("%zu steps, %zu forks, %zu of them waited for a lock\n", steps::taken(), forks, held);
  EXPECT_FALSE(are_few()) << forks;
}

TEST(heap_forks, where_a_thread_begins_and_ends) {
  fork_all_over([](heap<>& all, const std::vector<void*>&) { all.deallocate(all.allocate(64)); });
}

TEST(heap_forks, where_a_thread_allocates_cells_and_runs) {
  fork_all_over([](heap<>& all, const std::vector<void*>&) {
    void* blocks[200] = {};
    for (int i = 0; i < 200; ++i) blocks[i] = all.allocate(i % 8 == 0 ? 40'000 : 64);
    for (void* const each : blocks) all.deallocate(each);
  });
}

TEST(heap_forks, where_a_thread_allocates_huge_blocks) {
  fork_all_over([](heap<>& all, const std::vector<void*>&) {
    for (int i = 0; i < 3; ++i) {
      void* const p = all.allocate(std::size_t{5} << 20);
      void* const more = all.reallocate(p, std::size_t{7} << 20);
      all.deallocate(more);
    }
  });
}

TEST(heap_forks, where_a_thread_frees_for_others) {
  fork_all_over([](heap<>& all, const std::vector<void*>& blocks) {
    for (void* const each : blocks) all.deallocate(each);
    all.flush();
  });
}

TEST(heap_forks, where_a_thread_trims_and_hands_over) {
  fork_all_over([](heap<>& all, const std::vector<void*>&) {
    all.deallocate(all.allocate(300));
    auto handed = all.detach();
    all.deallocate(all.allocate(64));
    all.adopt(std::move(handed));
    static_cast<void>(all.trim());
  });
}

}  // namespace
