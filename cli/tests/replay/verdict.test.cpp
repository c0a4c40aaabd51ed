// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the verdict on constructed results: gains and losses in three dimensions, and cases without a change.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/replay/figures.hpp"
#include "cli/replay/verdict.hpp"

namespace {

using namespace ashlar::cli;

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

class replay_verdict_of : public testing::Test {
protected:
  replay_figures& figures(const std::vector<made_up>& candidates) {
    std::vector<candidate_results> results;
    for (const made_up& m : candidates) results.push_back(results_of(m));
    const std::size_t rounds = candidates.front().ns.size();
    const auto questions = static_cast<double>(4 * (candidates.size() - 1));
    figures_.emplace_back(std::make_unique<replay_figures>(
        results, rounds_played{.rounds = rounds, .seconds = 10, .error = family_error / questions}));
    return *figures_.back();
  }

  [[nodiscard]] static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

private:
  std::vector<std::unique_ptr<replay_figures>> figures_;
};

/// Twelve rounds from `least` to `greatest`, most of them about the middle.
std::vector<double> spell(double least, double middle, double greatest) {
  return {middle,        least,  middle, middle * 1.01, middle, greatest,
          middle * 0.99, middle, middle, middle * 1.01, middle, middle};
}

/// The spreads of heap and tcmalloc lie below glibc's; the least median is local_heap's, whose spread does not.
TEST_F(replay_verdict_of, a_winner_that_does_not_have_the_best_median) {
  std::vector<double> unsteady = {10.2, 9.81, 11.7, 10.2, 11.95, 9.9, 12.1, 10.1, 11.99, 10.2, 9.9, 10.2};
  const replay_figures& f = figures({{"glibc", replay_stand::system, spell(11.2, 11.9, 13.6), 1306, 24.5, 24.5},
                                     {"tcmalloc", replay_stand::system, spell(10.7, 10.8, 10.9), 60, 24.5, 24},
                                     {"local_heap", replay_stand::local_heap, unsteady, 1306, 24.5, 24.5},
                                     {"heap", replay_stand::heap, spell(10.0, 10.3, 10.9), 10, 24.5, 12.7}});
  EXPECT_EQ(f.fastest->name, "local_heap");
  const std::vector<std::string> lines = replay_findings(f);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].starts_with("tcmalloc: 9.2 % less time (")) << lines[0];
  EXPECT_TRUE(has(lines[0], ", p99.9 1306 -> 60 ns")) << lines[0];
  EXPECT_TRUE(has(lines[1], "undecided: time -14 % (")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("heap: 13 % less time (")) << lines[2];
  EXPECT_TRUE(lines[2].ends_with("), p99.9 1306 -> 10 ns, memory at the end 24.5 -> 12.7 MiB")) << lines[2];
  const std::string verdict = replay_verdict(f);
  EXPECT_TRUE(verdict.starts_with("heap gains most time. ")) << verdict;
  EXPECT_TRUE(has(verdict, "Without a change of code: tcmalloc, preloaded")) << verdict;
  EXPECT_TRUE(has(verdict, "For what is undecided: about ")) << verdict;
  EXPECT_FALSE(has(verdict, "change nothing")) << verdict;
}

/// The slowest round of heap is slower than the fastest of glibc, and yet each round favours heap.
TEST_F(replay_verdict_of, spreads_that_overlap_in_rounds_that_do_not) {
  const replay_figures& f =
      figures({{"glibc", replay_stand::system, {11.4, 9.19, 16.2, 11.0, 11.4, 12.1, 10.4, 15.9, 11.4, 11.8}},
               {"heap", replay_stand::heap, {6.60, 5.62, 9.25, 6.4, 6.6, 7.0, 5.9, 9.2, 6.6, 6.7}}});
  EXPECT_TRUE(replay_findings(f)[0].starts_with("heap: 42 % less time (39 to 43)")) << replay_findings(f)[0];
  EXPECT_TRUE(replay_verdict(f).starts_with("heap gains most time.")) << replay_verdict(f);
}

