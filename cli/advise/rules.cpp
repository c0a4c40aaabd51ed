// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each rule's condition, and its evidence in a sentence.
#include "cli/advise/rules.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::uint64_t most_pinning_block = advice_page_bytes;

bool of_one_thread(const site_features& f) { return f.freed_by_others == 0; }
bool all_freed(const site_features& f) { return f.never_freed.objects == 0; }
bool has_owner(const site_facts& s) { return !s.owner.empty() && s.owner_share >= s.limits["owner.share"]; }
bool is_lifo(const site_facts& s) {
  return share(std::max(s.f.lifo_thread, s.f.lifo_site), s.f.freed) >= s.limits["lifo.share"];
}
bool grows(const site_features& f) { return 5 * f.growth.steps >= f.allocated.objects; }
bool is_overaligned(const site_features& f) { return f.alignment > most_cell_alignment; }
double objects_an_epoch(const site_features& f) { return share(f.batches.objects, f.batches.epochs); }

bool dies_in_batches(const site_features& f, const advice_limits& limits) {
  return objects_an_epoch(f) >= limits["batch.objects"] &&
         share(f.batches.in_final_runs, f.batches.objects) >= limits["batch.share"] &&
         share(f.batches.objects, f.allocated.objects) >= limits["batch.ended"];
}

bool pins_pages(const site_features& f, const program_features& program, const advice_limits& limits) {
  const auto pages = static_cast<double>(pinned_pages(f, program));
  const std::uint64_t needed = f.peak_bytes / advice_page_bytes + 1;
  return share(long_lived(f, limits), f.allocated.objects) >= limits["long_among_short.share"] &&
         f.sizes.quantile(0.99) <= most_pinning_block &&
         share(f.allocated.objects, program.allocated.objects) <= limits["long_among_short.of_all"] &&
         pages * advice_page_bytes >= limits["long_among_short.bytes"] &&
         pages >= limits["long_among_short.pages"] * static_cast<double>(needed);
}

bool fires_small(const site_facts& s) { return is_too_small(s.f, s.program, s.limits); }

std::string why_small(const site_facts& s) {
  const site_features& f = s.f;
  if (static_cast<double>(f.allocated.objects) < s.limits["small.objects"])
    return in_words(f.allocated.objects, "object is", "objects are") + " too few to show a pattern";
  return fmt::format("its calls take about {}, {} of all, and hold {} of the program's peak: too little to matter",
                     human_time(static_cast<double>(f.allocated.objects) * s.limits.pair_ns),
                     part_of(f.allocated.objects, s.program.allocated.objects),
                     part_of(f.at_program_peak.bytes, s.program.peak.bytes));
}

/// The same call of the function sees birth and death, and little is alive at once. Without the order of a stack only
/// many short epochs tell that the function empties its buffer.
bool fires_inline(const site_facts& s) {
  const site_features& f = s.f;
  const double most = s.limits["same_function.bytes"];
  const bool short_epochs = static_cast<double>(f.batches.epochs) >= s.limits["same_function.epochs"] &&
                            static_cast<double>(f.batches.longest_objects * f.sizes.max()) <= most;
  const bool is_own = s.owner == s.request.enclosing || s.owner == s.request.place.function;
  return has_owner(s) && is_own && all_freed(f) && of_one_thread(f) && !grows(f) &&
         static_cast<double>(f.sizes.quantile(0.99)) <= most &&
         static_cast<double>(f.peak_bytes) <= most * (f.births.several ? s.program.threads : 1) &&
         (is_lifo(s) || short_epochs);
}

std::string why_inline(const site_facts& s) {
  return fmt::format(
      "the function {} is on the stack when {} is born and when it is freed, and at most {} are alive at "
      "once{}",
      s.owner, s.owner_share >= 1 ? "each object" : fmt::format("each of {:.0f} %", 100 * s.owner_share),
      in_bytes(s.f.peak_bytes), s.f.births.several ? ", in all threads together" : "");
}

