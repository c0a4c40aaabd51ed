// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the choice among remedies and among plans of routes, from made-up effects.
#include <cmath>

#include "cli/remedies/experiment.hpp"
#include "cli/tests/texts.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::starts;
using nlohmann::json;
using enum remedy_kind;

constexpr double threshold = 0.01;

struct made_up_remedy {
  remedy_kind kind = preload;
  std::string name;
  double ratio = 1;
  double spread = 0.01;
  double memory = 1;
};

/// Ratios of 40 rounds with this mean, alternating by the spread.
comparison effect_with(double ratio, double spread, std::size_t rounds = 40) {
  random_engine random(3);
  std::vector<double> own(rounds, 100), with;
  for (std::size_t i = 0; i < rounds; ++i)
    with.push_back(100 * ratio * std::exp(i % 2 == 0 ? spread : -spread) * (i % 5 == 0 ? 1.0001 : 1));
  return compare(own, with, scale_of(run_measure::cpu, threshold), 0.05 / 6, random);
}

remedy_measurement measured(const std::vector<made_up_remedy>& remedies, double itself = 1) {
  remedy_measurement m;
  m.least_rounds = 10;
  m.screened.runs.played = {.rounds = 40, .planned = 40, .seconds = 40};
  for (std::size_t i = 0; i < 40; ++i) {
    run_figures own{}, again{};
    own[run_measure::cpu] = 100;
    again[run_measure::cpu] = 100 * itself * (i % 2 == 0 ? 1.001 : 0.999);
    m.screened.runs.rounds.push_back({.sides = {own}, .spans = {{}}});
    if (i < 20) m.screened.runs.rounds.back().again = again;
  }
  m.screened.names = {"as it is", "as it is again"};
  for (const made_up_remedy& r : remedies) {
    remedy_effect e;
    e.remedy = {.kind = r.kind, .name = r.name, .side = {.command = {}, .shown = "to use " + r.name}};
    e.measures[run_measure::cpu] = effect_with(r.ratio, r.spread);
    e.measures[run_measure::peak] = effect_with(r.memory, 0.0001);
    if (r.kind == routes) m.by_plan = m.remedies.size();
    m.remedies.push_back(e);
  }
  m.best_without_code = best_of(m, is_without_plan);
  return m;
}

std::string sentence_of(const remedy_measurement& m) { return remedy_sentence(m, {.command = {"program"}}); }
std::string text_of(const remedy_measurement& m) { return remedy_text(m, {.command = {"program"}}); }
json json_of(const remedy_measurement& m) { return remedy_json(m, {.command = {"program"}}); }

/// As above, decided.
remedy_measurement decided(const std::vector<made_up_remedy>& remedies, double itself = 1) {
  remedy_measurement m = measured(remedies, itself);
  decide(m, threshold);
  return m;
}

/// Chooses by the means alone, and decides.
std::string winner_among(remedy_measurement& m) {
  m.confirmed.runs.rounds.resize(40);
  for (remedy_effect& e : m.remedies) e.confirmed = true;
  choose_plan(m, threshold, 0, [&m](std::size_t a, std::size_t b) {
    const auto mean = [&m](std::size_t n) { return std::exp(m.remedies[n].deciding().effect.log_ratio.mean); };
    return effect_with(mean(b) / mean(a), 0.001);
  });
  decide(m, threshold);
  return m.winner ? m.remedies[*m.winner].remedy.name : "none";
}

TEST(remedies, are_sorted_by_gain_and_the_best_without_code_wins) {
  auto m = measured({{pages, "pages", 1.05}, {preload, "a", 0.9}, {preload, "b", 0.8}});
  m.remedies.push_back({.remedy = {.name = "broken"}, .failure = "the program died"});
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::use_winner);
  std::string order;
  for (const remedy_effect& e : m.remedies) order += e.remedy.name + " ";
  EXPECT_EQ(order, "b a pages broken ");
  EXPECT_EQ(m.winner, 0U);
  EXPECT_EQ(m.best_without_code, 0U);
  EXPECT_TRUE(starts(sentence_of(m), "B: 20 % less processor time (-20.0 % ["));
  const std::string text = text_of(m);
  EXPECT_TRUE(has(text, "\nTo use it: to use b\n"));
  EXPECT_TRUE(has(text, "loss: +5.0 % ["));
  EXPECT_TRUE(has(text, "not measured: the program died"));
}

