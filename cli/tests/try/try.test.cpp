// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar try`, none of which depends on the speed of the machine.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/time.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/rounds/program.hpp"
#include "cli/routes/build_id.hpp"
#include "cli/tests/command.hpp"
#include "cli/try/reason.hpp"
#include "cli/try/sampler.hpp"
#include "cli/try/text.hpp"

namespace {

using nlohmann::json;
using namespace ashlar::cli;

class try_verb : public ashlar_test::command_test {
protected:
  /// Returns: the exit status of `ashlar try` on a made-up trace and the victim.
  int try_victim(const std::string& way, const std::string& options = "") {
    return ashlar("try " + sample(2000) + " --runs 8 --threshold 100 --with " ASHLAR_TRY_PRELOAD " " + options +
                  " -- " ASHLAR_TRY_VICTIM " " + way);
  }
  /// Expects a verdict, or none for want of runs: the victim is short.
  void measure(const std::string& way, const std::string& options = "") {
    const int status = try_victim(way, options);
    EXPECT_TRUE(status == 0 || status == 4) << status << text("out") << text("err");
  }
};

TEST_F(try_verb, prints_predicted_beside_measured_in_100_columns) {
  measure("allocate");
  std::ifstream out(file("out"));
  for (std::string line; std::getline(out, line);) {
    const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
    if (line.find('/') == line.npos) EXPECT_LE(columns, 100) << line;  // paths are not broken
  }
  for (const char* part :
       {"A: " ASHLAR_TRY_VICTIM " allocate\n", "predicted", "B against A (95 %)", "detectable", "cpu", "wall", "peak",
        "8 pairs in random order (--seed ", "A against A: ", "The trace is of another command line"})
    EXPECT_NE(text("out").find(part), std::string::npos) << part << text("out");
  EXPECT_TRUE(std::regex_search(text("out"), std::regex("has\\s+no\\s+build\\s+id: "))) << text("out");
}

TEST_F(try_verb, keeps_the_verification_of_each_malloc_as_json) {
  measure("allocate", "--seed 5 --json -");
  const json j = json::parse(text("out"));
  EXPECT_EQ(j["recorded_program"], "sample program");
  ASSERT_EQ(j["candidates"].size(), 1U);
  const json& c = j["candidates"][0];
  const json& v = c["verification"];
  EXPECT_EQ(v["status"], 0);
  EXPECT_EQ(v["seed"], 5);
  EXPECT_EQ(v["runs"].size(), 8U);
  EXPECT_EQ(v["a"]["library"], "");
  EXPECT_EQ(v["b"]["library"], c["library"]);
  EXPECT_GE(v["a_against_a"]["pairs"], 6);
  for (const char* key : {"cpu_ms", "wall_ms", "peak_rss_bytes"}) {
    EXPECT_GT(v["runs"][0]["b"][key], 0) << key;
    EXPECT_TRUE(v["measures"][key]["detectable"].is_number()) << key;
    EXPECT_EQ(c["predicted_percent"][key].size(), 2U) << key;
  }
  EXPECT_EQ(j["best"].is_null(), v["verdict"] != "better");
}

/// Two verdicts are right together with 95 %, so each with 97.5 %.
TEST_F(try_verb, several_mallocs_share_the_error) {
  const int status = ashlar("try " + sample(500) +
                            " --runs 9 --threshold 100 --with " ASHLAR_TRY_PRELOAD "," ASHLAR_TRY_PRELOAD " --json " +
                            file("j") + " -- " ASHLAR_TRY_VICTIM " echo");
  EXPECT_TRUE(status == 0 || status == 4) << status << text("err");
  EXPECT_NE(text("out").find("B against A (97.5 %)"), std::string::npos) << text("out");
  for (const json& c : json::parse(text("j"))["candidates"])
    EXPECT_EQ(c["verification"]["measures"]["cpu_ms"]["confidence"], 0.975);
}

TEST_F(try_verb, a_program_that_allocates_nothing_runs_as_well) {
  measure("compute", "--json -");
  EXPECT_EQ(json::parse(text("out"))["candidates"][0]["verification"]["output_varies"], false);
}

TEST_F(try_verb, stops_at_its_budget_with_the_pairs_that_would_decide) {
  EXPECT_EQ(ashlar("try " + sample(500) +
                   " --budget 0 --threshold 0.01 --with " ASHLAR_TRY_PRELOAD " -- " ASHLAR_TRY_VICTIM " echo"),
            4)
      << text("out") << text("err");
  for (const char* part :
       {": Inconclusive: ", " after 6 pairs, too few to tell", "No gain is shown.", "6 pairs in random order"})
    EXPECT_NE(text("out").find(part), std::string::npos) << part << text("out");
}

TEST_F(try_verb, an_allocator_that_changes_the_output_is_refused) {
  EXPECT_EQ(try_victim("prints"), 1);
  EXPECT_NE(text("out").find(": B prints something else than A"), std::string::npos) << text("out");
}

TEST_F(try_verb, an_allocator_under_which_the_program_ends_otherwise_is_refused) {
  EXPECT_EQ(try_victim("exits"), 1);
  EXPECT_NE(text("err").find(": B does not end as A does: it ended with status 3: no such luck\n"), std::string::npos)
      << text("err");
}

TEST_F(try_verb, output_that_varies_by_itself_is_not_compared) {
  measure("varies", "--json -");
  EXPECT_FALSE(json::parse(text("out"))["candidates"][0].contains("failure")) << text("out");
}

TEST_F(try_verb, a_status_of_its_own_is_no_failure) {
  measure("fails");
  EXPECT_NE(text("out").find("Both end with status 7, each time."), std::string::npos) << text("out");
}

TEST_F(try_verb, the_program_reads_its_input_from_the_start_each_time_and_prints_nothing_here) {
  std::ofstream(file("in")) << "input that is not shown\n";
  measure("echo", "--input " + file("in"));
  EXPECT_EQ(text("out").find("not shown"), std::string::npos);
}

TEST_F(try_verb, a_trace_of_another_build_or_another_program_is_refused_by_build_id) {
  const std::string own = file("program"), trace = file("t.trace");
  std::filesystem::copy_file(ASHLAR_TRY_VICTIM, own);
  ASSERT_EQ(ashlar("record --quiet -o " + trace + " -- " + own + " allocate"), 0) << text("err");
  const std::string start = "try " + trace + " --runs 8 --threshold 100 --with " ASHLAR_TRY_PRELOAD " -- ";
  const int status = ashlar(start + own + " echo");
  EXPECT_TRUE(status == 0 || status == 4) << status << text("out") << text("err");
  EXPECT_NE(text("out").find("The trace is of another command line"), std::string::npos) << text("out");
  EXPECT_EQ(text("out").find("nothing shows"), std::string::npos) << text("out");
  const auto expect_refusal = [&](const std::string& program) {
    EXPECT_EQ(ashlar(start + program + " allocate"), 1) << text("out");
    EXPECT_EQ(text("err"), "ashlar try: " + trace + " is of another build than " + program + ": of build id " +
                               build_id_of(ASHLAR_TRY_VICTIM) + ", and that file has " + build_id_of(ASHLAR_COMMAND) +
                               "; record it again\n");
  };
  expect_refusal(ASHLAR_COMMAND);
  std::filesystem::copy_file(ASHLAR_COMMAND, own, std::filesystem::copy_options::overwrite_existing);
  expect_refusal(own);
}

TEST_F(try_verb, mistakes) {
  EXPECT_EQ(ashlar("try"), 2);
  EXPECT_EQ(ashlar("try " + sample(10)), 2);
  EXPECT_EQ(text("err"), "ashlar try: no program given; see ashlar try --help\n");
  EXPECT_EQ(ashlar("try " + sample(10) + " --with heap -- true"), 2);
  EXPECT_EQ(text("err"), "ashlar try: heap cannot be preloaded: it is not a library\n");
  EXPECT_EQ(ashlar("try " + sample(10) + " --with nonesuch -- true"), 2);
  EXPECT_NE(text("err").find("; known are mimalloc, "), std::string::npos) << text("err");
  EXPECT_EQ(text("err").find("heap"), std::string::npos) << text("err");
  EXPECT_EQ(ashlar("try " + file("no.trace") + " --with " ASHLAR_TRY_PRELOAD " -- true"), 1);
  EXPECT_EQ(try_victim("allocate", "--input /nonesuch"), 1);
  EXPECT_EQ(ashlar("try " + sample(10) + " --repetitions 6 --with " ASHLAR_TRY_PRELOAD " -- true"), 2);
  EXPECT_EQ(ashlar("try " + sample(10) + " --repetitions 8 --budget 20s --with " ASHLAR_TRY_PRELOAD " -- true"), 2);
  EXPECT_EQ(text("err"),
            "ashlar try: --budget is for --runs auto: 8 pairs take the time that they take; see ashlar try --help\n");
  EXPECT_EQ(ashlar("try " + sample(10) + " --runs 8 --with " ASHLAR_TRY_PRELOAD " -- " ASHLAR_STATIC_VICTIM), 1);
  EXPECT_NE(text("err").find("ashlar try: "), std::string::npos) << text("err");
  EXPECT_EQ(ashlar("try " + sample(10) + " --runs 8 --with " ASHLAR_TRY_PRELOAD " -- /nonesuch/program"), 1);
  EXPECT_NE(text("err").find("ashlar try: /nonesuch/program: No such file or directory\n"), std::string::npos);
  EXPECT_EQ(ashlar("try --help"), 0);
  EXPECT_NE(text("out").find("Exit status"), std::string::npos);
}

TEST_F(try_verb, is_listed) {
  EXPECT_EQ(ashlar("help"), 0);
  EXPECT_NE(text("out").find("\n  try "), std::string::npos);
}

/// A program that takes 100 ms, 20 of them in the kernel, and 50 MiB; under quick it takes `by` times as long, in each
/// of the pairs. Predicted: 9 ms less, 4 of them in the kernel.
trials made_up(double by, std::size_t pairs, double by_itself = 1) {
  constexpr double mebibyte = 1 << 20;
  const auto run = [](double by_user, double system, double faults, double peak) {
    return run_figures{100 * by_user, 100 * by_user - system, system, 100 * by_user, peak, 1 << 20, faults};
  };
  trial t{.predicted = {.name = "quick", .library = "/lib/quick.so"}, .plan = {}};
  t.predicted.saved_least_ms = 4;
  t.predicted.saved_most_ms = 10;
  t.predicted.peak_bytes_more = 5 * mebibyte;
  t.predicted.loading_ms = 1;
  t.predicted.system_saved_ms = 4;
  t.plan.a.command = {"prog"};
  t.plan.b.shown = "LD_PRELOAD=/lib/quick.so prog";
  for (std::size_t i = 0; i < pairs; ++i) {
    const double noise = i % 2 == 0 ? 0.999 : 1.001;
    run_pair& pair = t.runs.pairs.emplace_back();
    pair.a = run(noise, 20, 30000, 50 * mebibyte);
    pair.b = run(by, 10, 10000, 60 * mebibyte);
    pair.again = run(by_itself * (2 - noise), 20, 30000, 50 * mebibyte);
  }
  t.found = conclude(t.runs, t.plan);
  return {.all = {t}};
}

TEST(try_text, predicts_a_share_of_a) {
  const trial t = made_up(0.9, 10).all[0];
  const predicted_change cpu = predicted(t, run_measure::cpu), wall = predicted(t, run_measure::wall);
  EXPECT_NEAR(cpu.least, -9, 0.01);
  EXPECT_NEAR(cpu.most, -9, 0.01);
  EXPECT_NEAR(wall.least, -9, 0.01);
  EXPECT_NEAR(wall.most, -3, 0.01);
  EXPECT_NEAR(predicted(t, run_measure::peak).most, 10, 0.01);
}

TEST(try_text, names_the_gain_the_loss_and_how_to_have_it) {
  const trials gain = made_up(0.9, 10);
  EXPECT_EQ(try_verdicts(gain), std::vector<std::string>{"quick: B is better: 10.0 % less processor time [-10.1, "
                                                         "-9.9]; but peak RSS +20.0 % [+20.0, +20.0]."});
  EXPECT_EQ(try_conclusion(gain), "To use it: LD_PRELOAD=/lib/quick.so prog");
  EXPECT_EQ(exit_status_of(gain), 0);
  EXPECT_EQ(try_conclusion(made_up(1.0, 10)), "None of them is better: change nothing.");
  EXPECT_EQ(exit_status_of(made_up(1.0, 10)), 0);
  EXPECT_EQ(try_conclusion(made_up(0.9, 4)), "No gain is shown.");
  EXPECT_EQ(exit_status_of(made_up(0.9, 4)), 4);
}

TEST(try_text, an_unfit_machine_hides_every_gain) {
  trials unfit = made_up(0.9, 10, 1.2);
  EXPECT_EQ(exit_status_of(unfit), 5);
  EXPECT_EQ(unfit.best(), nullptr);
  EXPECT_TRUE(
      try_verdicts(unfit)[0].starts_with("quick: No verdict, the machine is unfit: A differs from itself, +20."))
      << try_verdicts(unfit)[0];
  EXPECT_TRUE(try_conclusion(unfit).starts_with("No gain is shown.")) << try_conclusion(unfit);
  unfit.all.push_back(made_up(0.8, 10).all[0]);
  EXPECT_EQ(exit_status_of(unfit), 5) << "one malloc is better, but the machine was unfit for another";
}

TEST(try_text, the_best_of_several_is_the_one_to_take) {
  trials both = made_up(0.9, 10);
  both.all.push_back(made_up(0.8, 10).all[0]);
  both.all[1].predicted.name = "quicker";
  EXPECT_EQ(both.best()->predicted.name, "quicker");
  EXPECT_EQ(exit_status_of(both), 0);
  both.all.push_back(made_up(0.9, 4).all[0]);
  EXPECT_EQ(exit_status_of(both), 0) << "the doubt about one does not hide the gain of another";
  both.all[1].failure = "B prints something else than A";
  EXPECT_EQ(both.best()->predicted.name, "quick");
  EXPECT_EQ(exit_status_of(both), 1);
}

TEST(try_text, mallocs_that_all_failed_are_no_reason_to_change_nothing) {
  trials none = made_up(1, 10);
  none.all[0].failure = "does not take over malloc";
  EXPECT_EQ(try_conclusion(none), "None of them could be tried.");
  EXPECT_EQ(exit_status_of(none), 1);
  none.all.push_back(made_up(1, 10).all[0]);
  EXPECT_EQ(try_conclusion(none), "None of them is better: change nothing.");
}

TEST(try_text, less_of_another_measure_is_told) {
  trials all = made_up(1.0, 10);
  all.all[0].plan.decides = run_measure::wall;
  for (run_pair& pair : all.all[0].runs.pairs) pair.b[run_measure::cpu] = 80;
  all.all[0].found = conclude(all.all[0].runs, all.all[0].plan);
  EXPECT_TRUE(try_conclusion(all).starts_with("None of them is better: change nothing. But quick takes -20.0 % ["))
      << try_conclusion(all);
  EXPECT_TRUE(try_conclusion(all).ends_with("] of processor time: --metric cpu decides by it."));
}

TEST(try_text, notes_of_all_experiments_stand_once) {
  trials both = made_up(0.9, 10);
  both.all.push_back(made_up(0.8, 10).all[0]);
  const std::vector<std::string> notes = try_notes(both, {"prog", 1, {}});
  const auto starting = [&](const std::string& with) {
    return std::count_if(notes.begin(), notes.end(), [&](const std::string& n) { return n.starts_with(with); });
  };
  EXPECT_EQ(starting("Not measured: "), 1);
  EXPECT_EQ(starting("quick: For information: "), 2);
  EXPECT_EQ(starting("Predicted: "), 1);
  EXPECT_EQ(starting("The trace is of another command line"), 0);
  const std::string unknown = "t.trace has no build id: nothing shows that prog is the recorded program.";
  EXPECT_EQ(try_notes(both, {"prog", 1, {}, unknown}).back(), unknown);
}

TEST(try_reason, a_miss_without_samples_is_of_unknown_cause) {
  EXPECT_EQ(reason_of_miss(made_up(0.9, 10), made_up(0.9, 10).all[0]), "");
  const trials missed = made_up(0.8, 10);
  EXPECT_TRUE(reason_of_miss(missed, missed.all[0])
                  .starts_with("quick: the measurement is 11 points off the prediction. Their cause is unknown"));
}

/// From 80 ms in user mode to 50.
TEST(try_reason, names_the_parts_of_a_miss_that_were_measured) {
  trials tried = made_up(0.6, 10);
  trial& quick = tried.all[0];
  tried.own_shares = {0.7, 0.75, 0.8};
  quick.own_shares = {0.8};
  const auto parts = parts_of_miss(tried, quick);
  ASSERT_TRUE(parts);
  EXPECT_NEAR(parts->own_code, -20, 0.01);
  EXPECT_NEAR(parts->kernel, -6, 0.01);
  EXPECT_NEAR(parts->calls, -5, 0.01);
  EXPECT_EQ(
      reason_of_miss(tried, quick),
      "quick: the measurement is 31 points off the prediction: -20 in the program's own code, outside libc and malloc "
      "(60.0 ms -> 40.0 ms of user time), which a replay does not run; -6 in the kernel (20.0 ms -> 10.0 ms, page "
      "faults 30.0 k -> 10.0 k), beyond what the replay saves of it; -5 in libc and malloc, and in what the replay "
      "touches for the program.");
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
  const auto are_samples_of = [](int steps) {
    program_runner runner({"/bin/sh", "-c", "i=0; while [ $i -lt $0 ]; do i=$((i+1)); done", std::to_string(steps)},
                          "");
    const code_sampler sampler(10000);
    static_cast<void>(runner.run(""));
    return sampler.samples("").has_value();
  };
  int steps = 100;
  if (!are_samples_of(steps)) GTEST_SKIP() << "the kernel does not permit sampling";
  while (steps < 1'000'000 && are_samples_of(steps)) steps *= 8;
  EXPECT_LT(steps, 1'000'000);
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
