// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// measure_remedies
// ├─ screen
// ├─ attribute_groups
// ├─ confirm
// └─ decide
#include "cli/remedies/experiment.hpp"

#include <cmath>
#include <cstdlib>
#include <iterator>

#include <fmt/ranges.h>

#include "cli/support/companion.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

/// Returns: the value of a variable with one more setting at its end.
std::string extended(const char* variable, char separator, const std::string& setting) {
  const char* const before = std::getenv(variable);
  return before == nullptr || *before == '\0' ? setting : std::string(before) + separator + setting;
}

program_remedy huge_pages_of_libc(const std::vector<std::string>& command) {
  const char* const variable = "GLIBC_TUNABLES";
  const std::string value = extended(variable, ':', "glibc.malloc.hugetlb=1");
  return {remedy_kind::pages,
          "huge pages, glibc",
          {.command = command,
           .variables = {{variable, value}},
           .shown = std::string(variable) + "=" + shell_word(value) + " " + shell_line(command)}};
}

struct page_option {
  const char* name;
  const char* word;  // of the variable ASHLAR
};
constexpr page_option page_options[] = {{"huge pages", "huge_pages=madvise"}, {"populated pages", "populate=1"}};

program_remedy pages_of_ashlar(const page_option& option, const std::string& library,
                               const std::vector<std::string>& command) {
  const std::string words = extended("ASHLAR", ',', option.word);
  return {remedy_kind::pages,
          std::string(option.name) + ", libashlar.so",
          {.command = command,
           .library = library,
           .variables = {{"ASHLAR", words}},
           .shown = preload_assignment(library) + " ASHLAR=" + shell_word(words) + " " + shell_line(command)},
          option.name,
          option.word};
}

/// Returns: the mallocs of these names or paths; without names each usual one that this machine has. Effects: puts the
/// names of the others into `missing`. Throws: as `named_libraries`; `std::runtime_error` for a program that one of the
/// named cannot be preloaded into.
std::vector<program_remedy> mallocs_for(const std::vector<std::string>& command, const std::vector<std::string>& names,
                                        std::vector<std::string>& missing) {
  std::vector<program_remedy> all;
  for (const candidate& c : names.empty() ? installed_candidates(false, missing) : named_libraries(names)) {
    if (c.library.empty()) continue;
    program_side side = names.empty() ? under_library(c, command) : checked_under_library(c, command, "measure");
    all.push_back({remedy_kind::preload, "preload " + c.name, std::move(side)});
  }
  return all;
}

void add_page_policies(const std::vector<std::string>& command, std::vector<program_remedy>& all) {
  all.push_back(huge_pages_of_libc(command));
  if (const auto library = find_companion(malloc_libraries.front().file))
    for (const page_option& option : page_options) all.push_back(pages_of_ashlar(option, *library, command));
}

}  // namespace

program_remedy with_page_policy(program_remedy routed, const program_remedy& pages, const std::string& path) {
  const std::vector<std::string>& command = routed.side.command;
  routed.name = pages.policy + ", " + routed.name;
  routed.option = pages.option;
  for (const auto& variable : pages.side.variables) routed.side.variables.push_back(variable);
  routed.side.shown =
      "ashlar run --plan " + shell_word(path) + " --option " + pages.option + " -- " + shell_line(command);
  return routed;
}

namespace {

constexpr const char* by_plan = "route by the plan";
constexpr const char* by_nothing = "router, empty plan";
constexpr const char* by_rest = "route by the groups that gain";

constexpr double least_limit = 10;  // seconds of a run, so that a short one may be disturbed

class remedy_stages {
public:
  explicit remedy_stages(const remedy_request& request)
      : request_(&request),
        player_({.command = request.command, .shown = shell_line(request.command)}, request.command.front(),
                request.input.empty() ? std::vector<std::string>() : std::vector{request.input}, request.seed) {}

