// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the verdict on constructed results: gains and losses in three dimensions, and cases without a change; and
// that the allocators that a message names can be named.
#include <sstream>

#include "cli/replay/candidates.hpp"
#include "cli/replay/figures.hpp"
#include "cli/support/verb.hpp"
#include "cli/tests/texts.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::starts;

constexpr double mebibyte = 1 << 20;

/// Made-up measurements of a candidate.
struct made_up {
  std::string name;
  replay_stand stand;
  std::vector<double> ns;  // for each operation, a value for each round
  double tail_ns = 100;
  double peak_mib = 20;
  double end_mib = 10;
};

replay_result round_of(const made_up& m, double ns) {
  replay_result r;
  r.operations = 1000000;
  r.lanes = 1;
  r.wall_ns = r.cpu_ns = r.busiest_cpu_ns = ns * 1e6;
  r.peak_bytes = static_cast<std::uint64_t>(m.peak_mib * mebibyte);
  r.end_bytes = static_cast<std::uint64_t>(m.end_mib * mebibyte);
  r.calls.p999 = m.tail_ns;
  r.timer_step_ns = 10;
  return r;
}

candidate_results results_of(const made_up& m) {
  candidate_results all{{m.name, m.stand, m.stand == replay_stand::system && m.name != "glibc" ? "/lib/x.so" : "",
                         m.name == "libashlar.so" ? "ashlar run" : ""},
                        {},
                        {},
                        {}};
  for (const double ns : m.ns) {
    all.throughput.push_back(round_of(m, ns));
    all.latency.push_back(round_of(m, ns));
  }
  return all;
}

/// Rounds from `least` to `greatest`, most of them about the middle.
std::vector<double> spell(double least, double middle, double greatest) {
  return {middle,        least,  middle, middle * 1.01, middle, greatest,
          middle * 0.99, middle, middle, middle * 1.01, middle, middle};
}
std::vector<double> steady(double ns) { return std::vector<double>(12, ns); }

replay_figures figures_of_all(const std::vector<made_up>& candidates) {
  std::vector<candidate_results> results;
  for (const made_up& m : candidates) results.push_back(results_of(m));
  return {results, rounds_played{.rounds = candidates.empty() ? 0 : candidates.front().ns.size(), .seconds = 10}};
}

const made_up glibc = {"glibc", replay_stand::system, steady(10)};

/// The rounds of local_heap are so uneven that its gain is not certain.
const std::vector<double> uneven = {10.2, 9.81, 11.7, 10.2, 11.95, 9.9, 12.1, 10.1, 11.99, 10.2, 9.9, 10.2};

/// What a replay tells; a text ends where a row has an ellipsis.
struct told {
  const char* name;
  std::vector<made_up> candidates;
  std::vector<const char*> findings;
  const char* verdict;
  const char* preload = "Change nothing: no malloc that can be preloaded is PREDICTED to gain.";
};

