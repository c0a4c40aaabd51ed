// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar try`, none of which depends on the speed of the machine.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/time.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/rounds/program.hpp"
#include "cli/tests/command.hpp"
#include "cli/try/reason.hpp"
#include "cli/try/sampler.hpp"
#include "cli/try/text.hpp"

namespace {

using nlohmann::json;
using namespace ashlar::cli;

class try_verb : public ashlar_test::replay_command {
protected:
  /// Returns: the exit status of `ashlar try` on a made-up trace and the victim.
  int try_victim(const std::string& way, const std::string& options = "") {
    return ashlar("try " + sample(2000) + " --repetitions 2 --with " ASHLAR_TRY_PRELOAD " " + options +
                  " -- " ASHLAR_TRY_VICTIM " " + way);
  }
};

TEST_F(try_verb, prints_predicted_beside_measured_in_100_columns) {
  ASSERT_EQ(try_victim("allocate"), 0) << text("err");
  std::ifstream out(file("out"));
  for (std::string line; std::getline(out, line);) {
    const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
    if (line.find('/') == line.npos) EXPECT_LE(columns, 100) << line;  // paths are not broken
  }
  for (const char* part : {"2 rounds; with its own malloc ", "own malloc", "predicted", "measured", "processor time",
                           "wall time", "peak RSS", "The trace is of another command line"})
    EXPECT_NE(text("out").find(part), std::string::npos) << part << text("out");
}

TEST_F(try_verb, keeps_every_run_as_json) {
  ASSERT_EQ(try_victim("allocate", "--json -"), 0) << text("err");
  const json j = json::parse(text("out"));
  EXPECT_EQ(j["status"], 0);
  EXPECT_EQ(j["recorded_program"], "sample program");
  EXPECT_EQ(j["repetitions"], 2);
  ASSERT_EQ(j["candidates"].size(), 1U);
  const json& c = j["candidates"][0];
  for (const char* key : {"cpu_ms", "wall_ms", "peak_rss_bytes"}) {
    EXPECT_EQ(j["own_malloc"]["rounds"][key].size(), 2U) << key;
    EXPECT_EQ(c["rounds"][key].size(), 2U) << key;
    EXPECT_GT(c["rounds"][key][0], 0) << key;
    EXPECT_EQ(c["measured"][key]["finding"], "undecided") << key;  // of two rounds
    EXPECT_TRUE(c["measured"][key]["interval"].is_null()) << key;
  }
}

TEST_F(try_verb, a_program_that_allocates_nothing_runs_as_well) {
  ASSERT_EQ(try_victim("compute", "--json -"), 0) << text("err");
  EXPECT_EQ(json::parse(text("out"))["output_varies"], false);
}

TEST_F(try_verb, decides_within_a_budget_or_gives_the_one_needed) {
  ASSERT_EQ(ashlar("try " + sample(500) + " --budget 0.01 --with " ASHLAR_TRY_PRELOAD " -- " ASHLAR_TRY_VICTIM " echo"),
            0)
      << text("err");
  EXPECT_NE(text("out").find("3 rounds; "), std::string::npos) << text("out");
  EXPECT_NE(text("out").find("No gain for the whole program is shown yet: about "), std::string::npos) << text("out");
}

TEST_F(try_verb, an_allocator_that_changes_the_output_is_refused) {
  EXPECT_EQ(try_victim("prints"), 1);
  EXPECT_NE(text("out").find("under it the program prints something else"), std::string::npos) << text("out");
}

TEST_F(try_verb, an_allocator_under_which_the_program_ends_otherwise_is_refused) {
  EXPECT_EQ(try_victim("exits"), 1);
  EXPECT_NE(text("err").find(": under it the program ended with status 3: no such luck\n"), std::string::npos)
      << text("err");
}

TEST_F(try_verb, output_that_varies_by_itself_is_not_compared) {
  const int status = try_victim("varies", "--json -");
  ASSERT_EQ(status, 0) << text("err");
  const json j = json::parse(text("out"));
  EXPECT_FALSE(j["candidates"][0].contains("failure")) << j;
}

TEST_F(try_verb, a_status_of_its_own_is_no_failure) {
  ASSERT_EQ(try_victim("fails"), 0) << text("err");
  EXPECT_NE(text("out").find("The program ends with status 7, each time."), std::string::npos) << text("out");
}

TEST_F(try_verb, the_program_reads_its_input_from_the_start_each_time_and_prints_nothing_here) {
  std::ofstream(file("in")) << "input that is not shown\n";
  ASSERT_EQ(try_victim("echo", "--input " + file("in")), 0) << text("err");
  EXPECT_EQ(text("out").find("not shown"), std::string::npos);
}

TEST_F(try_verb, mistakes) {
  EXPECT_EQ(ashlar("try"), 2);
  EXPECT_EQ(ashlar("try " + sample(10)), 2);
  EXPECT_EQ(text("err"), "ashlar try: no program given; see ashlar try --help\n");
  EXPECT_EQ(ashlar("try " + sample(10) + " --with heap -- true"), 2);
  EXPECT_EQ(text("err"), "ashlar try: heap cannot be preloaded: it is not a library\n");
  EXPECT_EQ(ashlar("try " + sample(10) + " --with nonesuch -- true"), 2);
  EXPECT_EQ(ashlar("try " + file("no.trace") + " --with " ASHLAR_TRY_PRELOAD " -- true"), 1);
  EXPECT_EQ(try_victim("allocate", "--input /nonesuch"), 1);
  EXPECT_EQ(ashlar("try " + sample(10) + " --repetitions 1 --with " ASHLAR_TRY_PRELOAD " -- /nonesuch/program"), 1);
  EXPECT_NE(text("err").find("ashlar try: /nonesuch/program: No such file or directory\n"), std::string::npos);
  EXPECT_EQ(ashlar("try --help"), 0);
  EXPECT_NE(text("out").find("Exit status"), std::string::npos);
}

TEST_F(try_verb, is_listed) {
  EXPECT_EQ(ashlar("help"), 0);
  EXPECT_NE(text("out").find("\n  try "), std::string::npos);
}

/// Two ways to run a program that takes 100 ms and 50 MiB; the other one takes `by` times as long.
trials made_up(double by, std::size_t rounds) {
  constexpr double mebibyte = 1 << 20;
  const auto values = [&](double value) { return std::vector<double>(rounds, value); };
  trials all;
  all.own.rounds = {values(100), values(100), values(50 * mebibyte)};
  trial t;
  t.predicted.name = "quick";
  t.predicted.library = "/lib/quick.so";
  t.predicted.saved_least_ms = 4;
  t.predicted.saved_most_ms = 10;
  t.predicted.peak_bytes_more = 5 * mebibyte;
  t.predicted.loading_ms = 1;
  t.rounds = {values(100 * by), values(100 * by), values(60 * mebibyte)};
  all.candidates.push_back(t);
  all.played = {.rounds = rounds, .seconds = 10, .error = 0.01};
  compare_trials(all, all.played.error);
  return all;
}

TEST(try_text, predicts_a_share_of_the_unrecorded_run) {
  const trials all = made_up(0.9, 10);
  const predicted_change cpu = predicted(all, all.candidates[0], program_measure::cpu);
  EXPECT_NEAR(cpu.least, -9, 1e-9);
  EXPECT_NEAR(cpu.most, -9, 1e-9);
  const predicted_change wall = predicted(all, all.candidates[0], program_measure::wall);
  EXPECT_NEAR(wall.least, -9, 1e-9);
  EXPECT_NEAR(wall.most, -3, 1e-9);
  EXPECT_NEAR(predicted(all, all.candidates[0], program_measure::peak).most, 10, 1e-9);
}

TEST(try_text, names_the_gain_the_loss_and_how_to_have_it) {
  const trials all = made_up(0.9, 10);
  EXPECT_EQ(
      try_verdict(all, "prog x"),
      "quick: 10 % less processor time (10 to 10), 10 % less wall time (10 to 10); but peak RSS 50.0 -> 60.0 MiB. "
      "To use it: LD_PRELOAD=/lib/quick.so prog x");
  trials own = made_up(0.9, 10);
  own.candidates[0].predicted.command = "ashlar run --level checked";
  EXPECT_TRUE(try_verdict(own, "prog x").ends_with(" To use it: ashlar run --level checked -- prog x"));
  EXPECT_TRUE(try_verdict(made_up(1.0, 10), "prog").ends_with("change nothing."));
  EXPECT_TRUE(try_verdict(made_up(0.9, 4), "prog").starts_with("No gain for the whole program is shown yet: about 8 "));
}

TEST(try_text, explains_a_missed_prediction) {
  const auto notes = [](double by) { return try_notes(made_up(by, 10), {"prog", 1, {}}, "prog"); };
  EXPECT_EQ(notes(0.9).size(), 1U);
  ASSERT_EQ(notes(0.8).size(), 2U);
  EXPECT_TRUE(
      notes(0.8)[1].starts_with("quick: the measurement is 11 points off the prediction. Their cause is unknown"))
      << notes(0.8)[1];
}

/// Of 100 ms, 80 of them in user mode, to 60 ms, 50 of them in user mode. Predicted: 9 ms less, 4 of them in the
/// kernel.
TEST(try_reason, names_the_parts_of_a_miss_that_were_measured) {
  trials all = made_up(0.6, 10);
  trial& quick = all.candidates[0];
  all.own.system_ms = {20};
  all.own.faults = {30000};
  all.own.own_shares = {0.7, 0.75, 0.8};
  quick.system_ms = {10};
  quick.faults = {10000};
  quick.own_shares = {0.8};
  quick.predicted.system_saved_ms = 4;
  const auto parts = parts_of_miss(all, quick);
  ASSERT_TRUE(parts);
  EXPECT_NEAR(parts->own_code, -20, 1e-9);
  EXPECT_NEAR(parts->kernel, -6, 1e-9);
  EXPECT_NEAR(parts->calls, -5, 1e-9);
  EXPECT_EQ(
      reason_of_miss(all, quick),
      "quick: the measurement is 31 points off the prediction: -20 in the program's own code, outside libc and malloc "
      "(60.0 ms -> 40.0 ms of user time), which a replay does not run; -6 in the kernel (20.0 ms -> 10.0 ms, 30.0 "
      "k -> 10.0 k page faults), beyond what the replay saves of it; -5 in libc and malloc, and in what the replay "
      "touches for the program.");
  EXPECT_EQ(reason_of_miss(made_up(0.9, 10), made_up(0.9, 10).candidates[0]), "");
}

TEST(try_sampler, tells_a_programs_own_code_from_its_calls) {
  const auto own_share = [](const char* way) {
    program_runner runner({ASHLAR_TRY_VICTIM, way}, "");
    const code_sampler sampler(20000);
    static_cast<void>(runner.run(""));
    const auto found = sampler.samples("");
    return found ? found->own_share() : -1;
  };
  const double compute = own_share("compute"), allocate = own_share("allocate");
  if (compute < 0 || allocate < 0) GTEST_SKIP() << "the kernel does not permit sampling";
  EXPECT_GT(compute, allocate);
  EXPECT_LT(allocate, 0.9);
}

/// A part of a run's samples would be mistaken for all of them.
TEST(try_sampler, has_none_of_a_run_whose_samples_do_not_fit) {
  program_runner runner({"/bin/sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"}, "");
  const code_sampler sampler(10000);
  static_cast<void>(runner.run(""));
  EXPECT_FALSE(sampler.samples(""));
}

/// A signal during the wait for the child's exec must not end the wait.
TEST(try_program, a_signal_does_not_hide_that_a_program_cannot_be_started) {
  struct sigaction handler{};
  struct sigaction before{};
  handler.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGALRM, &handler, &before), 0);
  const itimerval often{{0, 500}, {0, 500}}, never{};
  for (int i = 0; i < 50; ++i) {
    program_runner runner({"/nonesuch/program"}, "");
    ::setitimer(ITIMER_REAL, &often, nullptr);
    EXPECT_THROW(static_cast<void>(runner.run("")), std::runtime_error);
    ::setitimer(ITIMER_REAL, &never, nullptr);
  }
  ::sigaction(SIGALRM, &before, nullptr);
}

