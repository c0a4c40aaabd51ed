// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of bench/advise: its rounds, and the baseline of plans.
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "cli/tests/command.hpp"

namespace {

class advise_bench : public ashlar_test::command_test {
protected:
  /// Returns: whether these lines of Python, behind an import of the bench's modules, succeed.
  bool passes(const std::string& lines) {
    const auto bench = std::filesystem::path(__FILE__).parent_path() / "../../../bench";
    std::ofstream(file("t.py"))
        << "import pathlib, subprocess, sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, '" << bench.string()
        << "')\nfrom advise import loop, rounds\n"
        << lines;
    return ashlar_test::run_shell("python3 " + file("t.py") + " > " + file("out") + " 2>&1") == 0;
  }
  void SetUp() override {
    if (ashlar_test::run_shell("python3 -c '' 2>&-") != 0) GTEST_SKIP() << "python3 is not installed";
  }
};

TEST_F(advise_bench, a_side_that_fails_in_a_later_run_is_left_out) {
  const std::string failing =
      "command = ['sh', '-c', '[ -z \"$RUNS\" ] || { echo >> $RUNS; [ $(wc -l < $RUNS) -lt 4 ]; }']\n";
  EXPECT_TRUE(passes(failing + "times, wrong = rounds.play(command, {rounds.PLAIN: {}, 'late': {'RUNS': '" +
                     file("runs") +
                     "'}}, 0, 1)\n"
                     "assert list(times) == [rounds.PLAIN] and len(times[rounds.PLAIN]) == rounds.LEAST_ROUNDS, times\n"
                     "assert wrong == {'late': 'prints or ends otherwise in run 4'}, wrong\n"))
      << text("out");
}

TEST_F(advise_bench, an_empty_plan_starts_the_router) {
  EXPECT_TRUE(
      passes("tools = loop.Tools(pathlib.Path('" ASHLAR_COMMAND "'), None, '')\n"
             "maps = subprocess.run(['cat', '/proc/self/maps'], env=loop.by_router(tools), capture_output=True, "
             "text=True, check=True)\n"
             "assert 'libashlar-route.so' in maps.stdout and not maps.stderr, maps\n"))
      << text("out");
}

}  // namespace