const told all_told[] = {
    {"a winner beside one whose gain is not certain",
     {{"glibc", replay_stand::system, spell(11.2, 11.9, 13.6), 1306, 24.5, 24.5},
      {"tcmalloc", replay_stand::system, spell(10.7, 10.8, 10.9), 60, 24.5, 24},
      {"local_heap", replay_stand::local_heap, uneven, 1306, 24.5, 24.5},
      {"heap", replay_stand::heap, spell(10.0, 10.3, 10.9), 10, 24.5, 12.7}},
     {"tcmalloc: -9.8 % […", "local_heap: undecided: -11.1 % […", "heap: -13.8 % […"},
     "heap gains most time. It serves code that names it: ashlar::heap, one for all threads. Without a change of code: "
     "tcmalloc, preloaded; 'ashlar advise --measure run --only mallocs' measures the program itself. Of what is "
     "undecided about …",
     "Preload tcmalloc: PREDICTED -9.8 % […"},
    {"spreads that overlap in rounds that do not",
     {{"glibc", replay_stand::system, {11.4, 9.19, 16.2, 11.0, 11.4, 12.1, 10.4, 15.9, 11.4, 11.8}},
      {"heap", replay_stand::heap, {6.60, 5.62, 9.25, 6.4, 6.6, 7.0, 5.9, 9.2, 6.6, 6.7}}},
     {"heap: -42.1 % [-43.3, -40.7] time"},
     "heap gains most time. It serves code …"},
    {"a winner that loses by another measure",
     {glibc, {"mimalloc", replay_stand::system, steady(8), 300, 31.5, 10}},
     {"mimalloc: -20.0 % [-20.0, -20.0] time; but +200 % [+200, +200] p99.9, +57.5 % [+57.5, +57.5] memory at the "
      "peak"},
     "mimalloc gains most time, and loses by p99.9, memory at the peak. It can be preloaded; …",
     "Preload mimalloc: PREDICTED -20.0 % […"},
    {"a winner that a command takes",
     {glibc, {"libashlar.so", replay_stand::system, steady(8)}, {"heap", replay_stand::heap, steady(9)}},
     {"libashlar.so: -20.0 % […", "heap: -10.0 % […"},
     "libashlar.so gains most time. To take it: 'ashlar run -- PROG'; 'ashlar advise --measure run --only mallocs' "
     "measures the program itself.",
     "Preload libashlar.so: PREDICTED -20.0 % [-20.0, -20.0] time."},
    {"a winner in code with a command for programs as they are",
     {glibc,
      {"libashlar.so", replay_stand::system, steady(8)},
      {"mimalloc", replay_stand::system, steady(9)},
      {"heap", replay_stand::heap, steady(7)}},
     {"libashlar.so: -20.0 % […", "mimalloc: -10.0 % […", "heap: -30.0 % […"},
     "heap gains most time. It serves code that names it: ashlar::heap, one for all threads. Without a change of code: "
     "libashlar.so, by 'ashlar run -- PROG'; 'ashlar advise --measure run --only mallocs' measures the program itself.",
     "Preload libashlar.so: PREDICTED -20.0 % […"},
    {"of those that are as fast the one with least memory",
     {glibc,
      {"mimalloc", replay_stand::system, spell(7.9, 8, 8.1), 100, 30},
      {"jemalloc", replay_stand::system, spell(7.95, 8.05, 8.2), 100, 18},
      {"tcmalloc", replay_stand::system, steady(9), 100, 10}},
     {"mimalloc: …", "jemalloc: …", "tcmalloc: …"},
     "jemalloc gains most time. As fast, within the noise or 2 %: mimalloc; it needs the least memory of them at the "
     "peak. It can be preloaded…",
     "Preload jemalloc: …"},
    {"of those that are level in all the time decides",
     {glibc,
      {"jemalloc", replay_stand::system, spell(7.95, 8.05, 8.2), 100, 19.9},
      {"mimalloc", replay_stand::system, spell(7.9, 8, 8.1), 100, 20}},
     {"jemalloc: …", "mimalloc: …"},
     "mimalloc gains most time. As fast, within the noise or 2 %: jemalloc; none of them needs less memory, so the "
     "mean "
     "time decides. It can…",
     "Preload mimalloc: …"},
    {"memory alone",
     {glibc, {"jemalloc", replay_stand::system, steady(10), 100, 20, 6}},
     {"jemalloc: -40.0 % [-40.0, -40.0] memory at the end"},
     "jemalloc gains no time, but most memory. …"},
    {"no gain",
     {glibc, {"heap", replay_stand::heap, steady(9.9), 95, 19.9, 10}, {"jemalloc", replay_stand::system, steady(12)}},
     {"heap: no difference that matters", "jemalloc: +20.0 % [+20.0, +20.0] time"},
     "No candidate gains 2 % of time, 10 % of p99.9 or 5 % of memory on glibc: change nothing."},
    {"too few rounds",
     {{"glibc", replay_stand::system, {10, 10, 10, 10, 10}}, {"mimalloc", replay_stand::system, {8, 8, 8, 8, 8}}},
     {"mimalloc: undecided: -20.0 % time, +0.0 % p99.9, +0.0 % memory at the peak, +0.0 % memory at the end"},
     "No gain on glibc is shown yet: 5 rounds are too few to tell a gain from chance. Of what is undecided about 12 "
     "repetitions (--budget 28s) would decide.",
     "Undecided: PREDICTED gains of mallocs that can be preloaded are undecided; about 12 repetitions (--budget 28s) "
     "would decide."},
    {"one alone", {{"glibc", replay_stand::system, {10}}}, {}, "Only glibc was measured: nothing to compare."},
    {"none", {}, {}, "No allocator could be measured."}};

/// `expected`: may end with an ellipsis.
void expect_text(const std::string& text, const std::string& expected, const char* name) {
  const std::size_t end = expected.find("…");
  if (end == expected.npos) EXPECT_EQ(text, expected) << name;
  else EXPECT_TRUE(starts(text, expected.substr(0, end))) << name << ": ";
}

TEST(replay_verdict_of, gains_losses_and_what_is_open_is_told_in_the_same_words) {
  for (const told& each : all_told) {
    const replay_figures f = figures_of_all(each.candidates);
    const std::vector<std::string> findings = replay_findings(f);
    ASSERT_EQ(findings.size(), each.findings.size()) << each.name;
    for (std::size_t i = 0; i < findings.size(); ++i) expect_text(findings[i], each.findings[i], each.name);
    expect_text(replay_verdict(f), each.verdict, each.name);
    expect_text(preload_verdict(f), each.preload, each.name);
    EXPECT_EQ(preload_is_open(f), std::string(each.preload).starts_with("Undecided")) << each.name;
  }
}