TEST(try_prediction, ranks_what_a_replay_saves) {
  const auto row = [](const char* name, const char* library, double saved, double peak) {
    return json{{"name", name},
                {"library", library},
                {"peak_rss_bytes", {{"median", peak}}},
                {"system_ms", {{"median", peak / 100}}},
                {"saved_ms", {{"least", saved}, {"most", saved}}}};
  };
  json glibc = row("glibc", "", 0, 1000);
  glibc.erase("saved_ms");
  json b = row("b", "/b.so", 5, 1200);
  b["command"] = "ashlar run";
  const json replayed = {
      {"program", "p"},
      {"counts", {{"threads", 1}}},
      {"allocators",
       {glibc, row("a", "/a.so", 1, 900), b, json{{"name", "c"}, {"library", "/c.so"}, {"failure", "broken"}}}}};
  const trace_predictions found = read_predictions(replayed.dump());
  ASSERT_EQ(found.all.size(), 3U);
  EXPECT_EQ(found.all[0].name, "b");
  EXPECT_EQ(found.all[0].command, "ashlar run");
  EXPECT_EQ(found.all[1].command, "");
  EXPECT_EQ(found.all[0].peak_bytes_more, 200);
  EXPECT_EQ(found.all[1].peak_bytes_more, -100);
  EXPECT_EQ(found.all[1].system_saved_ms, 1);
  EXPECT_EQ(found.all[2].failure, "broken");
}

}  // namespace