TEST_F(replay_verdict_of, a_winner_that_loses_by_another_measure) {
  const replay_figures& f = figures({{"glibc", replay_stand::system, spell(10, 10, 10)},
                                     {"mimalloc", replay_stand::system, spell(8, 8, 8), 300, 31.5, 10}});
  EXPECT_EQ(replay_findings(f)[0],
            "mimalloc: 20 % less time (20 to 20); but p99.9 100 -> 300 ns, memory at the peak 20.0 -> 31.5 MiB")
      << replay_findings(f)[0];
  EXPECT_TRUE(
      replay_verdict(f).starts_with("mimalloc gains most time, and loses by p99.9, memory at the peak. It can be "
                                    "preloaded"))
      << replay_verdict(f);
}

/// The library of this project is taken by a command of its own.
TEST_F(replay_verdict_of, a_winner_that_a_command_takes) {
  const replay_figures& f = figures({{"glibc", replay_stand::system, spell(10, 10, 10)},
                                     {"libashlar.so", replay_stand::system, spell(8, 8, 8)},
                                     {"heap", replay_stand::heap, spell(9, 9, 9)}});
  EXPECT_EQ(
      replay_verdict(f),
      "libashlar.so gains most time. To take it: 'ashlar run -- PROG'; 'ashlar advise --measure run --only mallocs' "
      "measures the program itself.");
}

TEST_F(replay_verdict_of, a_winner_in_code_with_a_command_for_programs_as_they_are) {
  const replay_figures& f = figures({{"glibc", replay_stand::system, spell(10, 10, 10)},
                                     {"libashlar.so", replay_stand::system, spell(8, 8, 8)},
                                     {"mimalloc", replay_stand::system, spell(9, 9, 9)},
                                     {"heap", replay_stand::heap, spell(7, 7, 7)}});
  EXPECT_EQ(
      replay_verdict(f),
      "heap gains most time. It serves code that names it: ashlar::heap, one for all threads. Without a change of "
      "code: libashlar.so, by 'ashlar run -- PROG'; 'ashlar advise --measure run --only mallocs' measures the program "
      "itself.");
}

TEST_F(replay_verdict_of, of_those_that_are_as_fast_the_one_with_least_memory) {
  const replay_figures& f = figures({{"glibc", replay_stand::system, spell(10, 10, 10), 100, 20},
                                     {"mimalloc", replay_stand::system, spell(7.9, 8, 8.1), 100, 30},
                                     {"jemalloc", replay_stand::system, spell(7.95, 8.05, 8.2), 100, 18},
                                     {"tcmalloc", replay_stand::system, spell(9, 9, 9), 100, 10}});
  EXPECT_EQ(f.fastest->name, "mimalloc");
  EXPECT_TRUE(replay_verdict(f).starts_with("jemalloc gains most time. As fast, within the noise or 2 %: mimalloc; it "
                                            "needs the least memory of them at the peak. It can be preloaded"))
      << replay_verdict(f);
  EXPECT_EQ(replay_winner(f)->name, "jemalloc");
}

TEST_F(replay_verdict_of, of_those_that_are_level_in_all_the_median_time_decides) {
  const replay_figures& f = figures({{"glibc", replay_stand::system, spell(10, 10, 10)},
                                     {"jemalloc", replay_stand::system, spell(7.95, 8.05, 8.2), 100, 19.9},
                                     {"mimalloc", replay_stand::system, spell(7.9, 8, 8.1), 100, 20}});
  EXPECT_TRUE(
      replay_verdict(f).starts_with("mimalloc gains most time. As fast, within the noise or 2 %: jemalloc; none "
                                    "of them needs less memory, so the median time decides. It can"))
      << replay_verdict(f);
}

TEST_F(replay_verdict_of, memory_alone_is_a_gain) {
  const replay_figures& f = figures({{"glibc", replay_stand::system, spell(10, 10, 10)},
                                     {"jemalloc", replay_stand::system, spell(10, 10, 10), 100, 20, 6}});
  EXPECT_EQ(replay_findings(f)[0], "jemalloc: memory at the end 10.0 -> 6.00 MiB");
  EXPECT_TRUE(replay_verdict(f).starts_with("jemalloc gains no time, but most memory.")) << replay_verdict(f);
}

