// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar verify`. Differences are of several times, so that none depends on the machine.
#include "cli/routes/handover.hpp"
#include "cli/routes/plan.hpp"
#include "cli/support/elf_file.hpp"
#include "cli/tests/command.hpp"
#include "cli/verify/attribute.hpp"

namespace {

using nlohmann::json;
using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::matches;

class verify_verb : public ashlar_test::command_test {
protected:
  /// Returns: the exit status of `ashlar verify` of the victim with these arguments.
  int verify(const std::string& a, const std::string& b, const std::string& options = "--runs 8") {
    return ashlar("verify " + options + " --a '" ASHLAR_VERIFY_VICTIM " " + a + "' --b '" ASHLAR_VERIFY_VICTIM " " + b +
                  "'");
  }
};

TEST_F(verify_verb, more_time_is_a_loss_and_less_is_a_gain) {
  EXPECT_EQ(verify("10", "100", "--runs 8 --threshold 50"), 3) << text("out") << text("err");
  EXPECT_TRUE(said("out", "Loss: "));
  EXPECT_EQ(verify("100", "10", "--runs 8 --threshold 50"), 0) << text("out") << text("err");
  EXPECT_TRUE(said("out", "Gain: "));
  expect_100_columns([](const std::string& line) { return line.find('/') != line.npos; });  // paths are not broken
  for (const char* part : {"processor time", "system", "wall time", "peak RSS", "RSS after peak", "page faults",
                           "detectable", "A against itself: ", "--seed ", "Not measured: "})
    EXPECT_TRUE(said("out", part));
}

TEST_F(verify_verb, the_same_is_level_after_enough_pairs_to_meet_a_rare_slow_run) {
  EXPECT_EQ(verify("2", "2", "--threshold 100% --json " + file("j")), 0) << text("out") << text("err");
  EXPECT_TRUE(said("out", "Level: "));
  EXPECT_TRUE(matches(text("out"), "1\\s+in\\s+20\\s"));
  const json j = json::parse(text("j"));
  EXPECT_EQ(j["pairs_planned"], 60);
  EXPECT_EQ(j["rarest_met"], 0.05);
}

TEST_F(verify_verb, the_same_is_level_and_runs_as_often_as_the_pilot_asks) {
  EXPECT_EQ(verify("20", "20", "--rare 25% --threshold 100% --json " + file("j")), 0) << text("out") << text("err");
  EXPECT_TRUE(said("out", "Level: "));
  const json j = json::parse(text("j"));
  EXPECT_EQ(j["verdict"], "level");
  EXPECT_EQ(j["pairs_planned"], 12);
  EXPECT_EQ(j["runs"].size(), 12U);
  EXPECT_EQ(j["a_against_a"]["pairs"], 8);  // the pilot, and one pair in three
}

TEST_F(verify_verb, a_command_that_is_ended_leaves_no_program_behind) {
  expect_that_an_end_leaves_no_program_behind("verify");
}

TEST_F(verify_verb, too_few_pairs_are_undecided_with_the_pairs_that_would_decide) {
  EXPECT_EQ(verify("2", "2", "--runs auto --threshold 0.01% --budget 0"), 4) << text("out") << text("err");
  EXPECT_TRUE(said("out", "Undecided: "));
  EXPECT_TRUE(said("out", " after 6 pairs, too few to tell"));
  EXPECT_TRUE(matches(text("out"), "would\\s+decide"));
  EXPECT_TRUE(said("out", "the budget of 0 s was enough for 6."));
}

TEST_F(verify_verb, a_seed_repeats_the_order_and_json_keeps_every_run) {
  std::string orders;
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(verify("2", "2", "--runs 7 --seed 5 --json -"));
    const json j = json::parse(text("out"));
    EXPECT_EQ(j["seed"], 5);
    ASSERT_EQ(j["runs"].size(), 7U);
    std::string now;
    for (const json& pair : j["runs"]) now += pair["order"].get<std::string>() + " ";
    if (i == 0) orders = now;
    EXPECT_EQ(now, orders);
    for (const char* key :
         {"cpu_ms", "user_ms", "system_ms", "wall_ms", "peak_rss_bytes", "rss_after_peak_bytes", "page_faults"}) {
      EXPECT_GE(j["runs"][0]["b"][key], 0) << key;
      EXPECT_TRUE(j["measures"][key]["detectable"].is_number()) << key;
    }
  }
  EXPECT_NE(orders.find("abc"), orders.find("cba"));
}