  remedy_measurement run() {
    all_.decides = request_->decides;
    begin();
    all_.plan_groups = request_->routes.groups.size();
    all_.kept = all_.groups_of_plan();
    std::vector<program_remedy> without_code = list_without_code();
    refuse_small_budget(without_code.size() + (tries_plan() ? 2 : 0));
    expect_as_first(player_.run(player_.as_it_is()));
    try_remedies(std::move(without_code));
    screen();
    if (has_room_) {
      attribute_groups();
      confirm();
    } else if (has_plan() && request_->routes.groups.size() > 1) {
      want_larger_budget();
    }
    if (player_.left_behind() != 0)
      all_.notes.emplace_back("The program leaves processes behind: they are killed after each run, and their time is "
                              "not measured.");
    decide(all_, request_->threshold, request_->memory_price);
    all_.seconds = clock_.seconds();
    return std::move(all_);
  }

private:
  [[nodiscard]] double seconds_left() const {
    return std::max(0.0, request_->seconds - request_->spent - clock_.seconds());
  }
  [[nodiscard]] bool tries_plan() const { return !request_->only_mallocs && !request_->routes.groups.empty(); }
  [[nodiscard]] bool has_plan() const { return works(all_, all_.whole_plan); }

  [[nodiscard]] bool has_room_for(std::size_t rounds, std::size_t remedies, double seconds) const {
    return request_->rounds != 0 || player_.seconds_of_round(remedies + 1) * static_cast<double>(rounds) <= seconds;
  }

  /// The program as it is: what it prints, and how long it takes; not counted.
  void begin() {
    player_.kill_after(request_->rounds != 0 ? 0 : request_->seconds);
    player_.begin();
    all_.first = player_.first();
    if (all_.first.killed)
      throw std::runtime_error(
          fmt::format("one run of {} takes more than the budget of {:.0f} s, and a verdict needs some hundred: give a "
                      "larger --budget or a smaller input; nothing was measured",
                      request_->command.front(), request_->seconds));
    player_.kill_after(std::max(least_limit, 10 * all_.first.wall_ms / 1e3));
  }

  void expect_as_first(const program_run& run) const {
    if (!player_.prints_the_same(run, 0))
      throw std::runtime_error(request_->command.front() +
                               " does not print the same each time, so that nothing shows whether a remedy changes its "
                               "work; nothing was measured ('ashlar verify' compares such a program)");
  }

  void add(program_remedy remedy, std::vector<std::size_t> groups = {}) {
    show_progress("warming up: " + remedy.name);
    std::string failure = difference_of(player_.run(remedy.side), player_.first());
    all_.remedies.push_back({.remedy = std::move(remedy),
                             .failure = std::move(failure),
                             .decides = request_->decides,
                             .groups = std::move(groups)});
  }

  void add_plan(const route_plan& plan, const char* name, std::vector<std::size_t> groups) {
    try {
      add({remedy_kind::routes, name, under_routes(plan, request_->plan, request_->command)}, std::move(groups));
    } catch (const std::runtime_error& error) {
      all_.remedies.push_back(
          {.remedy = {.kind = remedy_kind::routes, .name = name, .side = player_.as_it_is()}, .failure = error.what()});
    }
  }

  std::vector<program_remedy> list_without_code() {
    std::vector<std::string> missing;
    std::vector<program_remedy> all = mallocs_for(request_->command, request_->with, missing);
    const char* const heap = malloc_libraries.front().file;  // the baseline of a plan, also if others are named
    const bool has_heap = std::ranges::any_of(all, is_heap_alone);
    if (tries_plan() && !has_heap && !request_->with.empty() && find_companion(heap))
      std::ranges::move(mallocs_for(request_->command, {heap}, missing), std::back_inserter(all));
    if (!request_->only_mallocs) add_page_policies(request_->command, all);
    if (!missing.empty()) all_.notes.push_back(fmt::format("Not on this machine: {}.", fmt::join(missing, ", ")));
    return all;
  }