TEST(remedies, a_plan_wins_where_it_gains_over_the_best_without_code_or_alone) {
  struct entry {
    double malloc;
    comparison over_best;
    const char *winner, *words;
  };
  for (const entry& e : {entry{0.9, effect_with(0.94, 0.01), "the plan", "The plan over a: gain: -6.0 % ["},
                         {0.9, effect_with(0.999, 0.01), "a", "The plan over a: level: -0.1 % ["},
                         {0.9, effect_with(1.009, 0.01), "a", "The plan over a: loss: +0.9 % ["},
                         {1, effect_with(0.85, 0.2), "the plan", "The plan over a: gain: -15.0 % ["}}) {
    auto m = measured({{preload, "a", e.malloc}, {routes, "the plan", 0.85}});
    m.over_best = e.over_best;
    decide(m, threshold);
    EXPECT_EQ(m.remedies[m.winner.value_or(9)].remedy.name, e.winner);
    EXPECT_TRUE(has(text_of(m), e.words));
  }
}

TEST(remedies, of_those_measured_twice_the_second_figure_decides) {
  auto m = measured({{preload, "lucky", 0.7}, {preload, "again", 0.8}});
  m.confirmed.runs.rounds.resize(40);
  m.remedies[1].confirmed = true;
  decide(m, threshold);
  EXPECT_EQ(m.remedies[m.winner.value_or(9)].remedy.name, "again");
  m.remedies = measured({{preload, "lucky", 0.7}, {preload, "again", 1}}).remedies;
  m.remedies[1].confirmed = true;
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::undecided) << sentence_of(m);
}

/// The pilot of a stage: those that share its error need more rounds.
TEST(remedies, are_planned_as_many_rounds_as_their_shared_error_asks_for) {
  program_rounds pilot;
  for (const double other : {100, 102, 98, 101, 99, 103}) {
    run_figures own{}, with{};
    own[run_measure::cpu] = 100, with[run_measure::cpu] = other;
    pilot.rounds.push_back({.sides = {own, with}});
  }
  const auto planned = [&pilot](double error) {
    return planned_rounds(pilot, {1}, run_measure::cpu, threshold, error);
  };
  EXPECT_GT(planned(effect_error), least_pairs);
  EXPECT_GT(planned(effect_error / 30), 2 * planned(effect_error));
}

TEST(remedies, of_those_whose_intervals_overlap_the_least_memory_is_named) {
  struct expectation {
    made_up_remedy first, second;
    double price;
    const char* winner;
  };
  const auto one = [](double ratio, double spread, double memory) {
    return made_up_remedy{pages, "one", ratio, spread, memory};
  };
  const auto two = [](double ratio, double spread, double memory) {
    return made_up_remedy{preload, "two", ratio, spread, memory};
  };
  for (const expectation& e : {expectation{one(0.8, 0.05, 1.46), two(0.82, 0.05, 1.13), 0, "two"},
                               expectation{one(0.7, 0.001, 1.46), two(0.8, 0.001, 1.13), 0, "one"},
                               expectation{one(0.8, 0.05, 1.13), two(0.81, 0.05, 1.129), 0, "one"},
                               expectation{one(0.8, 0.05, 1.46), two(0.97, 0.9, 0.5), 0, "one"},
                               expectation{one(0.79, 0.001, 1.475), two(0.8, 0.001, 1.08), 5, "two"},
                               expectation{one(0.79, 0.001, 1.475), two(0.8, 0.001, 1.08), 100, "one"},
                               expectation{one(0.8, 0.05, 1.46), two(0.82, 0.05, 1.13), 100, "one"}}) {
    auto m = measured({e.first, e.second});
    decide(m, threshold, e.price);
    EXPECT_EQ(m.remedies[m.winner.value_or(9)].remedy.name, e.winner) << e.price << " " << e.second.ratio;
    EXPECT_EQ(m.remedies[m.fastest.value_or(9)].remedy.name, "one");
  }
}