TEST(replay_verdict_of, too_few_rounds_have_no_intervals) {
  EXPECT_EQ(replay_findings_heading(figures_of_all(all_told[9].candidates)),
            "Against glibc, round by round (5 rounds; too few for intervals: means, which may be chance):");
  EXPECT_FALSE(figures_of_all(all_told[9].candidates).decided());
  EXPECT_TRUE(figures_of_all(all_told[8].candidates).decided());
}

TEST(replay_verdict_of, uneven_rounds_ask_for_more_of_them) {
  EXPECT_EQ(figures_of_all(all_told[3].candidates).planned(), least_pairs);
  EXPECT_GT(figures_of_all(all_told[0].candidates).planned(), 40U);
}

/// Recording slows the program: its share is computed from an unrecorded run, or not given.
TEST(replay_verdict_of, the_share_of_the_program_is_of_an_unrecorded_run) {
  const replay_figures f = figures_of_all({glibc, {"heap", replay_stand::heap, steady(6)}});
  replayed_trace trace;
  trace.counts.lanes = 1;
  trace.counts.operations = 10000000;
  trace.duration_ns = 1000000000;
  const std::string saves = "For the whole program: heap saves 40.0 ms a run";
  std::string text = replay_meaning(f, trace);
  EXPECT_TRUE(starts(text, saves + ". "));
  EXPECT_FALSE(has(text, "%"));
  EXPECT_TRUE(has(text, "--only mallocs'"));
  trace.program_ns = 250e6;
  EXPECT_EQ(replay_meaning(f, trace), saves + ", 16 % of the 250 ms that it takes unrecorded.");
  trace.program_ns = 10e9;
  EXPECT_EQ(replay_meaning(f, trace), saves +
                                          ", 0.4 % of the 10.0 s that it takes unrecorded. Hardly worth a change for "
                                          "speed alone.");
}

/// Threads may have run at once or one after the other: the busiest alone, or all together.
TEST(replay_verdict_of, the_savings_of_threads_are_a_range) {
  const auto threads = [](double wall, double cpu, double busiest) {
    replay_result r = round_of({"", replay_stand::system, {}}, wall);
    r.lanes = 4;
    r.cpu_ns = cpu * 1e6;
    r.busiest_cpu_ns = busiest * 1e6;
    return std::vector<replay_result>(12, r);
  };
  const replay_figures f({{{"glibc", replay_stand::system, ""}, threads(20, 40, 15), threads(20, 40, 15), {}},
                          {{"heap", replay_stand::heap, ""}, threads(10, 20, 9), threads(10, 20, 9), {}}},
                         {.rounds = 12, .seconds = 1});
  replayed_trace trace;
  trace.counts.lanes = 4;
  trace.counts.operations = 1000000;
  trace.program_ns = 100e6;
  EXPECT_EQ(
      replay_meaning(f, trace),
      "For the whole program: heap saves 6.00 ms to 20.0 ms (the busiest thread alone; all threads, one after the "
      "other) a run, 6.0 % to 20 % of the 100 ms that it takes unrecorded.");
}

using search = std::function<std::vector<ashlar::cli::candidate>(const std::vector<std::string>&)>;

/// Returns: why the search knows no such name; empty if it does, also if this machine lacks the library.
std::string why_unknown(const search& named, const std::string& name) {
  try {
    named({name});
  } catch (const ashlar::cli::usage_error& error) {
    return error.what();
  } catch (const std::runtime_error&) {
  }
  return "";
}

/// Returns: the names in "…; known are A, B, or the path of a library".
std::vector<std::string> names_in(const std::string& message) {
  const std::string before = "; known are ";
  std::istringstream list(message.substr(message.find(before) + before.size()));
  std::vector<std::string> names;
  for (std::string name; std::getline(list >> std::ws, name, ',');)
    if (!name.starts_with("or ")) names.push_back(name);
  return names;
}

TEST(candidates, those_that_a_refusal_names_are_not_refused) {
  for (const search& named : {search(ashlar::cli::named_candidates), search(ashlar::cli::named_libraries)}) {
    const std::vector<std::string> names = names_in(why_unknown(named, "nonesuch"));
    EXPECT_GE(names.size(), 10u);
    for (const std::string& name : names) EXPECT_EQ(why_unknown(named, name), "");
  }
}

TEST(candidates, what_cannot_be_preloaded_is_no_library) {
  for (const char* name : {"glibc", "ashlar", "local_heap", "heap", "null"})
    EXPECT_EQ(why_unknown(ashlar::cli::named_libraries, name),
              std::string(name) + " cannot be preloaded: it is not a library");
}

}  // namespace
