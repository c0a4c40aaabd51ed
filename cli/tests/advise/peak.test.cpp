// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program holds after its peak: by its plan, and as measured.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/rounds/program.hpp"
#include "cli/tests/command.hpp"

namespace {

using namespace ashlar::cli;

class memory_after_peak : public ashlar_test::command_test {};

#if defined(ASHLAR_ROUTE_VICTIM)
TEST_F(memory_after_peak, is_little_by_a_plan) {
  const std::string program = " -- " ASHLAR_ADVISE_PEAK " ";
  for (const std::string mode : {"stay", "end"}) {
    const std::string trace = file(mode + ".trace"), plan = file(mode + ".plan");
    ASSERT_EQ(ashlar("record -q -o " + trace + program + mode), 0) << text("err");
    ASSERT_EQ(ashlar("advise " + trace + " -o " + plan + " --json " + file("a.json")), 0) << text("err");
    EXPECT_NE(text("out").find("Memory after the peak: of 14."), std::string::npos) << text("out");
    ASSERT_EQ(ashlar("run --option decay=0 --plan " + plan + program + mode), 0) << text("err");
    const double held = std::stod(text("out"));
    EXPECT_LT(held, 10) << mode << text("a.json").substr(0, 2000);
  }
}
#endif

TEST_F(memory_after_peak, of_a_run_is_sampled) {
  program_runner runner({ASHLAR_ADVISE_PEAK, "map"}, "");
  const program_run run = runner.run({});
  EXPECT_GT(run.peak_bytes, 64e6);
  EXPECT_GT(run.after_bytes, 0);
  EXPECT_LT(run.after_bytes, 16e6);
  EXPECT_LT(run.cpu_ms, 150) << "the samples cost the program nothing";
}

TEST_F(memory_after_peak, of_a_short_run_is_the_peak) {
  program_runner runner({"/bin/true"}, "");
  const program_run run = runner.run({});
  EXPECT_EQ(run.after_bytes, run.peak_bytes);
}

}  // namespace