TEST_F(verify_verb, another_output_or_ending_is_refused) {
  EXPECT_TRUE(failed(verify("2 one", "2 two"), 1, "ashlar verify: B prints something else than A\n"));
  EXPECT_TRUE(
      failed(verify("2 one", "2 one 3"), 1, "ashlar verify: B does not end as A does: it ended with status 3\n"));
  EXPECT_TRUE(failed(verify("2 one", "2 one -1"), 1, "ashlar verify: B does not end as A does: it died of signal 6\n"));
  EXPECT_TRUE(failed(verify("2 one -1", "2 one"), 1, "ashlar verify: A died of signal 6\n"));
}

TEST_F(verify_verb, output_that_varies_by_itself_is_not_compared_and_a_status_of_both_is_no_failure) {
  const int status = verify("20 time 7", "20 time 7", "--runs 8 --threshold 100");
  EXPECT_TRUE(status == 0 || status == 4) << status << text("out") << text("err");  // 4 on a machine with much noise
  EXPECT_TRUE(said("out", "A does not print the same each time"));
  EXPECT_TRUE(said("out", "The program ends with status 7"));
}

TEST_F(verify_verb, inputs_are_run_in_turn_as_standard_input_or_by_their_paths) {
  std::filesystem::create_directory(file("in"));
  std::ofstream(file("in/1")) << "one";
  std::ofstream(file("in/2")) << "two";
  static_cast<void>(verify("2 input", "2 input", "--runs 8 --json " + file("j") + " --inputs " + file("in")));
  const json j = json::parse(text("j"));
  ASSERT_EQ(j["inputs"].size(), 2U);
  EXPECT_EQ(j["inputs"][j["runs"][0]["input"].get<std::size_t>()], file("in/1"));
  EXPECT_EQ(j["inputs"][j["runs"][3]["input"].get<std::size_t>()], file("in/2"));
  static_cast<void>(verify("2 file {}", "2 file {}", "--runs 8 --json - --inputs " + file("in/2")));
  EXPECT_EQ(json::parse(text("out"))["inputs"].size(), 1U) << text("err");
  EXPECT_TRUE(failed(verify("2 file " + file("in/2"), "2 file {}", "--runs 8 --inputs " + file("in")), 1,
                     "ashlar verify: B prints something else than A (on " + file("in/1") + ")\n"));
}

TEST_F(verify_verb, another_malloc_is_preloaded_into_the_program) {
  const int status = ashlar("verify --runs 8 --rare 50 --threshold 100 --malloc " ASHLAR_TRY_PRELOAD
                            " -- " ASHLAR_VERIFY_VICTIM " 20");
  EXPECT_EQ(status, 0) << text("out") << text("err");
  EXPECT_TRUE(said("out", "B: LD_PRELOAD=" ASHLAR_TRY_PRELOAD " " ASHLAR_VERIFY_VICTIM " 20\n"));
  EXPECT_TRUE(failed(ashlar("verify --runs 8 --malloc " ASHLAR_TRY_PRELOAD " -- " ASHLAR_VERIFY_VICTIM " prints"), 1,
                     "ashlar verify: B prints something else than A\n"));
}

/// The dynamic linker starts the program without such a library, so A would run against A.
TEST_F(verify_verb, a_library_that_is_no_malloc_is_refused) {
  const std::string text_file = file("text"), ran = file("ran"), program = " -- touch " + ran;
  std::ofstream(text_file) << "no library\n";
  for (const std::string& library : {text_file, std::string(ASHLAR_VERIFY_VICTIM), std::string(ASHLAR_COMMAND)}) {
    const std::string refusal =
        "ashlar verify: " + std::filesystem::canonical(library).string() + " does not take over malloc\n";
    EXPECT_EQ(ashlar("verify --runs 7 --malloc " + library + program), 1) << text("out");
    EXPECT_EQ(text("err"), refusal);
    EXPECT_EQ(ashlar("verify --runs 7 --malloc " ASHLAR_TRY_PRELOAD " --against " + library + program), 1)
        << text("out");
    EXPECT_EQ(text("err"), refusal);
  }
  EXPECT_FALSE(std::filesystem::exists(ran));
}