TEST(remedies, a_headline_has_memory_and_the_line_below_it_what_takes_less_time) {
  auto m = measured({{pages, "pages", 0.8, 0.05, 1.46}, {preload, "a malloc", 0.82, 0.05, 1.13}});
  m.remedies[1].measures[run_measure::after] = effect_with(1.2, 0.0001);
  decide(m, threshold);
  EXPECT_TRUE(has(sentence_of(m), "; but 13 % more memory, 20 % more memory after the peak ("));
  const std::string text = text_of(m);
  EXPECT_TRUE(has(text, "\nPages: 20 % less processor time; but 46 % more memory (-20.0 % ["));
  EXPECT_TRUE(has(text, "overlap, and a malloc takes less memory."));
  const json j = json_of(m);
  EXPECT_EQ(j["winner"], "a malloc");
  EXPECT_EQ(j["fastest"], "pages");
  EXPECT_EQ(j["memory_price"], nullptr);
}

TEST(remedies, few_rounds_have_a_mean_and_no_interval) {
  auto m = measured({{preload, "a", 0.9}});
  m.remedies[0].measures[run_measure::cpu] = effect_with(0.9, 0.01, 2);
  m.screened.runs.rounds.resize(2);
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::undecided);
  const std::string text = text_of(m);
  EXPECT_TRUE(has(text, "undecided: -10.0 % on average of 2 rounds, too few for an interval"));
  EXPECT_TRUE(has(text, "average of 2 rounds, too few to tell a difference"));
  EXPECT_EQ(text.find('['), std::string::npos) << text;
}

TEST(remedies, a_command_line_to_use_is_one_line) {
  auto m = measured({{preload, "a", 0.8}});
  m.remedies[0].remedy.side.shown = "prog '" + std::string(200, 'a') + "  b\nc' " + std::string(200, 'd');
  decide(m, threshold);
  EXPECT_TRUE(has(text_of(m), "\nTo use it: " + m.remedies[0].remedy.side.shown + "\n"));
}

TEST(remedies, what_the_command_itself_takes_is_told) {
  for (const remedy_kind kind : {preload, routes}) {
    auto m = decided({{kind, "a", 0.8}});
    const std::string text = text_of(m);
    EXPECT_EQ(text.find("Each start of 'ashlar run' takes") != std::string::npos, kind == routes) << text;
  }
}

TEST(remedies, without_a_gain_nothing_is_to_change) {
  auto m = decided({{preload, "a", 1.001}, {routes, "the plan", 0.999}});
  EXPECT_EQ(m.decision, remedy_decision::change_nothing);
  EXPECT_EQ(exit_status_of(m.decision), 0);
  EXPECT_TRUE(
      starts(sentence_of(m), "Change nothing: the best of 2 remedies in processor time is the plan, level: -0.1 % ["));
  const std::string text = text_of(m);
  EXPECT_TRUE(has(text, "level: +0.1 % ["));
  EXPECT_FALSE(has(text, "would have been seen")) << "of what was seen: ";
}

TEST(remedies, what_may_gain_is_open_with_the_rounds_that_would_decide) {
  auto m = decided({{preload, "a", 0.97, 0.2}});
  EXPECT_EQ(m.decision, remedy_decision::undecided);
  EXPECT_EQ(exit_status_of(m.decision), 4);
  EXPECT_GT(m.wanted, 40U);
  const std::string start = "Undecided: 40 rounds of runs in the budget of 60 s; about " + std::to_string(m.wanted);
  EXPECT_TRUE(starts(sentence_of(m), start + " rounds (--budget "));
  m.screened.runs.rounds.resize(5);  // too few for any verdict
  m.remedies[0].measures[run_measure::cpu] = effect_with(1, 0, 5);
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::undecided);
  m.screened.runs.played.rounds = 1;
  EXPECT_TRUE(starts(sentence_of(m), "Undecided: 1 round of runs in the budget of 60 s; "));
  m.wanted = 10;
  m.screened.runs.played = {};
  m.screened.seconds_of_round = 6;
  EXPECT_EQ(sentence_of(m),
            "Undecided: no round of runs in the budget of 60 s; a verdict needs 10 rounds at least (--budget 67s).");
}

TEST(remedies, a_machine_on_which_the_program_differs_from_itself_gives_no_verdict) {
  auto m = decided({{preload, "a", 0.8}}, 1.05);
  EXPECT_EQ(m.decision, remedy_decision::unfit);
  EXPECT_EQ(exit_status_of(m.decision), 5);
  EXPECT_FALSE(m.winner);
  EXPECT_TRUE(starts(sentence_of(m), "No verdict, the machine is unfit: the program differs from itself, +5.0 % ["));
}