bool fires_reserve(const site_facts& s) {
  const growth_features& g = s.f.growth;
  return share(g.steps, s.f.allocated.objects) >= s.limits["growth.share"] &&
         static_cast<double>(g.chains) >= s.limits["growth.chains"] && g.steps >= 2 * g.chains &&
         static_cast<double>(g.final_bytes.quantile(0.9)) <=
             s.limits["growth.spread"] * static_cast<double>(g.final_bytes.quantile(0.5));
}

std::string why_reserve(const site_facts& s) {
  const growth_features& g = s.f.growth;
  return fmt::format("{} at {} (median; nine of ten at {} or less) after {:.1f} steps each",
                     in_words(g.chains, "chain of growth ends", "chains of growth end"),
                     in_bytes(g.final_bytes.quantile(0.5)), in_bytes(g.final_bytes.quantile(0.9)),
                     share(g.steps, g.chains));
}

bool fires_keep(const site_facts& s) {
  const site_features& f = s.f;
  return of_one_thread(f) && share(f.temporary, f.allocated.objects) >= s.limits["temporary.share"] &&
         share(f.same_size, f.allocated.objects) >= s.limits["temporary.share"];
}

std::string why_keep(const site_facts& s) {
  return fmt::format("{} are freed before their thread's next allocation, and {} have the size of the one before",
                     part_of(s.f.temporary, s.f.allocated.objects), part_of(s.f.same_size, s.f.allocated.objects));
}

bool fires_hand_over(const site_facts& s) {
  const site_features& f = s.f;
  return !f.births.several && f.foreign_deaths.any && !f.foreign_deaths.several &&
         share(f.freed_by_others, f.allocated.objects) >= s.limits["other_thread.share"];
}

std::string why_hand_over(const site_facts& s) {
  const std::string part = part_of(s.f.freed_by_others, s.f.allocated.objects);
  if (s.program.traces > 1) return fmt::format("one thread allocates them, and another frees {} of them", part);
  return fmt::format("they are allocated by thread {}, and {} of them freed by thread {}", s.f.births.first, part,
                     s.f.foreign_deaths.first);
}

bool fires_scratch(const site_facts& s) { return is_lifo(s) && all_freed(s.f) && of_one_thread(s.f) && has_owner(s); }

std::string why_scratch(const site_facts& s) {
  return fmt::format("{} are freed in the reverse order of their births, under one call of {}",
                     part_of(std::max(s.f.lifo_thread, s.f.lifo_site), s.f.freed), s.owner);
}

std::string batches(const site_features& f) {
  return fmt::format("they die together, in {} of {} on average", in_words(f.batches.epochs, "batch", "batches"),
                     in_words(static_cast<std::uint64_t>(objects_an_epoch(f)), "object"));
}

bool fires_arena(const site_facts& s) {
  // That main holds them tells of no scope, unless it frees them once.
  const bool is_scope = s.owner != "main" || s.f.batches.epochs == s.program.traces;
  return dies_in_batches(s.f, s.limits) && of_one_thread(s.f) && has_owner(s) && is_scope;
}

std::string why_arena(const site_facts& s) { return fmt::format("{}, under one call of {}", batches(s.f), s.owner); }

/// Each phase does the same, alone in its thread.
bool fires_fixed_phase(const site_facts& s) {
  const phase_features& p = s.phases;
  return p.all_alike && p.phases == p.of_program && static_cast<double>(p.phases) >= s.limits["fixed_phase.phases"] &&
         share(p.objects, p.phases) >= s.limits["fixed_phase.objects"] && !s.f.births.several && of_one_thread(s.f) &&
         share(p.objects, s.f.allocated.objects) >= s.limits["fixed_phase.share"];
}

std::string why_fixed_phase(const site_facts& s) {
  const phase_features& p = s.phases;
  return fmt::format(
      "in each of {} between the marks {} and {} there {} of them, with the same sizes, births and deaths",
      in_words(p.phases, "phase"), p.opening, p.closing,
      fmt::format("{} {}", p.objects / p.phases == 1 ? "is" : "are", in_words(p.objects / p.phases)));
}