TEST_F(verify_verb, a_library_that_ends_each_program_as_it_starts_is_refused) {
  const std::string library = ASHLAR_VERIFY_DYING, options = "verify --runs 7 --malloc " + library + " -- true";
  const std::string when = " as it started with " + std::filesystem::canonical(library).string() + "\n";
  EXPECT_EQ(ashlar(options), 1) << text("out");
  EXPECT_EQ(text("err"), "ashlar verify: died of signal 6 (Aborted)" + when);
  ASSERT_EQ(::setenv("VERIFY_DYING_STATUS", "9", 1), 0);
  EXPECT_EQ(ashlar(options), 1) << text("out");
  ::unsetenv("VERIFY_DYING_STATUS");
  EXPECT_EQ(text("err"), "ashlar verify: ended with status 9" + when);
}

TEST_F(verify_verb, a_malloc_to_compare_with_is_that_of_a) {
  const std::string program = " -- " ASHLAR_VERIFY_VICTIM " 20";
  const int status = ashlar("verify --runs 8 --rare 50 --threshold 100 --against " ASHLAR_TRY_PRELOAD
                            " --b '" ASHLAR_VERIFY_VICTIM " 20' --json " +
                            file("j") + program);
  EXPECT_EQ(status, 0) << text("out") << text("err");
  EXPECT_TRUE(said("out", "A: LD_PRELOAD=" ASHLAR_TRY_PRELOAD " " ASHLAR_VERIFY_VICTIM " 20\n"));
  const json j = json::parse(text("j"));
  EXPECT_EQ(j["a"]["library"], ASHLAR_TRY_PRELOAD);
  EXPECT_EQ(j["b"]["library"], "");
  EXPECT_TRUE(failed(ashlar("verify --runs 8 --against " ASHLAR_TRY_PRELOAD " --b '" ASHLAR_VERIFY_VICTIM
                            " prints' -- " ASHLAR_VERIFY_VICTIM " prints"),
                     1, "ashlar verify: B prints something else than A\n"));
}

/// B takes half the time, but for one request in 50.
TEST_F(verify_verb, a_tail_of_a_span_that_loses_is_a_loss_though_the_mean_gains) {
  EXPECT_EQ(verify("spans 4 4", "spans 1 50", "--spans --runs 9 --threshold 20"), 3) << text("out") << text("err");
  EXPECT_TRUE(said("out", "Loss: the 99th percentile +"));
  EXPECT_TRUE(said("out", "p99 of request"));
  EXPECT_EQ(verify("spans 4 4", "spans 1 50", "--runs 9 --threshold 20"), 0) << text("out") << text("err");
  EXPECT_TRUE(said("out", "Not measured: latency within a run,"));
}

/// As a misspelt or deleted span would turn the check of the tail off.
TEST_F(verify_verb, a_span_that_is_not_compared_is_a_failure) {
  EXPECT_EQ(verify("40", "40", "--spans --runs 8 --threshold 100"), 1) << text("out") << text("err");
  EXPECT_TRUE(said("out", "Incomplete: no span is in each run of A and B, so no 99th percentile was compared; "));
  EXPECT_EQ(verify("spans 4 4", "spans 4 4 reply", "--spans --runs 8 --threshold 100 --json " + file("j")), 1)
      << text("out") << text("err");
  EXPECT_TRUE(said("out", "Incomplete: B lacks spans of A, whose 99th percentile was not compared: request; "));
  EXPECT_EQ(json::parse(text("j"))["verdict"], "incomplete");
  EXPECT_EQ(json::parse(text("j"))["spans_missing_in_b"], json::array({"request"}));
}