TEST(remedies, groups_are_sorted_with_their_verdicts) {
  auto m = measured({{preload, "a", 1}});
  m.groups = {{.name = "none", .log_ratio = {0.001, -0.01, 0.012}, .detectable = 0.015},
              {.name = "gain", .log_ratio = {-0.1, -0.12, -0.08}, .detectable = 0.03},
              {.name = "loss", .log_ratio = {0.05, 0.04, 0.06}, .detectable = 0.01}};
  const json groups = json_of(m)["groups"];
  EXPECT_EQ(groups[0]["verdict"], "undecided");
  EXPECT_EQ(groups[0]["text"], "undecided: +0.1 % [-1.0, +1.2]");
  EXPECT_EQ(groups[1]["verdict"], "gain");
  EXPECT_EQ(groups[2]["verdict"], "loss");
  const std::string text = text_of(m);
  EXPECT_TRUE(has(text, "\n· Where it is undecided, anything above 1.5 % would have been seen.\n"));
  EXPECT_LT(text.find("gain  "), text.find("none  ")) << text;
  EXPECT_LT(text.find("none  "), text.find("loss  ")) << text;
}

/// A plan of three groups, of which one was measured to gain.
remedy_measurement with_groups(double itself) {
  auto m = measured({{preload, "a", 1}, {routes, "the plan", 0.999}}, itself);
  m.whole_plan = 1;
  m.plan_groups = 3;
  m.kept = {1};
  m.groups = {{.name = "others", .groups = {0, 2}, .log_ratio = {0.05, 0.04, 0.06}},
              {.name = "gain", .groups = {1}, .log_ratio = {-0.1, -0.12, -0.08}}};
  return m;
}

TEST(remedies, on_an_unfit_machine_no_group_is_shown_to_gain) {
  auto m = with_groups(1.05);
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::unfit);
  EXPECT_TRUE(m.kept.empty());
  EXPECT_EQ(m.no_plan, "the machine is unfit, so that nothing is shown to gain");
  const json j = json_of(m);
  EXPECT_EQ(j["no_plan"], m.no_plan);
  for (const auto& group : j["groups"]) EXPECT_EQ(group["stays"], false);
}

/// Three groups, of which one was measured to gain and one to lose by itself; `rest` is of the former alone.
TEST(remedies, of_a_plan_the_groups_stay_that_gain_over_the_best_without_code_by_the_verdicts_of_the_page) {
  struct expectation {
    double malloc, plan;
    comparison over_best;
    bool has_effects;
    std::vector<std::size_t> kept;
    const char* no_plan;
  };
  const comparison loss = effect_with(1.03, 0.01), open = effect_with(0.97, 0.2), gain = effect_with(0.9, 0.01);
  for (const expectation& e :
       {expectation{
            0.9, 0.93, loss, false, {}, "route by the plan is not shown to gain over preload a: loss: +3.0 % ["},
        expectation{0.9, 0.93, loss, true, {}, "route by the plan is not shown to gain over preload a: loss: +3.0 % ["},
        expectation{
            0.9, 0.88, open, true, {}, "route by the plan is not shown to gain over preload a: undecided: -3.0 % ["},
        expectation{1, 1, gain, true, {}, "route by the plan is not shown to gain: level: +0.0 % ["},
        expectation{0.9, 0.81, gain, false, {0, 1, 2}, ""}, expectation{0.9, 0.81, gain, true, {1}, ""}}) {
    auto m = measured({{preload, "preload a", e.malloc}, {routes, "route by the plan", e.plan}});
    m.whole_plan = 1;
    m.plan_groups = 3;
    m.over_best = e.over_best;
    m.kept = m.remedies[1].groups = {0, 1, 2};
    if (e.has_effects) {
      m.kept = {1};
      m.groups = {{.name = "loss", .groups = {0}, .log_ratio = {0.05, 0.04, 0.06}},
                  {.name = "gain", .groups = {1}, .log_ratio = {-0.1, -0.12, -0.08}},
                  {.name = "open", .groups = {2}, .log_ratio = {0, -0.05, 0.05}}};
    }
    decide(m, threshold);
    EXPECT_EQ(m.kept, e.kept) << e.plan << e.has_effects;
    EXPECT_TRUE(starts(m.no_plan, e.no_plan));
    EXPECT_EQ(m.no_plan.empty(), !e.kept.empty()) << m.no_plan;
  }
}

