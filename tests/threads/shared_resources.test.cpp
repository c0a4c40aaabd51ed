// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One table of resources for several threads, and what happens to each: blocks that wander, threads that start, end and
// only free, late destructors, ends of the resource, and second frees by other threads.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

#include "tests/support/build.hpp"
#include "tests/support/deadline.hpp"
#include "tests/support/resident.hpp"
#include "tests/support/stamped_block.hpp"
#include "tests/support/stress.hpp"

namespace {

using namespace ashlar_test;

/// A resource of its own, whose blocks have `Bytes` bytes.
template <class R, std::size_t Bytes>
class blocks_of_resource {
public:
  static constexpr std::size_t block_bytes = Bytes;
  static constexpr bool is_of_process = false;

  [[nodiscard]] void* allocate() { return resource_->allocate(Bytes, 8); }
  void free(void* p) { resource_->deallocate(p, Bytes, 8); }
  [[nodiscard]] bool invariant() const { return resource_->invariant(); }
  [[nodiscard]] std::size_t held_bytes() const { return resource_->held_bytes(); }
  /// Effects: asks and trims while other threads work.
  void look_at(const void* p) {
    static_cast<void>(resource_->owns(p));
    if constexpr (requires { resource_->flush(); }) resource_->flush();
    static_cast<void>(resource_->trim());
  }
  void release() { resource_->release(); }
  /// Effects: ends the resource.
  void end() { resource_.reset(); }
  /// Effects: gives back what no block is in. Returns: whether that is all.
  [[nodiscard]] bool goes_back() {
    if constexpr (requires { resource_->flush(); }) resource_->flush();
    static_cast<void>(resource_->trim());
    return held_bytes() <= 16 * least_ && invariant();
  }

private:
  [[nodiscard]] static std::unique_ptr<R> make() {
    if constexpr (std::is_constructible_v<R, ashlar::block_pool_options>)
      return std::make_unique<R>(ashlar::block_pool_options{.cell_bytes = Bytes});
    else return std::make_unique<R>();
  }
  // A set keeps its pools, and what they needed for their slabs of then; a slab is larger than all of it.
  [[nodiscard]] std::size_t bytes_of_pools() {
    if constexpr (!std::is_same_v<R, ashlar::shared_pool_set<>>) return 0;
    free(allocate());
    if constexpr (requires { resource_->flush(); }) resource_->flush();
    static_cast<void>(resource_->trim());
    return held_bytes();
  }

  std::unique_ptr<R> resource_ = make();
  std::size_t least_ = bytes_of_pools();
};

/// Cells of the pool of the process with this size.
template <std::size_t Bytes, class Lock>
class blocks_of_process {
public:
  static constexpr std::size_t block_bytes = Bytes;
  static constexpr bool is_of_process = true;
  using pool = ashlar::detail::process_pool<Bytes, 8, Lock>;

  [[nodiscard]] static void* allocate() { return pool::allocate(); }
  static void free(void* p) { pool::deallocate(p); }
  [[nodiscard]] static bool invariant() {
    return pool::with_pool([](auto& p) { return p.invariant(); });
  }
  [[nodiscard]] static std::size_t held_bytes() {
    return pool::with_pool([](auto& p) { return p.held_bytes(); });
  }
  static void look_at(const void* cell) {
    pool::with_pool([=](auto& p) { static_cast<void>(p.owns(cell)), static_cast<void>(p.trim()); });
  }
  [[nodiscard]] static bool goes_back() {
    if constexpr (requires { pool::flush(); }) pool::flush();
    pool::with_pool([](auto& p) { static_cast<void>(p.trim()); });
    return held_bytes() == 0 && invariant();
  }
};

template <class Subject>
class shared_resources : public ::testing::Test {
protected:
  static constexpr std::size_t bytes = Subject::block_bytes;
  static constexpr std::size_t batch = std::size_t{64} * 1024 / bytes;  // of frees for another thread