TEST_F(verify_verb, a_shell_reads_commands_that_need_one) {
  EXPECT_EQ(verify("20 | cat", "20 | cat", "--runs 8 --rare 50 --threshold 100"), 0) << text("out") << text("err");
  EXPECT_TRUE(failed(ashlar("verify --runs 8 --a 'nonesuch | cat >&2; exit 127' --b 'exit 127;'"), 1,
                     "ashlar verify: A ended with status 127: "));
}

TEST_F(verify_verb, mistakes) {
  expect_mistakes("verify",
                  {{"", 2, "no A: neither --a nor PROGRAM is given; see ashlar verify --help\n"},
                   {"--a true", 2, "no B: --a needs --b"},
                   {"--a true --b true -- true", 2, "either --a or PROGRAM is A, not both"},
                   {"--b true --malloc mimalloc -- true", 2, "--malloc and --plan are of no use with --b"},
                   {"--a '' --b '' --runs 8", 2, "no A"},
                   {"--a \"'\" --b true", 2, "a quote is not closed"},
                   {"--runs 6 -- true", 2, "--runs: '6' is neither auto nor a number from 7 to 1000"},
                   {"--threshold -1% -- true", 2, ""},
                   {"--threshold x -- true", 2, "--threshold: 'x' is no percentage"},
                   {"--metric sys -- true", 2, "--metric: 'sys' is none of cpu, wall, peak"},
                   {"--rare 0.2 -- true", 2, "--rare: '0.2' is no percentage from 0.3% to 100%"},
                   {"--plan x --attribute --rare 9 -- true", 2, "--rare is of no use with --attribute"},
                   {"--plan x --malloc mimalloc -- true", 2, "B is under --malloc or --plan, not both"},
                   {"--attribute -- true", 2, "--attribute needs --plan"},
                   {"-o f -- true", 2, "-o needs --attribute"},
                   {"--against mimalloc --a true --b true", 2, "--against is of no use with --a"},
                   {"--against nonesuch -- true", 2, "there is no allocator 'nonesuch'; known are mimalloc, "},
                   {"--against /nonesuch/lib.so -- true", 1, "/nonesuch/lib.so: No such file or directory\n"},
                   {"--against mimalloc --plan x --attribute -- true", 2, "--against is of no use with --attribute"},
                   {"--against " ASHLAR_TRY_PRELOAD " --malloc " ASHLAR_TRY_PRELOAD " -- true", 2,
                    "--against names the malloc of B: A and B are the same"},
                   {"--budget 5h -- true", 2, "--budget: '5h' is no time from 0 to 1e6 s, such as 20s or 2m"},
                   {"--runs 8 --budget 20s -- true", 2,
                    "--budget is for --runs auto: 8 pairs take the time that they take; see ashlar verify --help\n"},
                   {"--plan x --attribute --json f -- true", 2, "--json and --spans are of no use with --attribute"},
                   {"--plan x --attribute --spans -- true", 2, "--json and --spans are of no use with --attribute"},
                   {"--plan /nonesuch -- " ASHLAR_VERIFY_VICTIM, 1, "/nonesuch: no such file\n"},
                   {"--plan " ASHLAR_VERIFY_VICTIM " -- " ASHLAR_VERIFY_VICTIM, 1, ASHLAR_VERIFY_VICTIM},
                   {"--malloc heap -- true", 2, "heap cannot be preloaded: it is not a library\n"},
                   {"--runs 8 --a /nonesuch/program --b true", 1, "/nonesuch/program: No such file or directory\n"},
                   {"--runs 8 --a true --b nonesuch-program", 1, "nonesuch-program: No such file or directory\n"},
                   {"--inputs /nonesuch -- true", 1, "/nonesuch: no such file\n"}});
  EXPECT_EQ(ashlar("verify --help"), 0);
  EXPECT_TRUE(said("out", "Exit status: 0 a gain, or level, 1 "));
}