/// Neither the fastest, whose interval another's overlaps, nor the least mean, which may be no gain.
TEST(remedies, a_plan_is_compared_with_the_remedy_that_the_page_names) {
  for (const made_up_remedy& other : {made_up_remedy{pages, "other", 0.8, 0.05, 1.4}, {pages, "other", 0.8, 0.9}}) {
    auto m = measured({other, {preload, "named", 0.82, 0.05}, {routes, "the plan", 0.81}});
    m.whole_plan = 2;
    EXPECT_EQ(winner_among(m), "the plan");
    EXPECT_EQ(json_of(m)["best_without_code"], "named");
    EXPECT_TRUE(has(text_of(m), "The plan over named: gain: -1.2 % ["));
    m = measured({other, {preload, "named", 0.82, 0.05}, {routes, "the plan", 0.83}});
    m.whole_plan = 2;
    EXPECT_EQ(winner_among(m), "named");
    EXPECT_TRUE(starts(m.no_plan, "the plan is not shown to gain over named: loss: +1.2 % ["));
  }
}

TEST(remedies, a_plan_that_gains_and_was_not_compared_with_the_named_remedy_does_not_win) {
  auto m = measured({{preload, "a", 0.9}, {routes, "the plan", 0.85}});
  m.whole_plan = 1;
  decide(m, threshold);
  EXPECT_EQ(m.remedies[m.winner.value_or(1)].remedy.name, "a");
  EXPECT_EQ(m.no_plan, "the plan was not compared with a");
}

TEST(remedies, no_group_stays_that_loses_by_itself_though_the_whole_plan_gains) {
  auto m = measured({{preload, "a", 1}, {routes, "the plan", 0.8}});
  m.whole_plan = 1;
  m.plan_groups = 2;
  m.remedies[1].groups = {0, 1};
  m.groups = {{.name = "loss", .groups = {0}, .log_ratio = {0.05, 0.04, 0.06}},
              {.name = "open", .groups = {1}, .log_ratio = {0, -0.05, 0.05}}};
  decide(m, threshold);
  EXPECT_EQ(m.kept, std::vector<std::size_t>{1});
  EXPECT_EQ(m.notes.size(), 1U) << "it was measured with both";
}

TEST(remedies, a_plan_that_fails_is_no_loss_and_has_its_reason) {
  for (const double itself : {1.0, 1.05}) {
    auto m = with_groups(itself);
    m.remedies[1].failure = "the program ended with status 9";
    m.by_plan.reset();
    decide(m, threshold);
    EXPECT_EQ(m.plan_failure, "the program ended with status 9");
    EXPECT_TRUE(m.kept.empty());
    EXPECT_EQ(m.notes, std::vector<std::string>{"The program fails under the plan: no group of it is left."});
  }
}

TEST(remedies, groups_that_the_budget_does_not_tell_apart_are_one_part) {
  EXPECT_EQ(parts_of(3, 100), (plan_parts{{0}, {1}, {2}}));
  EXPECT_EQ(parts_of(5, 24), (plan_parts{{0}, {1}, {2, 3, 4}}));
  EXPECT_EQ(parts_of(4, 0), (plan_parts{{0}, {1, 2, 3}}));
}

/// libashlar.so at 0.9, and two page policies under it.
remedy_measurement with_page_policies(double huge, double populated) {
  auto m = measured({{preload, "libashlar.so", 0.9},
                     {pages, "huge pages, libashlar.so", huge},
                     {pages, "populated pages, libashlar.so", populated},
                     {pages, "huge pages, glibc", 0.5}});
  for (const std::size_t n : {0U, 1U, 2U}) m.remedies[n].remedy.side.library = "libashlar.so";
  m.remedies[1].remedy.option = "huge_pages=madvise";
  m.remedies[2].remedy.option = "populate=1";
  return m;
}