  [[nodiscard]] stamped_block make(std::uint64_t stamp) {
    const stamped_block made{all.allocate(), bytes, stamp};
    made.write();
    return made;
  }
  void free(const stamped_block& block) {
    ASSERT_TRUE(block.is_intact());
    all.free(block.p);
  }
  void use(std::size_t blocks) {
    std::vector<void*> taken(blocks);
    for (void*& each : taken) each = all.allocate();
    for (void* const each : taken) all.free(each);
  }

  const deadline hang_;
  Subject all;
};
using subjects_of_threads =
    ::testing::Types<blocks_of_process<512, ashlar::thread_cached>, blocks_of_resource<ashlar::shared_block_pool<>, 64>,
                     blocks_of_resource<ashlar::shared_pool_set<>, 64>, blocks_of_resource<ashlar::heap<>, 64>,
                     blocks_of_resource<ashlar::heap<>, 2040>>;
TYPED_TEST_SUITE(shared_resources, subjects_of_threads);

// Every thread allocates, and frees blocks of other threads; in bursts it only frees, so that batches fill. A new
// thread takes over now and then. In the end each number of each owner was seen once.
TYPED_TEST(shared_resources, bring_each_block_from_many_threads_to_many_once) {
  struct message {
    std::uint64_t number, complement;
  };
  constexpr std::size_t threads = 4;
  const std::size_t rounds = stress_rounds(100'000);
  std::array<std::atomic<message*>, 300> boxes = {};
  std::vector<std::atomic<unsigned char>> seen(threads * rounds);
  const auto see = [&](message* arrived) {
    if (arrived == nullptr) return;
    ASSERT_EQ(arrived->number, ~arrived->complement);
    seen[arrived->number].fetch_add(1, std::memory_order_relaxed);
    arrived->complement = arrived->number;  // no longer valid, if it comes again
    this->all.free(arrived);
  };
  const auto shift = [&](std::size_t who, std::size_t from, std::size_t to) {
    std::minstd_rand random(static_cast<unsigned>(who * 7919 + from + 1));
    for (std::size_t round = from; round != to; ++round) {
      const std::uint64_t number = round * threads + who;
      auto* const fresh = ::new (this->all.allocate()) message{number, ~number};
      // Pairs with itself: another thread wrote the message.
      see(boxes[random() % boxes.size()].exchange(fresh, std::memory_order_acq_rel));
      if (round % 4096 < 32)
        for (auto& box : boxes) see(box.exchange(nullptr, std::memory_order_acq_rel));
      if (round % 8192 == 0) static_cast<void>(this->all.held_bytes());
      if (round % 8192 == 4096) this->all.look_at(boxes.data());
    }
  };
  on_threads(threads, [&](std::size_t who) {
    for (std::size_t done = 0; done < rounds; done += 10'000)
      in_a_thread([&] { shift(who, done, std::min(rounds, done + 10'000)); });
  });
  for (auto& box : boxes) see(box.exchange(nullptr));
  EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& times) { return times.load() == 1; }));
  EXPECT_TRUE(this->all.goes_back());
}

TYPED_TEST(shared_resources, lose_nothing_when_a_thread_ends_with_any_number_of_frees_unsent) {
  constexpr std::size_t unsent = TestFixture::batch;
  std::vector<void*> live;
  const std::size_t step = 97 / stress_rounds(1) + 1;
  for (std::size_t frees = 1; frees < unsent; frees += frees < 10 || frees > unsent - 10 ? 1 : step) {
    for (std::size_t i = 0; i < frees; ++i) live.push_back(this->all.allocate());
    in_a_thread([&] {
      for (void* const p : live) this->all.free(p);
    });
    live.clear();
    ASSERT_TRUE(this->all.goes_back()) << frees;
  }
}

// Two threads keep a queue full, one empties a part of it at a time. The queue holds the live bytes, nearly constant;
// the rest is the cost of remote frees.
TYPED_TEST(shared_resources, cost_little_in_a_thread_that_only_frees) {
  constexpr std::size_t depth = 40'000;
  constexpr double bytes_live = double{depth} * TestFixture::bytes;
  const std::size_t each_makes = (depth + stress_rounds(100'000)) / 2;
  const std::size_t before = resident_bytes();
  std::mutex guard;
  std::condition_variable has_room, is_full;
  std::vector<stamped_block> queue;
  std::size_t most_held = 0, most_resident = 0;
  const auto produce = [&] {
    for (std::size_t i = 0; i < each_makes; ++i) {
      const stamped_block block = this->make(i);
      std::unique_lock hold(guard);
      has_room.wait(hold, [&] { return queue.size() < depth; });
      queue.push_back(block);
      if (queue.size() == depth) is_full.notify_one();
    }
    is_full.notify_one();
  };
  const auto free_all = [&] {
    for (std::size_t done = 0; done < 2 * each_makes;) {
      std::vector<stamped_block> taken;
      {
        std::unique_lock hold(guard);
        is_full.wait(hold, [&] { return queue.size() == depth || done + queue.size() == 2 * each_makes; });
        while (!queue.empty() && taken.size() < 100) taken.push_back(queue.back()), queue.pop_back();
      }
      has_room.notify_all();
      for (const stamped_block& each : taken) this->free(each);
      if ((done += taken.size()) % 1000 != 0) continue;
      most_held = std::max(most_held, this->all.held_bytes());
      most_resident = std::max(most_resident, resident_bytes() - std::min(before, resident_bytes()));
    }
  };
  std::thread first(produce), second(produce), freer(free_all);
  for (std::thread* const each : {&first, &second, &freer}) each->join();
  if (TestFixture::bytes >= 512) {  // where the bookkeeping of this test does not count
    EXPECT_LE(static_cast<double>(most_held), 1.3 * bytes_live);
    if constexpr (residency_means_something) EXPECT_LE(static_cast<double>(most_resident), 1.3 * bytes_live);
  }
  EXPECT_TRUE(this->all.goes_back());
}

// A thread of the next generation frees the blocks after their owner has ended.
TYPED_TEST(shared_resources, do_not_grow_over_generations_of_owners_and_freers) {
  constexpr std::size_t blocks_each = is_watched ? 300 : 2000;
  const std::size_t generations = 300 * stress_rounds(1);
  std::vector<stamped_block> live, older;
  std::size_t early = 0;
  for (std::size_t generation = 0; generation < generations; ++generation) {
    in_a_thread([&] {
      for (std::size_t i = 0; i < blocks_each; ++i) live.push_back(this->make(i ^ generation));
    });
    in_a_thread([&] {
      for (const stamped_block& each : older) this->free(each);
    });
    older.swap(live);
    live.clear();
    if (generation == 20) early = this->all.held_bytes();
  }
  EXPECT_LE(this->all.held_bytes(), early + std::max(early / 20, ashlar::detail::segment_bytes));
  for (const stamped_block& each : older) this->free(each);
  EXPECT_TRUE(this->all.goes_back());
}

// Made before the thread's first block, so that it is destroyed after the thread's part of the resource.
template <class Fixture>
struct late_user {
  Fixture* test = nullptr;
  std::vector<stamped_block> blocks;
  ~late_user() {
    for (const stamped_block& each : blocks) test->free(each);
    test->use(300);
  }
};

template <class Subject>
struct open_to_late_users : shared_resources<Subject> {
  using shared_resources<Subject>::free;
  using shared_resources<Subject>::make;
  using shared_resources<Subject>::use;
};
template <class Subject>
class late_uses : public open_to_late_users<Subject> {};
TYPED_TEST_SUITE(late_uses, subjects_of_threads);

TYPED_TEST(late_uses, by_thread_local_destructors_are_served) {
  using opened = open_to_late_users<TypeParam>;
  for (std::size_t round = 0; round < stress_rounds(50); ++round)
    in_a_thread([this] {
      thread_local late_user<opened> late;
      late.test = this;
      for (std::uint64_t i = 0; i < 500; ++i) late.blocks.push_back(this->make(i));
    });
  EXPECT_TRUE(this->all.goes_back());
}

// A key whose destructor allocates, frees, and sets the key again, for more rounds than the system runs. (TSan ends
// itself in the last of them.)
template <class Fixture>
struct restless_key {
  static constexpr int rounds = has_tsan ? 2 : 8;
  static inline pthread_key_t key = {};
  static inline Fixture* test = nullptr;
  static inline std::atomic<int> runs = 0;
  static inline thread_local int left = 0;
  static void run(void*) {
    ++runs;
    test->use(40);
    if (--left > 0) ::pthread_setspecific(key, test);
  }
};

TYPED_TEST(late_uses, by_destructors_of_keys_are_served_also_if_they_are_the_first) {
  using keyed = restless_key<open_to_late_users<TypeParam>>;
  keyed::test = this;
  ASSERT_EQ(::pthread_key_create(&keyed::key, &keyed::run), 0);
  for (int i = 0; i < 50; ++i)
    in_a_thread([&] {
      if (i % 2 == 0 || has_asan) this->use(40);  // otherwise the C library leaks its note of a destructor
      keyed::left = keyed::rounds;
      ::pthread_setspecific(keyed::key, this);
    });
  ::pthread_key_delete(keyed::key);
  EXPECT_GE(keyed::runs.load(), 50);
  EXPECT_TRUE(this->all.goes_back());
}

// Frees are noted but not sent, or sent but not drained, when the resource is released or ends.
TYPED_TEST(shared_resources, may_be_released_and_ended_while_their_threads_end) {
  if constexpr (!TypeParam::is_of_process)
    for (std::size_t round = 0; round < stress_rounds(300); ++round) {
      auto mine = std::make_unique<TypeParam>();
      std::vector<void*> left(round % 2 == 0 ? 30 : 2 * TestFixture::batch);
      for (void*& each : left) each = mine->allocate();
      std::atomic<bool> done = false;
      std::thread ending([&] {
        std::vector<void*> taken(left.size());
        for (void*& each : taken) each = mine->allocate();
        for (void* const each : taken) mine->free(each);
        for (void* const each : left) mine->free(each);
        done.store(true, std::memory_order_release);  // pairs with the load below: all uses have happened
      });
      while (!done.load(std::memory_order_acquire)) std::this_thread::yield();
      if (round % 4 < 2) {
        mine->release();
        EXPECT_EQ(mine->held_bytes(), 0u) << "in round " << round;
        EXPECT_TRUE(mine->invariant());
      }
      mine->end();
      ending.join();
    }
}

// Second frees. Under TSan a child that ends among threads sleeps for a second.
constexpr int found = 42, other_fault = 1;
constexpr std::size_t rounds_of_children = has_tsan ? 10 : is_slow ? 100 : 300;

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

bool ends_with(int code, int status) { return WIFEXITED(status) && WEXITSTATUS(status) == code; }

/// Expects that a child that runs `f` reports a double free; or, where that cannot be, does not hang.
template <class F>
void expect_double_free(bool must_be_found, F f) {
  const int status = status_of_child(f);
  if (must_be_found) ASSERT_TRUE(ends_with(found, status)) << status;
  else ASSERT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

template <class Subject>
class second_frees : public shared_resources<Subject> {
protected:
  // A pool knows free cells at every level once their frees have arrived.
  static constexpr bool are_always_found = is_checked || Subject::is_of_process;
  void free_in_another_thread(std::span<void* const> blocks) {
    in_a_thread([&] {
      for (void* const each : blocks) this->all.free(each);
    });
  }
};
using subjects_of_second_frees =
    ::testing::Types<blocks_of_process<32, ashlar::thread_cached>, blocks_of_resource<ashlar::heap<>, 64>>;
TYPED_TEST_SUITE(second_frees, subjects_of_second_frees);

// The freeing threads never allocated: both frees are noted, and meet at the second arrival or before. Other frees
// surround them: one block each, or many.
TYPED_TEST(second_frees, by_two_threads_that_only_free_are_found) {
  for (std::size_t round = 0; round < stress_rounds(rounds_of_children); ++round)
    expect_double_free(this->are_always_found, [this, round] {
      std::array<void*, 100> blocks = {};
      for (void*& each : blocks) each = this->all.allocate();
      const std::span cells(blocks);
      const std::size_t twice = round % 100;
      for (std::size_t i = 0; i < std::min<std::size_t>(twice, round % 4); ++i)
        this->free_in_another_thread(cells.subspan(i, 1));
      this->free_in_another_thread(cells.subspan(twice));
      this->free_in_another_thread(cells.subspan(twice, 1 + round % (100 - twice)));
      static_cast<void>(this->all.goes_back());
    });
}

TYPED_TEST(second_frees, at_the_same_time_are_found) {
  for (std::size_t round = 0; round < stress_rounds(rounds_of_children); ++round)
    expect_double_free(this->are_always_found, [this] {
      void* const cell = this->all.allocate();
      on_threads(2, [&](std::size_t) { this->all.free(cell); });
      static_cast<void>(this->all.goes_back());
    });
}

// Without checks the owner may have the block in its cache, and then two callers get it. The program still ends.
TYPED_TEST(second_frees, by_the_owner_and_another_never_hang) {
  for (std::size_t round = 0; round < stress_rounds(rounds_of_children); ++round)
    expect_double_free(is_checked, [this, round] {
      std::array<void*, 300> cells = {};
      for (void*& cell : cells) cell = this->all.allocate();
      for (std::size_t i = 0; i <= round % 100; ++i) this->all.free(cells[i]);
      for (std::size_t i = 0; i <= round % 100; i += 40)
        this->free_in_another_thread(std::span<void* const>(cells).subspan(i, 1));
      for (int again = 0; again < 20; ++again) {
        for (void*& cell : cells) cell = this->all.allocate();
        for (void* const cell : cells) this->all.free(cell);
        static_cast<void>(this->all.goes_back());
      }
    });
}

void free_in_another_thread(ashlar::heap<>& all, std::span<void* const> blocks) {
  in_a_thread([&all, blocks] {
    for (void* const each : blocks) all.deallocate(each);
  });
}

void allocate_all(ashlar::heap<>& all, std::span<void*> blocks, std::size_t bytes) {
  for (void*& each : blocks) each = all.allocate(bytes);
}

// Spans and huge blocks go back at once, from any thread: every level detects the second free until the memory is
// reused. Meanwhile the block is free, coalesced with its neighbours, or beside live ones.
TEST(second_frees_of_a_heap, of_blocks_that_are_not_noted_is_always_found) {
  static constexpr std::size_t all_sizes[] = {33'000, 1'000'000, 40'000, 3'900'000, 5'000'000};
  static constexpr auto sizes = std::span(all_sizes).first(has_tsan ? 2 : std::size(all_sizes));
  for (std::size_t round = 0; round < 6 * sizes.size(); ++round) {
    expect_double_free(true, [round] {
      ashlar::heap<> all;
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
  }
}

// Returns: the status of a child whose second free looks up the owner of its block while another thread gives the
// block's segment back; a visitor holds a lock to let both meet.
int status_of_a_free_while_the_segment_goes() {
  return status_of_child([] {
    ashlar::heap<> all({.retain_bytes = 0});
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

TEST(second_frees_of_a_heap, while_the_segment_goes) {
  if constexpr (!is_checked) GTEST_SKIP() << "whose block it is, is not looked up";
  int status = status_of_a_free_while_the_segment_goes();
  // On a busy machine the free may come when the segment is gone: of a pointer that is not of this heap.
  for (int tries = 0; tries < 10 && ends_with(other_fault, status); ++tries)
    status = status_of_a_free_while_the_segment_goes();
  ASSERT_TRUE(ends_with(found, status)) << "status " << status;
}

}  // namespace