TEST_F(verify_verb, outputs_are_checked_before_the_runs_and_replace_no_input) {
  std::filesystem::copy_file(ASHLAR_VERIFY_VICTIM, file("program"));
  std::ofstream(file("input")) << "one";
  const std::string program = file("program"), input = file("input"), runs = "verify --runs 8 --json ";
  const std::string ran = file("ran"), command = " --a 'touch " + ran + ";' --b 'touch " + ran + ";'";
  EXPECT_TRUE(
      failed(ashlar(runs + "/nonesuch/f" + command), 1, "ashlar verify: /nonesuch/f: No such file or directory\n"));
  EXPECT_FALSE(std::filesystem::exists(ran));
  EXPECT_EQ(text("out"), "");
  const auto expect_refusal = [&](const std::string& output, const std::string& arguments, const std::string& role) {
    const std::uintmax_t bytes = std::filesystem::file_size(output);
    EXPECT_TRUE(failed(ashlar(runs + output + " " + arguments), 1,
                       "ashlar verify: " + output + " is the " + role + " itself: nothing was written\n"))
        << arguments;
    EXPECT_EQ(std::filesystem::file_size(output), bytes);
  };
  expect_refusal(program, "--malloc " ASHLAR_TRY_PRELOAD " -- " + program + " 2", "program");
  expect_refusal(program, "--a true --b '" + program + " 2'", "program");
  expect_refusal(input, "--inputs " + input + " --a true --b true", "input");
  const std::string trace = sample(100);
  EXPECT_TRUE(failed(ashlar("try " + trace + " --json " + trace + " -- true"), 1,
                     "ashlar try: " + trace + " is the trace itself: nothing was written\n"));
  EXPECT_TRUE(failed(ashlar("replay " + trace + " --json " + trace), 1,
                     "ashlar replay: " + trace + " is the trace itself: nothing was written\n"));
}

TEST(verify_attribution, a_group_that_is_no_gain_leaves_the_plan) {
  route_plan plan;
  for (const char* name : {"gain", "none", "loss", "small"}) plan.groups.emplace_back().name = name;
  const attribution found{.parts = {{.name = "gain", .groups = {0}, .log_ratio = {-0.1, -0.12, -0.08}},
                                    {.name = "none", .groups = {1}, .log_ratio = {-0.01, -0.03, 0.01}},
                                    {.name = "loss", .groups = {2}, .log_ratio = {0.1, 0.08, 0.12}},
                                    {.name = "small", .groups = {3}, .log_ratio = {-0.005, -0.008, -0.002}}},
                          .pairs = 75};
  const route_plan left = reduced(plan, found, 0.01);
  ASSERT_EQ(left.groups.size(), 1U);
  EXPECT_EQ(left.groups[0].name, "gain");
  const json measured = left.groups[0].evidence["measured"];
  EXPECT_NEAR(measured["ratio"], 0.905, 0.001);
  EXPECT_NEAR(measured["interval"][1], 0.923, 0.001);
  EXPECT_EQ(measured["verdict"], "gain");
  EXPECT_EQ(measured["text"], "gain: -9.5 % [-11.3, -7.7]");
  EXPECT_EQ(measured["pairs"], 75);
  const std::string text = attribution_text(found, 0.01);
  for (const char* const row :
       {"gain +-9\\.5 % \\[-11\\.3, -7\\.7\\] +gain\n", "none +-1\\.0 % \\[-3\\.0, \\+1\\.0\\] +undecided\n",
        "loss .* loss\n", "small .* level\n"})
    EXPECT_TRUE(matches(text, row));
}

#if defined(ASHLAR_ROUTE_VICTIM)

route_group group_of(const std::string& name, const std::string& build_id, std::uint64_t offset) {
  route_group group;
  group.name = name;
  group.cell_bytes = 80;
  group.chunk_bytes = 1 << 14;
  group.budget_bytes = 1 << 20;
  group.sites.emplace_back().chain = {{.build_id = build_id, .offset = offset}};
  return group;
}

