// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a team does each thing once a lane, and one thing after the other.
#include <ashlar/study/lane_team.hpp>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using ashlar::study::lane_team;

TEST(lane_team, each_round_runs_every_lane_once_and_ends_before_the_next) {
  for (const std::uint32_t lanes : {1u, 2u, 5u}) {
    lane_team team(lanes);
    std::vector<int> runs(lanes, 0);
    std::atomic<std::uint32_t> done{0};
    for (int round = 1; round <= 200; ++round) {
      team.run([&](std::uint32_t lane) {
        EXPECT_EQ(++runs[lane], round);
        ++done;
      });
      EXPECT_EQ(done.exchange(0), lanes);
    }
  }
}

TEST(lane_team, the_caller_is_lane_0) {
  lane_team team(3);
  std::vector<std::thread::id> ids(3);
  team.run([&](std::uint32_t lane) { ids[lane] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[2]);
}

TEST(lane_team, may_end_without_ever_running) { lane_team team(4); }

}  // namespace
