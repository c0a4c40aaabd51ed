// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of conclusions from made-up runs, of command lines and inputs, and that planted parts are found, each with its
// own effect, from runs with random halves.
#include "cli/rounds/text.hpp"
#include "cli/support/text.hpp"
#include "cli/tests/noise.hpp"
#include "cli/tests/texts.hpp"
#include "cli/verify/attribute.hpp"
#include "cli/verify/experiment.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::starts, ashlar_test::ends, ashlar_test::matches;

/// Around 0, from -1 to 1.
double noise(random_engine& random) { return 2 * static_cast<double>(random() >> 11) * 0x1p-53 - 1; }

struct made_up {
  double b = 1;  ///< Times of B and of A's second run to the times of A.
  double again = 1;
  double spread = 0.01;
  double second_mode = 1;  ///< Of every other run of B.
  std::size_t pairs = 24;
};

experiment runs_of(const made_up& m) {
  random_engine random(11);
  experiment all;
  const auto run = [&](double by) {
    const double ms = 100 * by * (1 + m.spread * noise(random));
    return run_figures{ms, 0.9 * ms, 0.1 * ms, 1.1 * ms, 50.0 * (1 << 20), 40.0 * (1 << 20), 1000};
  };
  for (std::size_t i = 0; i < m.pairs; ++i) {
    program_round& round = all.runs.rounds.emplace_back();
    round.sides.push_back(run(1));
    round.sides.push_back(run(m.b * (i % 2 == 0 ? m.second_mode : 1)));
    round.spans.resize(2);
    if (repeats_first(i)) round.again = run(m.again);
  }
  all.runs.played.rounds = all.runs.played.planned = m.pairs;
  return all;
}

/// Effects: each run of A and of B has these tails.
void set_spans(experiment& all, const span_tails& a, const span_tails& b) {
  for (program_round& round : all.runs.rounds) round.spans = {a, b};
}

verification conclude_on(const made_up& m) { return conclude(runs_of(m), experiment_plan{}); }

std::string notes_on(const made_up& m) {
  std::string all;
  for (const std::string& note : verify_notes(conclude_on(m), runs_of(m), {})) all += note + "\n";
  return all;
}

TEST(verification, is_one_of_five_verdicts_with_its_exit_status) {
  struct entry {
    made_up runs;
    verdict decision;
    int status;
    const char* words;
  };
  for (const auto& [runs, decision, status, words] :
       {entry{{.b = 0.9}, verdict::gain, 0, "Gain: 9.8 % less processor time (-9.8 % [-10."},
        {{.b = 1.1}, verdict::loss, 3, "Loss: 10 % more processor time (+10."},
        {{.b = 1.001, .pairs = 60}, verdict::level, 0, "Level: +0.3 % ["},
        {{.b = 0.97, .spread = 0.2, .pairs = 8}, verdict::undecided, 4, "Undecided: "},
        {{.b = 0.9, .again = 1.05},
         verdict::unfit,
         5,
         "No verdict, the machine is unfit: A differs from itself, +4."}}) {
    const verification v = conclude_on(runs);
    EXPECT_EQ(v.decision, decision) << words;
    EXPECT_EQ(exit_status_of(v.decision), status);
    EXPECT_TRUE(starts(verdict_sentence(v, {}), words));
  }
}

TEST(verification, names_memory_beside_the_gain_in_plain_words_and_in_figures) {
  for (const auto& [factor, words, figures] :
       {std::tuple(1.2, "; but 20 % more memory (", "; but +20.0 % [+20.0, +20.0] peak RSS)."),
        std::tuple(0.8, ", 20 % less memory (", ", -20.0 % [-20.0, -20.0] peak RSS).")}) {
    experiment runs = runs_of({.b = 0.9});
    for (program_round& round : runs.runs.rounds) round.sides[1][run_measure::peak] *= factor;
    const std::string sentence = verdict_sentence(conclude(runs, {}), {});
    EXPECT_TRUE(starts(sentence, std::string("Gain: 9.8 % less processor time") + words));
    EXPECT_TRUE(ends(sentence, figures));
  }
}