  /// Throws: `std::runtime_error` if the runs before the first round take all of it.
  void refuse_small_budget(std::size_t remedies) const {
    const double each = all_.first.wall_ms / 1e3;
    const std::size_t runs = remedies + 2;
    const double first = request_->spent + static_cast<double>(runs) * each;
    if (request_->rounds != 0 || first <= request_->seconds) return;
    const std::size_t rounds = pairs_for_difference(shared_error(remedies));
    const double wanted = 1.1 * (first + player_.seconds_of_round(remedies + 1) * static_cast<double>(rounds));
    throw std::runtime_error(fmt::format(
        "a run takes {:.1f} s, and the first run of each of {} takes more than the budget of {:.0f} s: a verdict "
        "needs --budget {:.0f}s at least; nothing was measured",
        each, counted(remedies, "remedy", "remedies"), request_->seconds, std::ceil(wanted)));
  }

  void try_remedies(std::vector<program_remedy> without_code) {
    for (program_remedy& remedy : without_code) add(std::move(remedy));
    if (!tries_plan()) return;
    all_.whole_plan = all_.remedies.size();
    add_plan(request_->routes, by_plan, all_.groups_of_plan());
    if (!has_plan()) return;
    all_.empty_plan = all_.remedies.size();
    add_plan(route_plan{}, by_nothing, {});
    all_.remedies.back().remedy.kind = remedy_kind::router;
  }

  /// Returns: the error of each of some questions, which hold together.
  [[nodiscard]] static double shared_error(std::size_t questions) {
    return effect_error / static_cast<double>(std::max<std::size_t>(questions, 1));
  }

  /// Returns: rounds of these remedies within the seconds. Effects: those that fail have the reason, the others the
  /// effects.
  remedy_stage play(const std::vector<std::size_t>& numbers, double seconds, double error, const char* title) {
    remedy_stage stage;
    std::vector<const program_side*> sides = {&player_.as_it_is()};
    for (const std::size_t n : numbers) {
      sides.push_back(&all_.remedies[n].remedy.side);
      stage.names.push_back(all_.remedies[n].remedy.name);
    }
    stage.names.emplace_back("as it is again");
    const auto check = [&](const program_run& run, std::size_t side, std::size_t) {
      if (side == 0 || side == sides.size()) return expect_as_first(run);
      std::string& failure = all_.remedies[numbers[side - 1]].failure;
      failure = difference_of(run, player_.first());
      if (!failure.empty()) sides[side] = nullptr;
    };
    stage.seconds_of_round = player_.seconds_of_round(sides.size());
    stage.runs.played = play_rounds(
        {.rounds = request_->rounds,
         .seconds = seconds,
         .least = 0,
         .seconds_of_round = stage.seconds_of_round,
         .title = std::string(title) + ": "},
        [&](std::size_t number) { stage.runs.rounds.push_back(player_.play(std::vector(sides), number, check)); },
        [&] {
          std::vector<std::size_t> playing;
          for (std::size_t side = 1; side < sides.size(); ++side)
            if (sides[side] != nullptr) playing.push_back(side);
          return planned_rounds(stage.runs, playing, request_->decides, request_->threshold, error);
        });
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (sides[i + 1] == nullptr) continue;
      all_.remedies[numbers[i]].measures =
          compare_all(stage.runs, 0, i + 1, request_->threshold, error, player_.random());
    }
    return stage;
  }

  [[nodiscard]] comparison between(const remedy_stage& stage, std::size_t a, std::size_t b, double error) {
    return compare(stage.runs, a, b, request_->decides, request_->threshold, error, player_.random());
  }