bool fires_counted_arena(const site_facts& s) { return dies_in_batches(s.f, s.limits); }

std::string why_counted_arena(const site_facts& s) {
  return batches(s.f) + (of_one_thread(s.f) ? ", under no single function" : ", on other threads too");
}

bool fires_region(const site_facts& s) {
  const site_features& f = s.f;
  return share(f.never_freed.objects, f.allocated.objects) >= s.limits["never_freed.share"] &&
         static_cast<double>(f.never_freed.bytes) >= s.limits["never_freed.bytes"];
}

std::string why_region(const site_facts& s) {
  return fmt::format("{} of {} are never freed, {} in all", part_of(s.f.never_freed.objects, s.f.allocated.objects),
                     in_words(s.f.allocated.objects), in_bytes(s.f.never_freed.bytes));
}

bool fires_segregate(const site_facts& s) { return pins_pages(s.f, s.program, s.limits); }

std::string why_segregate(const site_facts& s) {
  return fmt::format("{} outlive {} of other allocations, and lie between short-lived blocks: they may keep {}, "
                     "where {} would do",
                     part_of(long_lived(s.f, s.limits), s.f.allocated.objects),
                     in_bytes(static_cast<std::uint64_t>(s.limits["long_among_short.life"])),
                     in_words(pinned_pages(s.f, s.program), "page"), in_words(s.f.peak_bytes / advice_page_bytes + 1));
}

bool fires_pool(const site_facts& s) {
  return static_cast<double>(s.f.sizes.distinct()) <= s.limits["few_sizes.sizes"] && !grows(s.f);
}

std::string why_pool(const site_facts& s) {
  const std::string sizes = s.f.sizes.distinct() == 1 ? "one size" : counted(s.f.sizes.distinct(), "size");
  const std::string holder = s.request.container.empty() ? "" : ", the nodes of a " + s.request.container;
  return fmt::format("they have {}{}, and {} alive at most", sizes,
                     s.request.kind == container_kind::node ? holder : "", in_words(s.f.peak_objects, "is", "are"));
}

bool fires_always(const site_facts&) { return true; }

std::string why_nothing(const site_facts& s) {
  if (grows(s.f)) return "they grow, but to sizes that vary";
  if (are_few(s.f)) return pool_obstacle(s);
  return counted(s.f.sizes.distinct(), "size") + ", but neither an order of deaths nor batches, and " +
         pool_obstacle(s);
}

constexpr std::array rules = {
    advice_rule{"small", remedy::nothing, fires_small, why_small},
    advice_rule{"same_function", remedy::inline_buffer, fires_inline, why_inline},
    advice_rule{"growth", remedy::reserve, fires_reserve, why_reserve, threshold_name("growth.held")},
    advice_rule{"temporary", remedy::keep_object, fires_keep, why_keep, threshold_name("temporary.held")},
    advice_rule{"other_thread", remedy::hand_over, fires_hand_over, why_hand_over},
    advice_rule{"never_freed", remedy::region, fires_region, why_region, threshold_name("never_freed.held")},
    advice_rule{"long_among_short", remedy::segregate, fires_segregate, why_segregate,
                threshold_name("long_among_short.held")},
    advice_rule{"lifo", remedy::scratch, fires_scratch, why_scratch, threshold_name("lifo.held")},
    advice_rule{"batch_in_function", remedy::arena, fires_arena, why_arena, threshold_name("batch_in_function.held")},
    advice_rule{"fixed_phase", remedy::static_plan, fires_fixed_phase, why_fixed_phase},
    advice_rule{"batch", remedy::counted_arena, fires_counted_arena, why_counted_arena, threshold_name("batch.held")},
    advice_rule{"few_sizes", remedy::pool, fires_pool, why_pool, threshold_name("few_sizes.held")},
    advice_rule{"none", remedy::nothing, fires_always, why_nothing},
};