/// The mean improves, the 99th percentile does not: B is refused.
TEST(verification, of_a_tail_that_loses_is_a_loss_whatever_the_mean_gains) {
  experiment runs = runs_of({.b = 0.8});
  random_engine random(4);
  for (program_round& round : runs.runs.rounds)
    round.spans = {{{"request", 1000 + 10 * noise(random)}, {"start", 500 + 5 * noise(random)}},
                   {{"request", 1300 + 10 * noise(random)}, {"start", 500 + 5 * noise(random)}, {"other", 1}}};
  const verification v = conclude(runs, {});
  EXPECT_EQ(v.decision, verdict::loss);
  ASSERT_EQ(v.spans.size(), 2U);
  EXPECT_EQ(v.spans[1].found.found, finding::level);
  const std::string words = verdict_sentence(v, {});
  EXPECT_TRUE(starts(words, "Loss: the 99th percentile +30."));
  EXPECT_TRUE(has(words, " of span request; -19."));
  EXPECT_EQ(v.uneven_spans, std::vector<std::string>{"other"});
  const std::vector<std::string> notes = verify_notes(v, runs, {});
  EXPECT_NE(std::find(notes.begin(), notes.end(), "Not compared, since some runs have no such span: other."),
            notes.end());
  for (program_round& round : runs.runs.rounds) std::swap(round.spans[0], round.spans[1]);
  EXPECT_EQ(conclude(runs, {}).decision, verdict::gain);
}

/// Each run of A has "request"; "rare" is in one of each program.
TEST(verification, of_spans_is_incomplete_where_b_lacks_one_of_a) {
  experiment_plan plan;
  plan.spans = true;
  experiment runs = runs_of({.b = 0.8});
  EXPECT_EQ(conclude(runs, {}).decision, verdict::gain);
  EXPECT_EQ(conclude(runs, plan).decision, verdict::incomplete) << "no span at all";
  set_spans(runs, {{"request", 1000}, {"start", 500}}, {{"request", 1000}, {"start", 500}});
  std::vector<program_round>& rounds = runs.runs.rounds;
  rounds[0].spans[0]["rare"] = rounds[3].spans[1]["rare"] = 100;
  rounds[4].spans[1]["new"] = 100;
  EXPECT_EQ(conclude(runs, plan).decision, verdict::gain);
  EXPECT_EQ(conclude(runs, plan).uneven_spans, (std::vector<std::string>{"new", "rare"}));
  rounds[5].spans[1].erase("start");
  const verification one = conclude(runs, plan);
  EXPECT_EQ(one.decision, verdict::incomplete) << "one run of B lacks it";
  EXPECT_EQ(one.missing_spans, std::vector<std::string>{"start"});
  rounds[3].spans[1].erase("rare");
  const verification v = conclude(runs, plan);
  EXPECT_EQ(v.missing_spans, (std::vector<std::string>{"rare", "start"}));
  EXPECT_EQ(exit_status_of(v.decision), 1);
  EXPECT_TRUE(starts(verdict_sentence(v, plan),
                     "Incomplete: B lacks spans of A, whose 99th percentile was not compared: rare, start; -"));
  for (program_round& round : rounds) round.spans[1]["request"] = 2000;
  EXPECT_EQ(conclude(runs, plan).decision, verdict::loss) << "what was compared decides against B";
}

/// The spans share the error; each tail is A's.
TEST(verification, of_spans_is_incomplete_in_pairs_too_few_to_tell_a_loss_of_the_tail) {
  experiment_plan plan;
  plan.spans = true;
  const auto runs_of_spans = [](std::size_t spans, std::size_t pairs, double tail) {
    experiment runs = runs_of({.b = 0.5, .pairs = pairs});
    random_engine random(4);
    for (program_round& round : runs.runs.rounds)
      for (std::size_t s = 0; s < spans; ++s) {
        round.spans[0]["span" + std::to_string(s)] = 1000 + 10 * noise(random);
        round.spans[1]["span" + std::to_string(s)] = (s == 0 ? tail : 1) * (1000 + 10 * noise(random));
      }
    return runs;
  };
  for (const auto& [spans, least] : {std::pair<std::size_t, std::size_t>{1, 7}, {2, 8}, {10, 10}, {32, 12}}) {
    EXPECT_EQ(conclude(runs_of_spans(spans, least, 1), plan).decision, verdict::gain) << spans;
    EXPECT_EQ(conclude(runs_of_spans(spans, least, 3), plan).decision, verdict::loss) << spans;
    for (const double tail : {1.0, 3.0})
      EXPECT_EQ(conclude(runs_of_spans(spans, least - 1, tail), plan).decision, verdict::incomplete) << spans;
  }
  experiment few = runs_of_spans(2, 7, 1);
  EXPECT_EQ(conclude(few, {}).decision, verdict::gain) << "no spans are wanted";
  const verification v = conclude(few, plan);
  EXPECT_EQ(exit_status_of(v.decision), 1);
  EXPECT_TRUE(starts(
      verdict_sentence(v, plan),
      "Incomplete: 7 pairs are too few to tell a loss of the 99th percentile of 2 spans, which takes 8 (--runs 8); -"));
  for (program_round& round : few.runs.rounds) std::swap(round.sides[0], round.sides[1]);
  EXPECT_EQ(conclude(few, plan).decision, verdict::loss) << "the mean decides against B";
}