TEST_F(replay_verdict_of, no_gain_changes_nothing) {
  const replay_figures& f = figures({{"glibc", replay_stand::system, spell(10, 10, 10)},
                                     {"heap", replay_stand::heap, spell(9.9, 9.9, 9.9), 95, 19.9, 10},
                                     {"jemalloc", replay_stand::system, spell(12, 12, 12)}});
  EXPECT_EQ(replay_findings(f)[0], "heap: no difference that matters");
  EXPECT_TRUE(f.decided());
  EXPECT_EQ(replay_verdict(f),
            "No candidate gains 2 % of time, 10 % of p99.9 or 5 % of memory on glibc: change nothing.");
}

TEST_F(replay_verdict_of, too_few_rounds_decide_nothing_and_say_how_many_would) {
  const replay_figures& f =
      figures({{"glibc", replay_stand::system, {10, 10, 10, 10, 10}}, {"heap", replay_stand::heap, {8, 8, 8, 8, 8}}});
  EXPECT_FALSE(f.decided());
  EXPECT_TRUE(has(replay_findings(f)[0], "undecided: time -20 %")) << replay_findings(f)[0];
  EXPECT_EQ(
      replay_verdict(f),
      "No gain on glibc is shown yet: 5 rounds are too few to tell a gain from chance. For what is undecided: about 8 "
      "repetitions (--budget 19).");
  EXPECT_EQ(replay_findings_heading(f),
            "Against glibc, round by round (5 rounds; too few for intervals: medians, which may be chance):");
}

TEST_F(replay_verdict_of, one_alone_or_none) {
  EXPECT_EQ(replay_verdict(figures({{"glibc", replay_stand::system, {10}}})),
            "Only glibc was measured: nothing to compare.");
  EXPECT_EQ(replay_verdict(replay_figures()), "No allocator could be measured.");
}

/// Recording slows the program: its share is computed from an unrecorded run, or not given.
TEST_F(replay_verdict_of, the_share_of_the_program_is_of_an_unrecorded_run) {
  const replay_figures& f =
      figures({{"glibc", replay_stand::system, spell(10, 10, 10)}, {"heap", replay_stand::heap, spell(6, 6, 6)}});
  replayed_trace trace;
  trace.counts.lanes = 1;
  trace.counts.operations = 10000000;
  trace.duration_ns = 1000000000;
  std::string text = replay_meaning(f, trace);
  EXPECT_TRUE(text.starts_with("For the whole program: heap saves 40.0 ms a run. ")) << text;
  EXPECT_FALSE(has(text, "%")) << text;
  EXPECT_TRUE(has(text, "--only mallocs'")) << text;
  trace.program_ns = 250e6;
  EXPECT_EQ(replay_meaning(f, trace),
            "For the whole program: heap saves 40.0 ms a run, 16 % of the 250 ms that it takes unrecorded.");
  trace.program_ns = 10e9;
  EXPECT_TRUE(replay_meaning(f, trace).ends_with("0.4 % of the 10.0 s that it takes unrecorded. Hardly worth a change "
                                                 "for speed alone."))
      << replay_meaning(f, trace);
}

/// Threads may have run at once or one after the other: the busiest alone, or all together.
TEST_F(replay_verdict_of, the_savings_of_threads_are_a_range) {
  const auto threads = [](double wall, double cpu, double busiest) {
    replay_result r = round_of({"", replay_stand::system, {}}, wall);
    r.lanes = 4;
    r.cpu_ns = cpu * 1e6;
    r.busiest_cpu_ns = busiest * 1e6;
    return std::vector<replay_result>(12, r);
  };
  const replay_figures f({{{"glibc", replay_stand::system, ""}, threads(20, 40, 15), threads(20, 40, 15), {}},
                          {{"heap", replay_stand::heap, ""}, threads(10, 20, 9), threads(10, 20, 9), {}}},
                         {.rounds = 12, .seconds = 1, .error = 0.01});
  replayed_trace trace;
  trace.counts.lanes = 4;
  trace.counts.operations = 1000000;
  trace.program_ns = 100e6;
  EXPECT_EQ(
      replay_meaning(f, trace),
      "For the whole program: heap saves 6.00 ms to 20.0 ms (the busiest thread alone; all threads, one after the "
      "other) a run, 6.0 % to 20 % of the 100 ms that it takes unrecorded.");
}

}  // namespace