/// The last objects of a batch die with it, though little has been allocated since their birth.
bool dies_young(const site_features& f, const advice_limits& limits) {
  const std::uint64_t bytes_a_batch = f.allocated.bytes / std::max<std::uint64_t>(f.batches.epochs, 1);
  return share(outlive(f, limits["plan.life"]), f.allocated.objects) < limits["plan.share"] &&
         !(dies_together(f, limits) && static_cast<double>(bytes_a_batch) >= limits["plan.bytes"]);
}

/// An arena keeps a chunk until its last block dies.
bool leaves_holes(const site_features& f, const advice_limits& limits) {
  const double most_held =
      dies_together(f, limits) ? std::max(limits["plan.batch_held"], limits["plan.held"]) : limits["plan.held"];
  return !fits_routed_pool(f, limits) && f.arena.held_by_live() > most_held;
}

std::string in_kib(double bytes) { return fmt::format("{:g} KiB", bytes / 1024); }

/// A row of the table of the plan; `reason` is the end of a sentence.
struct route_obstacle {
  bool (*stands)(const site_features&, const advice_limits&) = nullptr;
  std::string (*reason)(const advice_limits&) = nullptr;
};

/// Blocks that realloc moves are left out, as it keeps them where they were born.
constexpr std::array obstacles = {
    route_obstacle{[](const site_features& f, const advice_limits& limits) {
                     return static_cast<double>(f.allocated.objects) < limits["plan.objects"];
                   },
                   [](const advice_limits&) -> std::string { return "its objects are few"; }},
    route_obstacle{[](const site_features& f, const advice_limits& limits) {
                     return static_cast<double>(f.peak_bytes) < limits["plan.bytes"];
                   },
                   [](const advice_limits& limits) {
                     return "less than " + in_kib(limits["plan.bytes"]) + " of it is alive at once";
                   }},
    route_obstacle{
        [](const site_features& f, const advice_limits&) { return f.resized * 2 > f.allocated.objects || grows(f); },
        [](const advice_limits&) -> std::string { return "its blocks grow"; }},
    route_obstacle{[](const site_features& f, const advice_limits& limits) {
                     return static_cast<double>(f.sizes.quantile(0.99)) > limits["plan.block"];
                   },
                   [](const advice_limits& limits) { return "its blocks are above " + in_kib(limits["plan.block"]); }},
    route_obstacle{[](const site_features& f, const advice_limits&) { return is_overaligned(f); },
                   [](const advice_limits&) {
                     return "its blocks are aligned to more than " + counted(most_cell_alignment, "byte");
                   }},
    route_obstacle{dies_young, [](const advice_limits&) -> std::string { return "its objects die young"; }},
    route_obstacle{leaves_holes, [](const advice_limits&) -> std::string { return "its sizes would leave holes"; }},
};

}  // namespace

std::uint64_t outlive(const site_features& f, double bytes) {
  return f.never_freed.objects + f.freed - f.lifetime_bytes.below(static_cast<std::uint64_t>(bytes));
}

std::uint64_t long_lived(const site_features& f, const advice_limits& limits) {
  return outlive(f, limits["long_among_short.life"]);
}

bool fits_routed_pool(const site_features& f, const advice_limits& limits) {
  return static_cast<double>(f.sizes.distinct()) <= limits["plan.sizes"] &&
         static_cast<double>(f.sizes.max()) <= limits["plan.block"] && pool_holds_little(f, limits);
}

std::string plan_obstacle(const site_features& f, const advice_limits& limits) {
  const auto* const found =
      std::ranges::find_if(obstacles, [&](const route_obstacle& o) { return o.stands(f, limits); });
  return found == obstacles.end() ? "" : found->reason(limits);
}

std::uint64_t pinned_pages(const site_features& f, const program_features& program) {
  return std::min(f.spread_pages, program.largest_peak / advice_page_bytes);
}

std::span<const advice_rule> advice_rules() noexcept { return rules; }

const advice_rule& rule_named(std::string_view name) noexcept {
  return *std::ranges::find(rules, name, &advice_rule::name);
}