  void screen() {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < all_.remedies.size(); ++i)
      if (all_.remedies[i].failure.empty()) numbers.push_back(i);
    const std::size_t questions =
        numbers.size() + (has_plan() ? 3 : 0);  // and the plan over the best, its heap, an empty one
    const double error = shared_error(questions);
    all_.least_rounds = pairs_for_difference(error);
    has_room_ = has_room_for(std::max(all_.least_rounds, least_pairs), numbers.size(), seconds_left() * screen_share);
    all_.screened = play(numbers, seconds_left() * (has_room_ ? screen_share : 1), error, "all remedies");
    all_.fastest = best_of(all_, is_without_plan);
    all_.best_without_code = named_without_code(all_, request_->threshold, request_->memory_price);
    all_.frugal = least_memory_of(all_, request_->threshold, request_->memory_price, [](const remedy_effect& e) {
      return is_without_plan(e) && e.deciding().effect.log_ratio.mean < 0;
    });
    if (all_.frugal == all_.fastest) all_.frugal.reset();
    if (!has_plan()) return;
    all_.by_plan = all_.whole_plan;
    const auto plan_over = [&](const std::optional<std::size_t>& other) -> std::optional<comparison> {
      if (!other) return {};
      return between(all_.screened, side_of(numbers, *other), side_of(numbers, *all_.whole_plan), error);
    };
    all_.over_best = plan_over(all_.best_without_code);
    all_.over_heap = plan_over(heap_alone(all_));
    if (works(all_, all_.empty_plan)) all_.over_empty = plan_over(all_.empty_plan);
  }

  static std::size_t side_of(const std::vector<std::size_t>& numbers, std::size_t remedy) {
    return 1 + static_cast<std::size_t>(std::find(numbers.begin(), numbers.end(), remedy) - numbers.begin());
  }

  /// The screen in its share of the budget, and as many pairs for each group in the share of the groups.
  void want_larger_budget() {
    const auto groups = static_cast<double>(request_->routes.groups.size());
    const auto rounds = static_cast<double>(std::max(all_.least_rounds, least_pairs));
    const double of_remedies = player_.seconds_of_round(all_.remedies.size() + 1);
    const double pairs = 2 * player_.seconds_of_round(1) * static_cast<double>(least_pairs_of_part) * groups;
    const double wanted = of_remedies + std::max(of_remedies * rounds / screen_share, pairs / group_share);
    all_.groups_budget = 10 * std::ceil(1.1 * wanted / 10);
    all_.notes.push_back(fmt::format(
        "The budget has no room for the effect of each group of the plan, which takes about --budget {:.0f}s.",
        all_.groups_budget));
  }

  void attribute_groups() {
    if (!has_plan() || request_->routes.groups.size() < 2) return;
    const double each = 2 * player_.seconds_of_round(1);
    const double room = seconds_left() / 2;
    const std::size_t affordable =
        request_->rounds != 0 ? request_->rounds : static_cast<std::size_t>(std::min(room / each, 1e6));
    const plan_parts parts = parts_of(request_->routes.groups.size(), affordable);
    const std::size_t least = least_pairs_for(parts.size());
    if (request_->rounds == 0 && affordable < least) return want_larger_budget();
    experiment_plan setting;
    setting.seconds = room;
    if (request_->rounds != 0) setting.pairs = std::max(request_->rounds, least);
    setting.decides = request_->decides;
    try {
      // The rounds before have compared the program with itself.
      take_parts(attribute(player_,
                           {.routes = &request_->routes,
                            .routed = &all_.remedies[*all_.whole_plan].remedy.side,
                            .parts = parts,
                            .error = effect_error,
                            .repeats_first = false},
                           setting));
    } catch (const different_program& error) {
      all_.remedies[*all_.whole_plan].failure = error.what();
      all_.by_plan.reset();
    } catch (const std::runtime_error& error) {
      all_.notes.push_back(std::string("The effect of each group is not known: ") + error.what() + ".");
    }
  }

  void take_parts(attribution found) {
    all_.group_pairs = found.pairs;
    all_.groups = std::move(found.parts);
    all_.kept.clear();
    for (const group_effect& part : all_.groups)
      if (part.stays(request_->threshold)) all_.kept.insert(all_.kept.end(), part.groups.begin(), part.groups.end());
    if (all_.kept.empty() || all_.kept.size() == request_->routes.groups.size()) return;
    all_.rest_of_plan = all_.remedies.size();
    add_plan(groups_of(request_->routes, all_.kept), by_rest, all_.kept);
  }

  /// Fresh runs of those that may win.
  void confirm() {
    if (!is_promising(all_, request_->threshold)) return keep_whole();
    if (has_plan() && all_.groups.empty()) baseline_ = all_.empty_plan;
    if (has_room_to_confirm(confirmable().size() + 1)) add_plan_on_pages();
    std::vector<std::size_t> numbers = confirmable();
    if (all_.plan_on_pages && !has_room_to_confirm(numbers.size())) {  // its first run has taken the room
      leave_out(all_.plan_on_pages);
      numbers = confirmable();
    }
    for (std::optional<std::size_t>* const spare : {&baseline_, &all_.frugal}) {
      if (!*spare || has_room_to_confirm(numbers.size())) continue;
      spare->reset();
      numbers = confirmable();
    }
    if (numbers.empty() || !has_room_to_confirm(numbers.size())) return keep_whole();
    const double error = confirming_error(numbers.size());
    const std::vector<remedy_effect> before = all_.remedies;
    all_.confirmed = play(numbers, seconds_left(), error, "the best again");
    if (all_.confirmed.runs.played.rounds < all_.least_confirming) {
      all_.remedies = before;
      return keep_whole();
    }
    for (const std::size_t n : numbers) all_.remedies[n].confirmed = true;
    choose_plan(all_, request_->threshold, request_->memory_price, [&](std::size_t a, std::size_t b) {
      return between(all_.confirmed, side_of(numbers, a), side_of(numbers, b), error);
    });
  }

  [[nodiscard]] std::vector<std::size_t> confirmable() const {
    std::vector<std::size_t> numbers;
    for (const std::optional<std::size_t>& n :
         {all_.fastest, all_.frugal, baseline_, all_.whole_plan, all_.rest_of_plan, all_.plan_on_pages})
      if (works(all_, n) && std::ranges::find(numbers, *n) == numbers.end()) numbers.push_back(*n);
    return numbers;
  }

  /// Returns: the error of each interval: one for each side, and for each comparison of two that may be asked for.
  [[nodiscard]] double confirming_error(std::size_t sides) const {
    const auto others = static_cast<std::size_t>(std::ranges::count_if(
        confirmable(), [this](std::size_t n) { return all_.remedies[n].remedy.kind != remedy_kind::routes; }));
    const std::size_t plans = sides - others;
    const std::size_t comparisons = plans * (plans + 1) / 2 - plans + plans * others;
    return shared_error(sides + comparisons);
  }

  /// Effects: notes the rounds that these sides need.
  [[nodiscard]] bool has_room_to_confirm(std::size_t sides) {
    all_.least_confirming = pairs_for_difference(confirming_error(sides));
    return has_room_for(all_.least_confirming, sides, seconds_left());
  }

  /// What is left of the plan, with the page policy that gains most without it for the sites outside it.
  void add_plan_on_pages() {
    const auto policy = page_policy_of(all_, request_->threshold);
    const auto left = works(all_, all_.rest_of_plan) ? all_.rest_of_plan : all_.whole_plan;
    if (!policy || !works(all_, left)) return;
    const remedy_effect& plan = all_.remedies[*left];
    program_remedy both = with_page_policy(plan.remedy, all_.remedies[*policy].remedy, request_->plan);
    std::vector<std::size_t> groups = plan.groups;
    all_.plan_on_pages = all_.remedies.size();
    add(std::move(both), std::move(groups));
  }

  /// What stands behind the screened remedies was not measured.
  void keep_whole() {
    leave_out(all_.plan_on_pages);
    leave_out(all_.rest_of_plan);
  }

  /// Expects: the last of the remedies, or none.
  void leave_out(std::optional<std::size_t>& last) {
    if (last) all_.remedies.pop_back();
    last.reset();
  }

  static constexpr double screen_share = 0.4;
  static constexpr double group_share = (1 - screen_share) / 2;

  const remedy_request* request_;
  program_player player_;
  stopwatch clock_;
  remedy_measurement all_;
  bool has_room_ = false;                  // for more than the screen
  std::optional<std::size_t> baseline_{};  // of a plan whose groups have no effects of their own
};

}  // namespace

remedy_measurement measure_remedies(const remedy_request& request) { return remedy_stages(request).run(); }

}  // namespace ashlar::cli
