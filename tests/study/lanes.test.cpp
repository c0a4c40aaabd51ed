// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the threads of lanes, which run in rounds.
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/study/lane_team.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::lane_stop;
using ashlar::detail::lane_team;

TEST(lane_team, each_round_runs_every_lane_once_and_ends_before_the_next) {
  for (const std::uint32_t lanes : {1u, 2u, 5u}) {
    lane_team team(lanes);
    std::vector<int> runs(lanes, 0);
    std::atomic<std::uint32_t> done{0};
    for (int round = 1; round <= 200; ++round) {
      team.run([&](std::uint32_t lane) {
        EXPECT_EQ(++runs[lane], round);
        ++done;
        return lane_stop::round;
      });
      EXPECT_EQ(done.exchange(0), lanes);
    }
  }
}

TEST(lane_team, the_caller_is_lane_0) {
  lane_team team(3);
  std::vector<std::thread::id> ids(3);
  team.run([&](std::uint32_t lane) {
    ids[lane] = std::this_thread::get_id();
    return lane_stop::round;
  });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[2]);
}

/// The remains of an ended thread.
struct last_words {
  std::atomic<int>* said = nullptr;
  ~last_words() {
    if (said != nullptr) ++*said;
  }
};

TEST(lane_team, where_a_thread_ends_another_goes_on_when_it_has) {
  constexpr int rounds = 5, ends = 20;
  std::atomic<int> ended{0};
  {
    lane_team team(3);
    std::vector<int> turns(3, 0);  // no two threads of a lane run at once
    for (int round = 1; round <= rounds; ++round) {
      team.run([&](std::uint32_t lane) {
        if (lane == 0) return lane_stop::round;
        thread_local last_words words;
        words.said = &ended;
        const int turn = ++turns[lane];
        if (lane == 2) return lane_stop::round;
        EXPECT_EQ(ended, turn - round) << "the thread before has not ended";
        return turn % (ends + 1) != 0 ? lane_stop::thread : lane_stop::round;
      });
      EXPECT_EQ(turns[1], round * (ends + 1));
      EXPECT_EQ(turns[2], round);
    }
  }
  EXPECT_EQ(ended, rounds * ends + 2);
}

TEST(lane_team_death, does_not_end_the_thread_that_runs_it) {
  if (!ashlar_test::is_checked) GTEST_SKIP();
  lane_team team(1);
  EXPECT_DEATH(team.run([](std::uint32_t) { return lane_stop::thread; }), "ended the thread that runs a lane_team");
}

TEST(lane_team, may_end_without_ever_running) { lane_team team(4); }

}  // namespace