/// All differences have one sign, as of a quarter of the speed.
TEST(verification, of_pairs_that_cannot_tell_a_difference_tells_so) {
  const auto conclude_of = [](std::size_t pairs, const experiment_plan& plan) {
    return conclude(runs_of({.b = 4, .spread = 0.001, .pairs = pairs}), plan);
  };
  experiment_plan one_of_three;
  one_of_three.error = effect_error / 3;
  const verification few = conclude_of(7, one_of_three);
  EXPECT_EQ(few.decision, verdict::undecided);
  EXPECT_TRUE(ends(verdict_sentence(few, one_of_three),
                   " after 7 pairs, too few to tell a difference at 98.3 %, which takes 8; about 12 pairs "
                   "(--runs 12) would decide."));
  EXPECT_EQ(conclude_of(8, one_of_three).decision, verdict::loss);
  EXPECT_EQ(conclude_of(7, {}).decision, verdict::loss);
}

TEST(verification, of_a_itself_in_too_few_pairs_shows_no_machine_that_is_fit) {
  const auto itself_of = [](std::size_t pairs) { return conclude_on({.again = 2, .pairs = pairs}); };
  for (const std::size_t pairs : {7U, 9U}) {
    const verification few = itself_of(pairs);
    EXPECT_NE(few.decision, verdict::unfit);
    EXPECT_TRUE(matches(itself_note(few.itself),
                        "^A against itself: \\+\\S+ % on average of 7 pairs, too few to tell a "
                        "difference: --runs 10 could\\.$"));
  }
  EXPECT_EQ(itself_of(10).decision, verdict::unfit);
}

TEST(verification, takes_the_99th_percentile_by_its_rank) {
  std::vector<double> values;
  for (int i = 1; i <= 200; ++i) values.push_back(201 - i);
  EXPECT_EQ(nearest_rank_99(values), 198);
  EXPECT_EQ(nearest_rank_99({3, 1}), 3);
  EXPECT_EQ(nearest_rank_99({}), 0);
}

TEST(verification, names_modes) {
  const made_up bimodal = {.b = 0.9, .second_mode = 1.5};
  const verification v = conclude_on(bimodal);
  EXPECT_FALSE(v.modes_a);
  ASSERT_TRUE(v.modes_b);
  EXPECT_EQ(v.modes_b->low.runs, 12U);
  const std::string all = notes_on(bimodal);
  EXPECT_TRUE(has(all, "B has two modes: 50 % of the runs at 90."));
}

TEST(verification, wants_more_pairs_if_undecided_and_states_what_would_have_been_seen) {
  const verification v = conclude_on({.b = 0.97, .spread = 0.2, .pairs = 8});
  EXPECT_GT(v.wanted, 8U);
  EXPECT_TRUE(has(verdict_sentence(v, {}), "(--runs " + std::to_string(v.wanted) + ") would decide."));
  EXPECT_GT(v.measures[run_measure::cpu].effect.detectable(), 0.05);
}

TEST(verification, of_runs_that_vary_greatly_names_no_percentage_that_would_be_seen) {
  const made_up noisy = {.b = 1.1, .spread = 0.999, .pairs = 7};
  const verification v = conclude_on(noisy);
  ASSERT_GE(v.measures[run_measure::cpu].effect.detectable(), 1);
  EXPECT_TRUE(has(effect_table(v), "above 100 %"));
  const std::string all = notes_on(noisy);
  EXPECT_TRUE(has(all, "The runs vary too much in processor time, user, "));
  EXPECT_TRUE(has(all, ": not even a factor of two would be seen.\n"));
  EXPECT_FALSE(has(notes_on({}), "vary too much"));
}