namespace {

/// A pool is refuted by the sentence of the last rule.
std::string evidence_of(const rule_choice& found, const site_facts& facts) {
  const bool is_last = found.rule == &rules.back();
  if (!is_last || found.refuted.empty() || found.refuted.front().rule->proposes == remedy::pool)
    return found.rule->evidence(facts);
  const refuted_rule& first = found.refuted.front();
  return first.rule->evidence(facts) + ", but " + first.reason;
}

}  // namespace

rule_choice choose_rule(const site_facts& facts) {
  rule_choice found;
  for (const advice_rule& rule : rules) {
    if (!rule.fires(facts)) continue;
    std::string reason = refutation(rule, facts);
    if (reason.empty()) {
      found.rule = &rule;
      break;
    }
    found.refuted.push_back({&rule, std::move(reason)});
  }
  found.evidence = evidence_of(found, facts);
  found.expected = forecast_of(found.rule->proposes, facts);
  return found;
}

bool dies_together(const site_features& f, const advice_limits& limits) {
  return dies_in_batches(f, limits) || share(f.never_freed.objects, f.allocated.objects) >= 0.9;
}

double touched_ns(const site_features& f, const advice_rule& rule, const advice_limits& limits) {
  return static_cast<double>(rule.proposes == remedy::reserve ? f.growth.steps : f.allocated.objects) * limits.pair_ns;
}

bool saves_few_calls(std::uint64_t calls, const program_features& program, const advice_limits& limits) {
  const double least_ns = limits.program_ns > 0 ? limits["small.share"] * limits.program_ns : limits["small.ns"];
  return static_cast<double>(calls) * limits.pair_ns < least_ns * static_cast<double>(program.traces) ||
         share(calls, program.allocated.objects) < limits["small.share"];
}

bool is_too_small(const site_features& f, const program_features& program, const advice_limits& limits) {
  if (static_cast<double>(f.allocated.objects) < limits["small.objects"]) return true;
  const bool few_calls = saves_few_calls(f.allocated.objects, program, limits);
  const bool few_bytes = static_cast<double>(f.peak_bytes) < limits["small.bytes"] ||
                         share(f.at_program_peak.bytes, program.peak.bytes) < limits["small.share"];
  return few_calls && few_bytes && !pins_pages(f, program, limits);
}

namespace {

std::string name_in(const std::string& text) { return text.substr(0, text.find('=')); }

/// Returns: its number in the table; the number of thresholds if there is none of the name.
std::size_t number_of(const std::string& name) {
  const auto at = std::ranges::find(advice_thresholds, std::string_view(name), &advice_threshold::name);
  return static_cast<std::size_t>(at - advice_thresholds.begin());
}

std::optional<double> value_in(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == text.npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string check_threshold_text(const std::string& text) {
  const std::string name = name_in(text);
  const std::size_t number = number_of(name);
  if (number == advice_thresholds.size()) {
    std::vector<std::string_view> known;
    for (const advice_threshold& t : advice_thresholds) known.push_back(t.name);
    return fmt::format("there is no threshold '{}'; known are {}", name, fmt::join(known, ", "));
  }
  const auto value = value_in(text);
  const double most = advice_thresholds[number].most;
  if (value && *value >= 0 && *value <= most) return "";
  return fmt::format("'{}' is not {}=VALUE with a number from 0 to {:g}", text, name, most);
}

void set_threshold(advice_limits& limits, const std::string& text) {
  limits.at(number_of(name_in(text))) = *value_in(text);
}

std::map<std::string, double> all_thresholds(const advice_limits& limits) {
  std::map<std::string, double> all;
  for (std::size_t i = 0; i < advice_thresholds.size(); ++i) all[std::string(advice_thresholds[i].name)] = limits.at(i);
  return all;
}

std::map<std::string, double> changed_thresholds(const advice_limits& limits) {
  std::map<std::string, double> changed = all_thresholds(limits);
  std::erase_if(changed,
                [](const auto& each) { return advice_thresholds[number_of(each.first)].standard == each.second; });
  return changed;
}

}  // namespace ashlar::cli