TEST_F(verify_verb, a_plan_of_routes_is_followed_by_b_alone) {
  const std::string victim = ASHLAR_ROUTE_VICTIM, id = build_id_of(victim);
  const std::string work = " -- " + victim + " work " ASHLAR_ROUTE_PLUGIN;
  const std::string words = " --runs 8 --threshold 100 --json " + file("j") + work;
  std::ofstream(file("p")) << to_text({.program = victim, .modules = {{id, victim}}, .groups = {}});
  const int status = ashlar("verify --plan " + file("p") + words);
  EXPECT_TRUE(status == 0 || status == 4) << status << text("out") << text("err");
  EXPECT_TRUE(said("out", "\nB: ashlar run --plan " + file("p") + " -- " + victim));
  const json j = json::parse(text("j"));
  EXPECT_EQ(j["a"]["library"], "");
  EXPECT_TRUE(has(j["b"]["library"], "libashlar-route.so"));
  const int against = ashlar("verify --against " ASHLAR_TRY_PRELOAD " --plan " + file("p") + words);
  EXPECT_TRUE(against == 0 || against == 4) << against << text("out") << text("err");
  EXPECT_EQ(json::parse(text("j"))["a"]["library"], ASHLAR_TRY_PRELOAD);
  EXPECT_TRUE(
      failed(ashlar("verify --attribute --runs 8 --plan " + file("p") + work), 1, "a plan of fewer than two groups"));
  const std::string other(id.size(), '0');
  std::ofstream(file("p")) << to_text(
      {.program = victim, .modules = {{other, victim}}, .groups = {group_of("g", other, 16)}});
  EXPECT_TRUE(failed(ashlar("verify --plan " + file("p") + words), 1, "ashlar verify: "));
}

/// No call returns to the first instruction: which group has an interval without 0 is chance.
TEST_F(verify_verb, the_groups_whose_interval_is_a_gain_stay_in_the_plan) {
  const std::string victim = ASHLAR_ROUTE_VICTIM, id = build_id_of(victim);
  route_plan plan{.program = victim, .modules = {{id, victim}}, .groups = {}};
  frame_steps steps;
  std::uint64_t code = 1;
  while (code != 1 << 20 && !steps.is_code(victim, code)) ++code;
  ASSERT_NE(code, 1U << 20);
  for (const std::uint64_t offset : {code, code + 1})
    plan.groups.push_back(group_of("byte " + std::to_string(offset - code), id, offset));
  std::ofstream(file("p")) << to_text(plan);
  const std::string command = " -- " + victim + " work " ASHLAR_ROUTE_PLUGIN;
  const std::string made = text("p"), copy = file("victim");
  std::filesystem::copy_file(victim, copy);
  for (const std::string& output : {file("p"), copy}) {
    EXPECT_TRUE(failed(ashlar("verify --attribute --plan " + file("p") + " -o " + output + " -- " + copy + " work"), 1,
                       " itself: nothing was written\n"));
  }
  EXPECT_EQ(text("p"), made);
  EXPECT_EQ(std::filesystem::file_size(copy), std::filesystem::file_size(victim));
  EXPECT_TRUE(failed(ashlar("verify --attribute --runs 7 --plan " + file("p") + command), 1,
                     "ashlar verify: 2 groups need at least 8 pairs (--runs 8), and tell more from 50\n"));
  ASSERT_EQ(ashlar("verify --attribute --threshold 100 --runs 10 --seed 3 --plan " + file("p") + " -o " + file("q") +
                   command),
            0)
      << text("err");
  EXPECT_TRUE(said("out", "\nbyte 0 "));
  EXPECT_TRUE(said("out", "A against itself: "));
  std::vector<std::string> kept;
  for (const route_group& group : read_plan(file("q")).groups) kept.push_back(group.name);
  EXPECT_TRUE(said("out", std::to_string(kept.size()) + " of 2 groups gain: " + file("q")));
  const std::string out = text("out");
  const std::regex row("(byte [0-9]+) .*\\[(.*), (.*)\\] +(gain|loss|level|undecided)");
  std::size_t rows = 0;
  for (std::sregex_iterator at(out.begin(), out.end(), row); at != std::sregex_iterator(); ++at, ++rows) {
    const std::smatch& found = *at;
    const bool is_kept = std::ranges::find(kept, found[1].str()) != kept.end();
    EXPECT_EQ(found[4].str() == "gain", is_kept) << out;
    if (is_kept) EXPECT_LE(std::stod(found[3].str()), 0) << out;
    else EXPECT_GE(std::stod(found[3].str()), 0) << out;
  }
  EXPECT_EQ(rows, 2U) << out;
}

#endif

}  // namespace
