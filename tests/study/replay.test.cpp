// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the replay loop: every block is freed once, with its request, on any number of lanes; failures and damage
// are counted, and so are bytes that a block touches.
#include <ashlar/study/replay.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/study/random_events.hpp"
#include "tests/study/replay_team.hpp"
#include "tests/support/build.hpp"
#include <ashlar/study/lane_team.hpp>
#include <ashlar/study/window_compiler.hpp>

namespace {

namespace detail = ashlar::detail;
using detail::replay_kind;
using detail::replay_op;
using detail::replay_request;

/// malloc that checks the requests of frees, and may refuse or spoil blocks.
class checking_allocator {
public:
  static constexpr bool touches = true;

  struct shared_state {
    std::atomic<std::int64_t> live{0};
    std::atomic<int> wrong_sizes{0};
    std::uint64_t refuse_from = ~std::uint64_t{0};  // smallest size that is refused
    bool spoil = false;                             // allocate memory that is not zero
  };
  explicit checking_allocator(shared_state& state) : state_(&state) {}

  void* allocate(replay_request r) {
    if (r.size() >= state_->refuse_from) return nullptr;
    ++state_->live;
    return make(r);
  }
  void* reallocate(void* block, replay_request was, replay_request r) {
    check(block, was);
    if (r.size() >= state_->refuse_from) return nullptr;
    void* moved = make(r);
    std::copy_n(body(block), std::min(was.size(), r.size()), body(moved));
    std::free(head(block));
    return moved;
  }
  void deallocate(void* block, replay_request r) {
    check(block, r);
    --state_->live;
    std::free(head(block));
  }

private:
  static constexpr std::size_t header = 64;
  static char* body(void* block) { return static_cast<char*>(block); }
  static void* head(void* block) { return body(block) - header; }

  void* make(replay_request r) {
    void* all = std::calloc(1, header + static_cast<std::size_t>(r.size()));
    *static_cast<std::uint64_t*>(all) = r.size();
    char* block = static_cast<char*>(all) + header;
    if (state_->spoil && r.size() != 0) block[0] = 1;
    return block;
  }
  void check(void* block, replay_request r) {
    if (*static_cast<std::uint64_t*>(head(block)) != r.size()) ++state_->wrong_sizes;
  }