TEST(remedies, a_page_policy_is_one_that_gains_over_its_malloc_alone) {
  EXPECT_EQ(page_policy_of(with_page_policies(0.8, 0.85), threshold), 1U);
  EXPECT_EQ(page_policy_of(with_page_policies(0.95, 0.85), threshold), 2U);
  EXPECT_EQ(page_policy_of(with_page_policies(0.95, 0.92), threshold), std::nullopt);
  EXPECT_EQ(json_of(with_page_policies(0.8, 0.85))["page_policy"], "huge pages, libashlar.so");
  auto broken = with_page_policies(0.8, 0.85);
  broken.remedies[1].failure = "the program died";
  EXPECT_EQ(page_policy_of(broken, threshold), 2U);
  broken.remedies[0].failure = "the program died";
  EXPECT_EQ(page_policy_of(broken, threshold), std::nullopt);
  EXPECT_EQ(page_policy_of(measured({{preload, "a", 0.9}}), threshold), std::nullopt);
}

TEST(remedies, libashlar_has_a_version_behind_its_name_in_packages_and_behind_a_link) {
  for (const auto& [library, is_heap] :
       {std::pair("lib/libashlar.so", true), std::pair("lib/libashlar.so.1", true),
        std::pair("lib/libashlar.so.1.0", true), std::pair("lib/libashlar-checked.so", false),
        std::pair("lib/libmimalloc.so.2", false), std::pair("", false)}) {
    program_remedy remedy{.kind = preload, .name = "a", .side = {.command = {}, .library = library}};
    EXPECT_EQ(is_heap_alone(remedy), is_heap) << library;
    remedy.kind = pages;
    EXPECT_FALSE(is_heap_alone(remedy)) << library;
  }
}

TEST(remedies, a_plan_on_other_pages_has_one_command_line) {
  const program_remedy routed = {.kind = routes,
                                 .name = "route by the plan",
                                 .side = {.command = {"prog", "a b"}, .variables = {{"ROUTES", "1"}}}};
  const program_remedy populated = {
      .kind = pages,
      .name = "populated pages, libashlar.so",
      .side = {.command = {"prog", "a b"}, .variables = {{"ASHLAR", "retain=1m,populate=1"}}},
      .policy = "populated pages",
      .option = "populate=1"};
  const program_remedy both = with_page_policy(routed, populated, "t.plan");
  EXPECT_EQ(both.name, "populated pages, route by the plan");
  EXPECT_EQ(both.kind, routes);
  EXPECT_EQ(both.side.shown, "ashlar run --plan t.plan --option populate=1 -- prog 'a b'");
  ASSERT_EQ(both.side.variables.size(), 2U);
  EXPECT_EQ(both.side.variables[1].second, "retain=1m,populate=1");
}

/// A malloc, a plan of three groups, two of which gain, these two alone, and these with a page policy.
remedy_measurement with_plans(double malloc, double whole, double rest, double pages) {
  auto m =
      measured({{preload, "a", malloc}, {routes, "whole", whole}, {routes, "rest", rest}, {routes, "pages", pages}});
  m.plan_groups = 3;
  m.whole_plan = 1;
  m.rest_of_plan = 2;
  m.plan_on_pages = 3;
  m.kept = {0, 2};
  m.groups = std::vector<group_effect>(3);
  m.remedies[1].groups = {0, 1, 2};
  m.remedies[2].groups = m.remedies[3].groups = {0, 2};
  return m;
}

TEST(remedies, a_plan_wins_on_other_pages_where_it_takes_less_there_and_than_the_best) {
  struct expectation {
    double malloc, whole, rest, pages;
    const char* winner;
    std::vector<std::size_t> kept;
  };
  for (const expectation& e :
       {expectation{1, 0.9, 0.9, 0.8, "pages", {0, 2}}, expectation{0.85, 0.9, 0.9, 0.8, "pages", {0, 2}},
        expectation{0.7, 0.9, 0.9, 0.8, "a", {}}, expectation{0.95, 0.9, 0.9, 0.9, "rest", {0, 2}},
        expectation{0.95, 0.8, 0.9, 0.9, "whole", {0, 1, 2}}, expectation{0.7, 0.8, 0.9, 0.75, "a", {}}}) {
    auto m = with_plans(e.malloc, e.whole, e.rest, e.pages);
    EXPECT_EQ(winner_among(m), e.winner) << e.malloc << " " << e.whole << " " << e.rest << " " << e.pages;
    EXPECT_EQ(m.kept, e.kept) << e.winner;
  }
}

