// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar advise --measure`. The planted gain is of several times, and rounds are counted, so that
// no test depends on the machine.
#include <set>

#include "cli/routes/plan.hpp"
#include "cli/support/elf_file.hpp"
#include "cli/tests/command.hpp"

namespace {

using nlohmann::json;
using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::starts, ashlar_test::matches;

class advise_measure : public ashlar_test::command_test {
protected:
  [[nodiscard]] std::string page() const {
    return std::regex_replace(text("out"), std::regex("\\s+"), " ");  // without its line breaks
  }
  [[nodiscard]] testing::AssertionResult printed(const std::string& part) const { return has(page(), part); }
  void expect_refusal(const std::string& arguments, int status, const std::string& message) {
    EXPECT_TRUE(failed(ashlar("advise " + arguments), status, "ashlar advise: " + message + "\n")) << arguments;
    EXPECT_EQ(text("out"), "") << "nothing is advised";
  }
};

/// Returns: whether the line has variables alone in front of the program: no other one takes time to start it.
bool starts_alone(const std::string& line) {
  return std::regex_match(line, std::regex("(\\w+=\\S+ )+" ASHLAR_SLOW_VICTIM));
}

double ratio_of(const json& remedy) { return remedy["measures"]["cpu_ms"]["ratio"]; }

/// Any malloc in place of the program's takes a fraction of its time; huge pages alone leave it in place.
TEST_F(advise_measure, a_planted_gain_is_found_first_and_the_rest_is_sorted) {
  const std::string trace = trace_of(ASHLAR_SLOW_VICTIM);
  const int status =
      ashlar("advise " + trace + " --measure run --rounds 12 --seed 5 -o " + file("p") + " --json " + file("j"));
  const json j = json::parse(text("j"));
  const json& m = j["measurement"];
  const route_plan plan = read_plan(file("p"));
  ASSERT_EQ(status, plan.groups.empty() ? 3 : 0) << text("out") << text("err");
  EXPECT_EQ(plan.groups.empty(), j["no_plan"].is_string());
  EXPECT_EQ(plan.comment, j["no_plan"].is_string() ? j["no_plan"].get<std::string>() : "");
  EXPECT_TRUE(printed(plan.groups.empty() ? "Plan: empty, in " + file("p") + ": " + plan.comment : "Plan: "));
  EXPECT_EQ(m["decision"], "use the winner") << page();
  EXPECT_TRUE(starts(page(), m["sentence"].get<std::string>()));
  EXPECT_TRUE(printed("To use it: "));
  EXPECT_EQ(m["screen"]["rounds"], 12);
  EXPECT_EQ(m["confirmation"]["rounds"], 12);
  double last = 0;
  std::set<std::string> names;
  for (const json& remedy : m["remedies"]) {
    ASSERT_FALSE(remedy.contains("failure")) << remedy;
    EXPECT_GE(ratio_of(remedy), last) << "sorted by gain";
    last = ratio_of(remedy);
    names.insert(remedy["name"]);
    if (remedy["name"] == "huge pages, glibc") EXPECT_GT(ratio_of(remedy), 0.6) << "its malloc is as slow";
    if (remedy["kind"] == "preload") EXPECT_LT(ratio_of(remedy), 0.6) << remedy["name"];
    if (remedy["kind"] == "router") EXPECT_EQ(remedy["use"], nullptr) << "it is a baseline";
    else if (remedy["kind"] != "routes") EXPECT_TRUE(starts_alone(remedy["use"])) << remedy;
  }
  EXPECT_LT(ratio_of(m["remedies"][0]), 0.6);
  EXPECT_EQ(names.count("huge pages, libashlar.so"), names.count("preload libashlar.so")) << page();
  EXPECT_EQ(names.count("populated pages, libashlar.so"), names.count("preload libashlar.so")) << page();
  EXPECT_EQ(m["remedies"].back()["name"], "huge pages, glibc") << page();
#if defined(ASHLAR_ROUTE_VICTIM)
  ASSERT_EQ(m["groups"].size(), 2U) << page();
  EXPECT_TRUE(m["plan_over_best"].is_object());
  if (names.contains("preload libashlar.so"))
    EXPECT_GT(m["whole_plan_over_heap"]["ratio"], 0.6) << "what its heap gains is not the gain of routes";
  EXPECT_EQ(m["empty_plan"], "router, empty plan");
  EXPECT_GT(m["whole_plan_over_empty_plan"]["ratio"], 0.6);
  EXPECT_TRUE(names.contains("router, empty plan")) << "in the same rounds";
  EXPECT_TRUE(printed("Route by "));
  EXPECT_TRUE(printed("MEASURED: ")) << "at the sites";
  EXPECT_EQ(j["sites"][0]["gain"]["level"], "measured");
#endif
}

TEST_F(advise_measure, the_program_after_the_dashes_gets_its_standard_input) {
  std::ofstream(file("in")) << "four";
  const std::string trace = trace_of(ASHLAR_SLOW_VICTIM);
  ASSERT_NE(ashlar("advise " + trace + " --measure run --rounds 2 --input " + file("in") + " --json " + file("j") +
                   " -- " ASHLAR_SLOW_VICTIM " input"),
            1)
      << text("err");
  const json m = json::parse(text("j"))["measurement"];
  EXPECT_EQ(m["command"], json({ASHLAR_SLOW_VICTIM, "input"}));
  EXPECT_EQ(m["input"], file("in"));
}

TEST_F(advise_measure, the_recorded_command_runs_in_its_directory) {
  const std::string away = file("away");
  std::filesystem::create_directory(away);
  std::filesystem::copy_file(ASHLAR_SLOW_VICTIM, away + "/prog");
  ASSERT_EQ(
      ashlar_test::run_shell("cd " + away + " && " ASHLAR_COMMAND " record -q -o " + file("t") + " -- ./prog > prints"),
      0);
  std::ofstream(file("in")) << "four";
  EXPECT_NE(ashlar_test::run_shell("cd " + file("") +
                                   " && " ASHLAR_COMMAND " advise t --measure run --rounds 2 --input in > " +
                                   file("out") + " 2> " + file("err")),
            1)
      << text("err");
}

TEST_F(advise_measure, too_few_rounds_are_undecided_with_the_number_that_would_decide) {
  const std::string trace = trace_of(ASHLAR_SLOW_VICTIM);
  EXPECT_EQ(ashlar("advise " + trace + " --measure run --rounds 2 --json " + file("j") + " --html " + file("h")), 4)
      << text("out");
  EXPECT_TRUE(matches(page(), "^Undecided: 2 rounds of runs; about \\d+ rounds \\(--rounds \\d+\\) "
                              "would decide\\."));
  const json measured = json::parse(text("j"))["measurement"];
  EXPECT_GE(measured["rounds_wanted"], 7);
  const std::string html = text("h");
  EXPECT_TRUE(has(html, "\"headline\":" + measured["sentence"].dump())) << "the page begins with the verdict";
  for (const char* part : {"\"effects\":[]", "\"measured\":\""}) EXPECT_TRUE(has(html, part)) << part;
}

TEST_F(advise_measure, a_budget_bounds_the_rounds_and_is_named_in_what_would_decide) {
  const std::string trace = trace_of("sh -c true");
  EXPECT_EQ(ashlar("advise " + trace + " --measure run --budget 5s --json " + file("j") + " -- sh -c 'sleep 0.25'"), 4)
      << text("out") << text("err");
  EXPECT_TRUE(printed("in the budget of 5 s; about ")) << page();
  const json m = json::parse(text("j"))["measurement"];
  EXPECT_EQ(m["budget_seconds"], 5);
  EXPECT_EQ(m["confirmation"]["rounds"], 0) << "all of it goes to the screen";
  EXPECT_LT(m["screen"]["rounds"], m["least_rounds"]);
}

TEST_F(advise_measure, a_budget_below_the_first_run_of_each_remedy_is_refused_with_one_that_would_do) {
  const std::string trace = trace_of("sh -c true");
  EXPECT_EQ(ashlar("advise " + trace + " --measure run --budget 4s -- sh -c 'sleep 1'"), 1) << text("out");
  EXPECT_TRUE(
      matches(text("err"),
              "^ashlar advise: a run takes \\d\\.\\d s, and the first run of each of \\d+ remedies takes more than the "
              "budget of 4 s: a verdict needs --budget \\d+s at least; nothing was measured\n$"));
  EXPECT_EQ(text("out"), "");
}

TEST_F(advise_measure, a_first_run_beyond_the_budget_is_killed) {
  expect_refusal(trace_of("sh -c true") + " --measure run --budget 1s -- sh -c 'sleep 1000; true'", 1,
                 "one run of sh takes more than the budget of 1 s, and a verdict needs some hundred: give a larger "
                 "--budget or a smaller input; nothing was measured");
}

TEST_F(advise_measure, a_run_of_far_more_time_than_the_first_is_killed) {
  const std::string trace = trace_of("sh -c true");
  const std::string under_a_remedy = " -- sh -c 'case $ASHLAR$LD_PRELOAD in /*libashlar.so*) exec sleep 1000;; esac'";
  EXPECT_NE(ashlar("advise " + trace + " --measure run --rounds 2" + under_a_remedy), 1) << text("err");
  EXPECT_TRUE(printed("preload libashlar.so not measured: the program takes more than ten times as long"));
  const std::string script = "sh -c 'test -e " + file("x") + " && exec sleep 1000; touch " + file("x") + "'";
  EXPECT_EQ(ashlar("advise " + trace + " --measure run -- " + script), 1) << text("out");
  EXPECT_TRUE(matches(text("err"),
                      "^ashlar advise: sh does not take the same time each time: \\S+ s at first, now more "
                      "than \\S+ s\n$"));
}

TEST_F(advise_measure, a_command_that_is_ended_leaves_no_program_behind) {
  expect_that_an_end_leaves_no_program_behind("advise " + trace_of("sh -c true") + " --measure run");
}

TEST_F(advise_measure, what_a_program_leaves_behind_is_killed_with_a_note) {
  const std::string trace = trace_of("sh -c true"), pid = file("pid");
  std::ofstream(file("leaves")) << "rm -f " + pid + "\nsh -c 'echo $$ > " + pid + "; exec sleep 1000' &\nuntil [ -s " +
                                       pid + " ]; do sleep 0.02; done\n";
  EXPECT_NE(ashlar("advise " + trace + " --measure run --rounds 2 -- sh " + file("leaves")), 1) << text("err");
  EXPECT_TRUE(printed("The program leaves processes behind: they are killed after each run"));
  EXPECT_FALSE(std::filesystem::exists("/proc/" + std::to_string(std::stol(text("pid")))));
}

TEST_F(advise_measure, an_output_that_cannot_be_opened_is_refused_before_the_program_runs) {
  const std::string trace = trace_of("sh -c true");
  for (const char* option : {"--html ", "--json ", "-o "}) {
    expect_refusal(trace + " --measure run " + option + file("nodir/x") + " -- sh -c 'echo > " + file("ran") + "'", 1,
                   file("nodir/x") + ": No such file or directory");
    EXPECT_FALSE(std::filesystem::exists(file("ran"))) << option;
  }
  EXPECT_EQ(ashlar("advise " + trace + " --measure run --rounds 2 --html /dev/full -o " + file("p")), 1);
  EXPECT_TRUE(said("err", "ashlar advise: /dev/full: No space left on device\n"));
  EXPECT_NE(text("p"), "") << "the plan is written all the same";
  EXPECT_NE(text("out"), "") << "and the advice printed";
}

TEST(budget_seconds, are_seconds_or_minutes) {
  EXPECT_EQ(budget_seconds("60"), 60);
  EXPECT_EQ(budget_seconds("1.5s"), 1.5);
  EXPECT_EQ(budget_seconds("2m"), 120);
  EXPECT_EQ(budget_seconds("0"), 0);
  for (const char* wrong : {"", "s", "1h", "2 m", "-3s", "1e9", "2mm", "nan"})
    EXPECT_LT(budget_seconds(wrong), 0) << wrong;
}

TEST_F(advise_measure, a_program_that_dies_or_varies_is_refused) {
  expect_refusal(trace_of(ASHLAR_VERIFY_VICTIM " 2 one") + " --measure run -- " ASHLAR_VERIFY_VICTIM " 2 one -1", 1,
                 ASHLAR_VERIFY_VICTIM " died of signal 6");
  expect_refusal(trace_of(ASHLAR_VERIFY_VICTIM " 2 time") + " --measure run", 1,
                 ASHLAR_VERIFY_VICTIM
                 " does not print the same each time, so that nothing shows whether a remedy changes "
                 "its work; nothing was measured ('ashlar verify' compares such a program)");
  const std::string script = "sh -c 'test -e " + file("x") + " && exit 3; touch " + file("x") + "'";
  const std::string trace = trace_of("sh -c true");
  EXPECT_TRUE(failed(ashlar("advise " + trace + " --measure run -- " + script), 1,
                     "ashlar advise: sh does not end the same way each time: it ended with status 3\n"));
}

TEST_F(advise_measure, a_remedy_under_which_the_program_does_something_else_is_not_measured) {
  const std::string trace = trace_of(ASHLAR_VERIFY_VICTIM " prints");
  static_cast<void>(ashlar("advise " + trace + " --measure run --rounds 2"));
  EXPECT_TRUE(printed("preload libashlar.so not measured: the program prints something else")) << text("err");
  static_cast<void>(ashlar("advise " + trace + " --measure run --rounds 2 -- " ASHLAR_VERIFY_VICTIM " exits"));
  EXPECT_TRUE(printed("not measured: the program ended with status 3: no such luck")) << text("err");
}

#if defined(ASHLAR_ROUTE_VICTIM)
TEST_F(advise_measure, a_program_that_fails_by_the_plan_gives_that_as_the_reason_and_a_status_of_1) {
  const std::string trace = trace_of(ASHLAR_SLOW_VICTIM " dies");
  EXPECT_EQ(ashlar("advise " + trace + " --measure run --rounds 2 -o " + file("p") + " --json " + file("j")), 1);
  const std::string reason = "routing fails: the program ended with status 9";
  EXPECT_EQ(text("err"), "ashlar advise: " + file("p") + ": " + reason + ": the plan is empty\n");
  EXPECT_EQ(json::parse(text("j"))["no_plan"], reason);
  EXPECT_TRUE(read_plan(file("p")).groups.empty());
  EXPECT_TRUE(printed("The program fails under the plan: no group of it is left."));
  EXPECT_FALSE(printed("does not gain"));
}
#endif

TEST_F(advise_measure, a_plan_that_was_empty_before_has_the_reason_of_the_trace) {
  const std::string trace = trace_of("sh -c true");
  EXPECT_NE(ashlar("advise " + trace + " --measure run --rounds 2 -o " + file("p")), 1);
  EXPECT_EQ(text("err"), "ashlar advise: " + file("p") +
                             ": no long-lived objects are worth memory of their own: the plan is empty\n");
  ASSERT_EQ(ashlar("advise " + trace_of(ASHLAR_VICTIM_WITHOUT_ID) + " --measure none -o " + file("p") + " --json " +
                   file("j")),
            0);
  EXPECT_TRUE(matches(json::parse(text("j"))["no_plan"],
                      "^none of the 2 sites worth memory of their own can be routed: "
                      ".* is not in the plan: its module has no build id$"));
}

TEST_F(advise_measure, is_done_unasked_where_the_command_can_be_repeated) {
  const std::string trace = trace_of(ASHLAR_SLOW_VICTIM);
  EXPECT_EQ(ashlar("advise " + trace + " --budget 4s --json " + file("j")), 0) << text("err");
  EXPECT_TRUE(said(
      "err", " again and again for at most 4 s, with all its side effects, to measure the remedies; '--measure none' "
             "does not\n"));
  const json j = json::parse(text("j"));
  EXPECT_EQ(j["not_measured"], nullptr) << j["not_measured"];
  ASSERT_TRUE(j["measurement"].is_object());
  EXPECT_EQ(j["measurement"]["command"], json({ASHLAR_SLOW_VICTIM}));
  EXPECT_EQ(ashlar("advise " + trace + " --measure none --json " + file("j")), 0);
  EXPECT_EQ(text("err"), "");
  EXPECT_EQ(json::parse(text("j"))["measurement"], nullptr);
}

constexpr const char* grow = "i=0; while [ $i -lt 900 ]; do x=$x$i; i=$((i+1)); done";  // some thousand events

TEST_F(advise_measure, runs_unasked_where_the_program_was_with_its_input_and_leaves_no_files) {
  const std::string trace = file("t.trace"), got = file("place/got"), temporary = file("tmp");
  std::filesystem::create_directory(file("place"));
  std::filesystem::create_directory(temporary);
  std::ofstream(file("in")) << "four\n";
  ::setenv("TMPDIR", temporary.c_str(), 1);
  EXPECT_EQ(ashlar_test::run_shell("cd " + file("place") + "; " ASHLAR_COMMAND " record -q -o " + trace +
                                   " -- sh -c 'read x; echo $x > got; " + grow + "' < " + file("in")),
            0);
  std::filesystem::remove(got);
  EXPECT_EQ(ashlar("advise " + trace + " --budget 4s --json " + file("j")), 0) << text("err");
  ::unsetenv("TMPDIR");
  const json j = json::parse(text("j"));
  ASSERT_TRUE(j["measurement"].is_object()) << j["not_measured"];
  EXPECT_EQ(j["measurement"]["input"], file("in"));
  EXPECT_EQ(text("place/got"), "four\n");
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

TEST_F(advise_measure, runs_a_script_unasked_by_its_interpreter) {
  const std::string script = file("script");
  for (const auto& [first_line, command] : {std::pair{"/bin/sh", json{"/bin/sh", script}},
                                            std::pair{"/usr/bin/env -S X=1 sh -f", json{"sh", "-f", script}}}) {
    std::ofstream(script) << "#!" << first_line << "\n" << grow << "\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    const std::string trace = trace_of(script);
    EXPECT_EQ(ashlar("advise " + trace + " --budget 4s --json " + file("j")), 0) << text("err");
    const json j = json::parse(text("j"));
    ASSERT_TRUE(j["measurement"].is_object()) << j["not_measured"];
    EXPECT_EQ(j["measurement"]["command"], command);
  }
}

/// A run that takes longer now.
TEST_F(advise_measure, kills_no_program_amid_its_work_unasked) {
  const std::string trace = file("t.trace");
  ASSERT_EQ(ashlar_test::run_shell("</dev/null " ASHLAR_COMMAND " record -q -o " + trace + " -- sh -c '[ -e " +
                                   file("once") + " ] && sleep 3; : > " + file("once") + "; " + grow + "; : > " +
                                   file("done") + "'"),
            0);
  std::filesystem::remove(file("done"));
  EXPECT_EQ(ashlar("advise " + trace + " --budget 5s"), 0) << text("err");
  EXPECT_TRUE(printed("Not measured: run again, it takes 3."));
  EXPECT_TRUE(std::filesystem::exists(file("done")));
}

TEST_F(advise_measure, of_a_child_is_run_only_if_it_is_asked_for_and_its_command_is_told) {
  const std::string trace = trace_of("sh -c '" ASHLAR_SLOW_VICTIM "; true'");
  EXPECT_EQ(ashlar("advise " + trace), 0) << text("err");
  EXPECT_TRUE(printed(" does not tell how its command was started: "));
  EXPECT_NE(ashlar("advise " + trace + " --measure run --rounds 2"), 1) << text("err");
  EXPECT_TRUE(said("err", "the traced process's command, which 'ashlar record' was not given\n"));
}

/// A remedy of placement is not proposed then.
TEST_F(advise_measure, is_not_done_unasked_of_a_command_that_cannot_be_repeated) {
  const std::string once = file("once"), trace = file("t.trace"), in = file("in"), place = file("place"),
                    start = ASHLAR_COMMAND " record -q --stacks 16 -o " + trace + " -- ", record = start + "sh -c ",
                    replaced = "the recorded command started another program in its place, or is too long";
  struct row {
    std::string shell, reason;
  };
  for (const row& r : std::vector<row>{
           {"</dev/null " + record + "'exit 3'", "it ended with status 3 when it was recorded"},
           {"echo | " + record + "true", "its standard input was a pipe or a device, which is not there again"},
           {": > " + in + "; " + record + "true <" + in + "; rm " + in, "its standard input, " + in + ", is gone"},
           {"echo ab > " + in + "; (head -c1 >/dev/null; " + record + "true) <" + in,
            "its standard input began in the middle of " + in},
           {"mkdir " + place + "; cd " + place + "; </dev/null " + record + "true; rmdir " + place,
            "the directory of the recorded run, " + place + ", is gone"},
           {"</dev/null " + start + "sleep 1.3", "more than a quarter of the 5 s, and a measurement is some hundred "},
           {"</dev/null " + start + "env DRY=1 " ASHLAR_SLOW_VICTIM, replaced},
           {"</dev/null " + record + "'cd / && exec " ASHLAR_SLOW_VICTIM "'", replaced},
           {"</dev/null " + record + "true " + std::string(9000, 'x'), replaced},
           {"</dev/null ANOTHER=1 " + record + "true", "the environment is another one than when it was recorded"},
           {"</dev/null " + record + "'[ -e " + once + " ] && exit; : > " + once + "; " + grow + "'",
            "run again, it does other work: "},
       }) {
    static_cast<void>(ashlar_test::run_shell(r.shell));
    ASSERT_EQ(ashlar("advise " + trace + " --budget 5s --json " + file("j")), 0) << text("err");
    const json j = json::parse(text("j"));
    ASSERT_TRUE(j["not_measured"].is_string()) << r.reason;
    EXPECT_TRUE(has(j["not_measured"], r.reason));
    EXPECT_TRUE(printed("Not measured: "));
    EXPECT_EQ(j["measurement"], nullptr);
  }
  EXPECT_EQ(ashlar("advise " + sample(100)), 0);
  EXPECT_TRUE(printed("Not measured: " + file("sample.trace") + " does not tell how its command was started: "));
}

TEST_F(advise_measure, another_build_or_another_program_is_refused_by_build_id) {
  const std::string own = file("victim");
  std::filesystem::copy_file(ASHLAR_SLOW_VICTIM, own);
  const std::string trace = trace_of(own);
  std::filesystem::copy_file(ASHLAR_COMMAND, own, std::filesystem::copy_options::overwrite_existing);
  expect_refusal(trace + " --measure run", 1,
                 trace + " is of another build than " + own + ": of build id " + build_id_of(ASHLAR_SLOW_VICTIM) +
                     ", and that file has " + build_id_of(ASHLAR_COMMAND) + "; record it again");
  EXPECT_EQ(ashlar("advise " + trace), 0) << "without measuring it is advised on";
  EXPECT_TRUE(printed("Not measured: " + trace + " is of another build than "));
}

TEST_F(advise_measure, a_program_that_cannot_be_found_or_loaded_into_is_refused) {
  const std::string trace = trace_of(ASHLAR_SLOW_VICTIM);
  EXPECT_TRUE(failed(ashlar("advise " + trace + " --measure run -- /nonesuch/program"), 1,
                     "ashlar advise: /nonesuch/program: no such file; nothing was measured\n"));
}

/// Two questions are answered together with 95 %, so each with 97.5 %.
TEST_F(advise_measure, mallocs_alone_are_measured_by_the_measure_that_is_asked_for) {
  const std::string start = "advise " + sample(500) + " --measure run --only mallocs --rounds 9 --threshold 100% ";
  const std::string two = "--with " ASHLAR_TRY_PRELOAD "," ASHLAR_TRY_PRELOAD;
  const int status = ashlar(start + two + " --metric wall --json " + file("j") + " -- " ASHLAR_VERIFY_VICTIM " fails");
  EXPECT_TRUE(status == 0 || status == 4) << status << text("err");
  const json m = json::parse(text("j"))["measurement"];
  EXPECT_EQ(m["metric"], "wall_ms");
  ASSERT_EQ(m["remedies"].size(), 2U) << "no page policy, no plan";
  for (const json& remedy : m["remedies"]) EXPECT_EQ(remedy["measures"]["wall_ms"]["confidence"], 0.975);
  EXPECT_EQ(m["screen"]["rounds"], 9);
  EXPECT_TRUE(printed("Wall time; the intervals")) << page();
  EXPECT_TRUE(printed("The program ends with status 7, each time."));
  expect_refusal(sample(10) + " --measure run --with heap -- true", 2, "heap cannot be preloaded: it is not a library");
  expect_refusal(sample(10) + " --measure run --only pages -- true", 2,
                 "--only: 'pages' is not mallocs; see ashlar advise --help");
  for (const char* const option :
       {"--only mallocs", "--with mimalloc", "--metric wall", "--threshold 1%", "--memory-price 5"})
    EXPECT_EQ(ashlar("advise " + sample(10) + " " + option), 2) << option << " without --measure run";
}

TEST_F(advise_measure, try_is_a_spelling_of_mallocs_alone_that_no_list_has) {
  const int status =
      ashlar("try " + sample(500) + " --best 2 --repetitions=8 --threshold 100 --with " ASHLAR_TRY_PRELOAD " --json " +
             file("j") + " -- " ASHLAR_VERIFY_VICTIM " allocate --runs 9");
  EXPECT_TRUE(status == 0 || status == 4) << status << text("err");
  const json m = json::parse(text("j"))["measurement"];
  EXPECT_EQ(m["remedies"].size(), 1U);
  EXPECT_EQ(m["screen"]["rounds"], 8);
  EXPECT_EQ(m["command"].back(), "9") << "words of the program stay";
  EXPECT_EQ(ashlar("help"), 0);
  EXPECT_FALSE(has(text("out"), "\n  try "));
}

TEST_F(advise_measure, a_replay_predicts_for_each_malloc) {
  const std::string trace = trace_of(ASHLAR_SLOW_VICTIM);
  const int status = ashlar("advise " + trace + " --measure replay --budget 2 --json " + file("j"));
  ASSERT_EQ(status, page().starts_with("Undecided: ") ? 4 : 0) << text("err");
  EXPECT_TRUE(matches(page(), "^(Preload \\S+: PREDICTED |Change nothing: |Undecided: )"));
  EXPECT_TRUE(printed("PREDICTED by a replay of the trace, "));
  EXPECT_TRUE(printed(" libashlar.so: "));
  EXPECT_TRUE(printed("By call site: "));
  const json m = json::parse(text("j"))["measurement"];
  EXPECT_EQ(m["level"], "predicted");
  EXPECT_TRUE(m["allocators"].is_array());
  EXPECT_EQ(ashlar("advise " + sample(0) + " --measure replay"), 0) << text("err");
  EXPECT_TRUE(printed("there is nothing to advise"));
}

TEST_F(advise_measure, a_command_without_a_build_id_is_run_only_if_it_is_given) {
  const std::string trace = trace_of(ASHLAR_VICTIM_WITHOUT_ID);
  expect_refusal(trace + " --measure run", 2,
                 trace + " records no build id of its program, so its command is not run unless it is given after --");
  EXPECT_NE(ashlar("advise " + trace + " --measure run --rounds 2 -- " ASHLAR_VICTIM_WITHOUT_ID), 1) << text("err");
  EXPECT_TRUE(
      printed(trace + " has no build id: nothing shows that " ASHLAR_VICTIM_WITHOUT_ID " is the recorded program."));
}

TEST_F(advise_measure, words_of_the_command_stay_as_they_are) {
  const std::string trace = trace_of("sh -c true");
  EXPECT_NE(ashlar("advise " + trace + " --measure run --rounds 2 -- sh -c 'printf %s \"$0\" > " + file("got") +
                   "' 'a\xff\xc3z'"),
            1)
      << text("err");
  EXPECT_EQ(text("got"), "a\xff\xc3z");
}

TEST_F(advise_measure, mistakes) {
  const std::string trace = sample(100);
  const std::string help = "; see ashlar advise --help";
  expect_refusal(trace + " --measure all", 2, "--measure: 'all' is none of none, replay, run" + help);
  expect_refusal(trace + " --measure none --budget 9", 2, "--budget is for --measure run or replay" + help);
  expect_refusal(trace + " --budget 0", 2, "--budget: '0' is no time of 1 s or more, such as 60s or 2m" + help);
  expect_refusal(trace + " -- true", 2, "a program after -- is for --measure run" + help);
  expect_refusal(trace + " --measure replay --seed 1", 2, "--seed is for --measure run" + help);
  const std::string again = file("again.trace");
  std::filesystem::copy_file(trace, again);
  expect_refusal(trace + " " + again + " --measure replay", 2, "--measure replay takes one trace");
  expect_refusal(trace + " " + again + " " + file("./sample.trace"), 2,
                 file("./sample.trace") + " is given twice, and would count twice; see ashlar advise --help");
  expect_refusal(trace + " --measure run --input /nonesuch", 2, "--input: File does not exist: /nonesuch" + help);
  expect_refusal(trace + " --html " + file("x") + " -o " + file("./x"), 2,
                 "--output and --html would both write to " + file("./x") + help);
  EXPECT_EQ(ashlar("advise " + trace + " --measure run --rounds 1"), 2);
  EXPECT_EQ(ashlar("advise " + trace + " --measure run --rounds 9 --budget 3"), 2);
}

TEST_F(advise_measure, traces_of_different_commands_or_of_none_need_one_to_measure) {
  const std::string one = trace_of(ASHLAR_SLOW_VICTIM), kept = file("one.trace");
  std::filesystem::rename(one, kept);
  const std::string other = trace_of(ASHLAR_SLOW_VICTIM " input");
  expect_refusal(kept + " " + other + " --measure run", 2,
                 other + " records another command than " + kept + ": give the one to measure after --");
}

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