  shared_state* state_;
};
static_assert(detail::replay_allocator<checking_allocator>);

/// The same, with separate counts for sized calls.
struct sized_allocator : checking_allocator {
  using checking_allocator::checking_allocator;
  void deallocate_sized(void* block, replay_request r) {
    ++sized;
    deallocate(block, r);
  }
  int sized = 0;
};
static_assert(detail::sized_replay_allocator<sized_allocator> && !detail::sized_replay_allocator<checking_allocator>);

struct replayed {
  detail::replay_counts counts;
  detail::replay_tally tally;
  std::vector<void*> left;  // blocks still in their slots
};

template <class Source>
replayed replay(Source source, checking_allocator::shared_state& state, std::uint32_t lanes) {
  ashlar_test::replay_team<checking_allocator> team(checking_allocator(state), lanes);
  replayed out{team.run(source), {}, team.left()};
  out.tally = team.tally();
  for (void*& block : out.left) block = static_cast<char*>(block) - 64;
  return out;
}

TEST(replay, frees_each_block_once_with_the_size_that_was_asked_for) {
  for (unsigned seed = 0; seed < (ashlar_test::is_slow ? 2 : 5); ++seed) {
    checking_allocator::shared_state state;
    const replayed r = replay(ashlar_test::random_events(seed, 6000), state, 5);
    EXPECT_GT(r.counts.ended, 10u);
    EXPECT_EQ(state.wrong_sizes, 0);
    EXPECT_EQ(static_cast<std::uint64_t>(state.live), r.counts.never_freed);
    EXPECT_EQ(r.left.size(), r.counts.never_freed);
    EXPECT_EQ(r.tally.failed, 0u);
    EXPECT_EQ(r.tally.damaged, 0u);
    for (void* block : r.left) std::free(block);
  }
}

using ashlar_test::listed_events;

TEST(replay, a_request_that_cannot_be_served_is_counted_and_its_free_is_nothing) {
  using ashlar::trace::operation;
  checking_allocator::shared_state state;
  state.refuse_from = 1000;
  const listed_events source{{{.size = 1000, .object = 1},
                              {.op = operation::free_, .object = 1},
                              {.size = 10, .object = 2},
                              {.op = operation::realloc_, .size = 2000, .object = 3, .old_object = 2},
                              {.op = operation::realloc_, .size = 30, .object = 4, .old_object = 3},
                              {.op = operation::free_, .object = 4}}};
  const replayed r = replay(source, state, 1);
  EXPECT_EQ(r.tally.failed, 2u);
  EXPECT_EQ(state.live, 0);
  EXPECT_EQ(state.wrong_sizes, 0);
}

TEST(replay, sized_frees_call_the_sized_function_of_an_allocator) {
  checking_allocator::shared_state state;
  sized_allocator allocator(state);
  detail::no_timer timer;
  std::vector<detail::replay_slot> slots(2);
  const replay_op program[] = {{0, 0, replay_request(replay_kind::allocate, 40, 0)},
                               {1, 0, replay_request(replay_kind::allocate, 50, 0)},
                               {0, 0, replay_request(replay_kind::deallocate_sized, 0, 0)},
                               {1, 0, replay_request(replay_kind::deallocate, 0, 0)}};
  detail::replay_lane<sized_allocator>(allocator, slots, timer).run(program);
  detail::replay_lane<checking_allocator>(allocator, slots, timer).run(program);
  EXPECT_EQ(allocator.sized, 1);
  EXPECT_EQ(state.live, 0);
  EXPECT_EQ(state.wrong_sizes, 0);
}

TEST(replay, zeroed_memory_that_is_not_zero_is_damage) {
  checking_allocator::shared_state state;
  state.spoil = true;
  const listed_events source{{{.op = ashlar::trace::operation::calloc_, .size = 100, .object = 1},
                              {.op = ashlar::trace::operation::free_, .object = 1}}};
  EXPECT_EQ(replay(source, state, 1).tally.damaged, 1u);
}

TEST(replay, a_free_waits_for_the_allocation_of_another_lane) {
  checking_allocator::shared_state state;
  listed_events source;
  for (std::uint64_t i = 1; i <= (ashlar_test::is_slow ? 3000 : 20000); ++i) {
    source.events.push_back({.thread = static_cast<std::uint32_t>(i % 2), .size = i % 100, .object = i});
    source.events.push_back(
        {.thread = static_cast<std::uint32_t>((i + 1) % 2), .op = ashlar::trace::operation::free_, .object = i});
  }
  const replayed r = replay(source, state, 2);
  EXPECT_EQ(state.live, 0);
  EXPECT_EQ(r.tally.damaged, 0u);
}

TEST(replay, stops_where_a_thread_ends) {
  checking_allocator::shared_state state;
  checking_allocator allocator(state);
  detail::no_timer timer;
  std::vector<detail::replay_slot> slots(1);
  detail::replay_lane<checking_allocator> lane(allocator, slots, timer);
  const replay_op program[] = {{0, 0, replay_request(replay_kind::allocate, 40, 0)},
                               {0, 0, replay_request(replay_kind::end_thread, 0, 0)},
                               {0, 0, replay_request(replay_kind::deallocate, 0, 0)}};
  EXPECT_EQ(lane.run(program), 2u);
  EXPECT_EQ(state.live, 1);
  EXPECT_EQ(lane.run(std::span(program).subspan(2)), 1u);
  EXPECT_EQ(state.live, 0);
}

TEST(replay, waiting_is_counted_and_timed) {
  checking_allocator::shared_state state;
  checking_allocator allocator(state);
  detail::no_timer timer;
  std::vector<detail::replay_slot> slots(1);
  detail::replay_lane<checking_allocator> first(allocator, slots, timer), second(allocator, slots, timer);
  const replay_op makes{0, 0, replay_request(replay_kind::allocate, 40, 0)};
  const replay_op frees{0, 0, replay_request(replay_kind::deallocate, 0, 0)};
  detail::lane_team team(2);
  unsigned rounds = 0;  // more than one if the second thread starts too late to wait
  for (; rounds < 50 && second.tally().waits == 0; ++rounds)
    team.run([&](std::uint32_t lane) {
      if (lane == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      lane == 0 ? first.run({&makes, 1}) : second.run({&frees, 1});
      return detail::lane_stop::round;
    });
  EXPECT_EQ(first.tally().waits, 0u);
  EXPECT_EQ(second.tally().waits, 1u) << rounds;
  EXPECT_GT(second.tally().waited_ns, 0u);
  EXPECT_EQ(state.live, 0);
}

using ashlar::detail::touch;

constexpr std::size_t sizes[] = {0, 1, 7, 8, 9, 63, 64, 65, 4096, 4097, 70000};

TEST(touch, writes_inside_the_block_only) {
  for (const std::size_t size : sizes) {
    std::vector<unsigned long long> words(size / 8 + 16, 0);
    auto* bytes = reinterpret_cast<unsigned char*>(words.data());
    touch::write(bytes, size, 0, ~0ull);
    for (std::size_t i = size; i < words.size() * 8; ++i) EXPECT_EQ(bytes[i], 0) << size;
    if (size != 0) {
      EXPECT_NE(bytes[0], 0);
      EXPECT_NE(bytes[size - 1], 0);
    }
  }
}

TEST(touch, grown_blocks_are_written_from_where_they_grew) {
  std::vector<unsigned long long> words(1024, 0);
  auto* bytes = reinterpret_cast<unsigned char*>(words.data());
  touch::write(bytes, 8192, 100, 1);
  for (std::size_t i = 8; i < 100; ++i) EXPECT_EQ(bytes[i], 0);
  EXPECT_EQ(bytes[100], 1);
  EXPECT_EQ(bytes[8191], 1);
}

TEST(touch, a_block_that_is_as_it_was_left_is_known_by_its_stamp) {
  for (const std::size_t size : sizes) {
    std::vector<unsigned long long> words(size / 8 + 16, 0);
    touch::write(words.data(), size, 0, 42);
    EXPECT_TRUE(touch::read_first(words.data(), size, 42));
    words[0] = 7;
    EXPECT_EQ(touch::read_first(words.data(), size, 42), size < 8);
  }
}

TEST(touch, memory_that_is_not_zero_is_noticed) {
  std::vector<unsigned long long> words(1024, 0);
  EXPECT_TRUE(touch::read_zeroed(words.data(), 8192, 1));
  EXPECT_FALSE(touch::read_zeroed(words.data(), 8192, 1)) << "the stamp is there";
}

}  // namespace