/// A plan of one group over the heap of libashlar.so, which gains by itself.
TEST(remedies, a_plan_stays_if_it_gains_over_the_best_not_over_the_program_as_it_is) {
  for (const auto& [whole, stays] : {std::pair(0.85, false), std::pair(0.8, false), std::pair(0.7, true)}) {
    auto m = measured({{preload, "libashlar.so", 0.8}, {routes, "whole", whole}});
    m.remedies[0].remedy.side.library = "lib/libashlar.so";
    m.whole_plan = 1;
    m.plan_groups = 1;
    m.kept = m.remedies[1].groups = {0};
    EXPECT_EQ(winner_among(m), stays ? "whole" : "libashlar.so");
    EXPECT_EQ(m.kept.size(), stays ? 1U : 0U) << whole;
    const json over = json_of(m)["whole_plan_over_heap"];
    EXPECT_NEAR(over["ratio"], whole / 0.8, 0.01);
    EXPECT_EQ(over["confirmed"], true);
    EXPECT_FALSE(has(over["text"], "too few"));
    const std::string reason = "whole is not shown to gain over libashlar.so: ";
    EXPECT_EQ(m.no_plan.starts_with(reason), !stays) << m.no_plan;
  }
}

/// The baseline of what a plan adds gains over the program as it is, as libashlar.so does.
TEST(remedies, the_router_with_an_empty_plan_is_no_remedy) {
  auto m = measured({{router, "router, empty plan", 0.8}, {preload, "a", 1}});
  EXPECT_FALSE(is_promising(m, threshold));
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::change_nothing);
  EXPECT_TRUE(starts(sentence_of(m), "Change nothing: the best of 1 remedy in processor time is a, "));
  auto routed =
      measured({{preload, "libashlar.so", 0.9}, {router, "router, empty plan", 0.95}, {routes, "whole", 0.85}});
  routed.whole_plan = 2;
  routed.empty_plan = 1;
  for (remedy_effect& e : routed.remedies) e.confirmed = true;
  choose_plan(routed, threshold, 0, [&routed](std::size_t a, std::size_t b) {
    const auto mean = [&routed](std::size_t n) { return routed.remedies[n].deciding().effect.log_ratio.mean; };
    return effect_with(std::exp(mean(b) - mean(a)), 0.01);
  });
  EXPECT_NEAR(json_of(routed)["whole_plan_over_empty_plan"]["ratio"], 0.85 / 0.95, 0.01);
}

TEST(remedies, plans_that_fail_are_not_chosen) {
  auto rest_fails = with_plans(1, 0.9, 0.9, 0.8);  // then the whole plan is on other pages
  rest_fails.remedies[2].failure = "the program died";
  rest_fails.remedies[3].groups = {0, 1, 2};
  EXPECT_EQ(winner_among(rest_fails), "pages");
  EXPECT_EQ(rest_fails.kept, (std::vector<std::size_t>{0, 1, 2}));
  auto pages_fail = with_plans(1, 0.9, 0.8, 0.7);
  pages_fail.remedies[3].failure = "the program died";
  EXPECT_EQ(winner_among(pages_fail), "rest");
  EXPECT_FALSE(pages_fail.pages_over_plan);
  auto all_fail = with_plans(0.9, 0.8, 0.8, 0.8);
  for (const std::size_t n : {1U, 2U, 3U}) all_fail.remedies[n].failure = "the program died";
  EXPECT_EQ(winner_among(all_fail), "a");
  EXPECT_TRUE(all_fail.kept.empty());
  EXPECT_FALSE(all_fail.over_best);
}

TEST(remedies, a_plan_that_gains_on_other_pages_alone_is_one_of_no_group_unless_it_wins) {
  for (const bool wins : {true, false}) {
    auto m = measured({{preload, "a", wins ? 1 : 0.7}, {routes, "the plan", 1}, {routes, "huge pages, the plan", 0.8}});
    m.whole_plan = 1;
    m.plan_on_pages = 2;
    m.plan_groups = 1;
    m.kept = m.remedies[1].groups = m.remedies[2].groups = {0};
    EXPECT_EQ(winner_among(m), wins ? "huge pages, the plan" : "a");
    EXPECT_EQ(m.kept.size(), wins ? 1U : 0U);
  }
}

}  // namespace