TEST(command_words, start_programs_without_a_shell_if_possible) {
  using words = std::vector<std::string>;
  EXPECT_EQ(command_words("prog  -x=1 {} 'a b' \"c d\"e ''"), (words{"prog", "-x=1", "{}", "a b", "c de", ""}));
  EXPECT_EQ(command_words("prog '$HOME'"), (words{"prog", "$HOME"}));
  for (const char* line : {"prog | cat", "prog $HOME", "prog \"$HOME\"", "X=1 prog", "prog > f", "prog *"})
    EXPECT_EQ(command_words(line), (words{"/bin/sh", "-c", line}));
  EXPECT_THROW(static_cast<void>(command_words("  ")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(command_words("prog 'x")), std::invalid_argument);
}

TEST(program_side, puts_an_input_in_place_of_the_mark) {
  using words = std::vector<std::string>;
  EXPECT_EQ(command_on({.command = {"prog", "--in={}"}}, "/a b"), (words{"prog", "--in=/a b"}));
  EXPECT_EQ(command_on({.command = {"/bin/sh", "-c", "prog < {}"}}, "/it's"),
            (words{"/bin/sh", "-c", "prog < '/it'\\''s'"}));
  EXPECT_TRUE(takes_path({.command = {"prog", "--in={}"}}));
  EXPECT_FALSE(takes_path({.command = {"prog"}}));
}

struct random_halves {
  std::vector<part_choice> choices;
  std::vector<double> log_ratios;
};

/// Of 200 runs with a deviation of `sigma`.
random_halves runs_with(const std::vector<double>& effects, double sigma, random_engine& random) {
  random_halves all;
  for (int pair = 0; pair < 100; ++pair) {
    const part_choice choice = choose_parts(effects.size(), random);
    double ratio = sigma * (ashlar_test::normal(random) - ashlar_test::normal(random));
    for (std::size_t i = 0; i < effects.size(); ++i) ratio += choice[i] ? effects[i] : -effects[i];
    all.choices.push_back(choice);
    all.log_ratios.push_back(ratio);
  }
  return all;
}

TEST(part_effects, planted_parts_are_found_but_for_1_percent_of_trials) {
  const std::vector<double> planted = {0.05, 0, -0.05, 0, 0, 0.01, 0, -0.01};
  random_engine random(21);
  int errors = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const random_halves runs = runs_with(planted, 0.01, random);
    const auto found = part_effects(runs.choices, runs.log_ratios, 0.01);
    for (std::size_t i = 0; i < planted.size(); ++i) {
      EXPECT_NEAR(found[i].mean, planted[i], 0.007) << i;
      const int sign = (found[i].least > 0 ? 1 : 0) - (found[i].greatest < 0 ? 1 : 0);
      errors += sign != (planted[i] > 0 ? 1 : 0) - (planted[i] < 0 ? 1 : 0) ? 1 : 0;
    }
  }
  EXPECT_LE(errors, 1);  // of 160
}

TEST(part_effects, all_intervals_together_hold_in_about_95_percent) {
  const std::vector<double> planted = {0.02, 0, -0.03, 0};
  random_engine random(5);
  int held = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const random_halves runs = runs_with(planted, 0.02, random);
    const auto found = part_effects(runs.choices, runs.log_ratios, 0.05);
    bool all = true;
    for (std::size_t i = 0; i < planted.size(); ++i)
      all = all && found[i].least <= planted[i] && planted[i] <= found[i].greatest;
    held += all ? 1 : 0;
  }
  EXPECT_GE(held, 182);
}

TEST(part_effects, of_too_few_pairs_or_of_parts_that_are_always_together_are_refused) {
  EXPECT_THROW(static_cast<void>(part_effects({}, {}, 0.05)), std::runtime_error);
  EXPECT_THROW(static_cast<void>(part_effects({{true}, {false}}, {0.1, -0.1}, 0.05)), std::runtime_error);
  const std::vector<part_choice> together(20, {true, true});
  EXPECT_THROW(static_cast<void>(part_effects(together, std::vector<double>(20), 0.05)), std::runtime_error);
  EXPECT_EQ(others_than({true, false}), (part_choice{false, true}));
}

}  // namespace
