// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// No remedy is proposed that its own simulation refutes: planted programs, each with a remedy that once was; and the
// property, over all remedies and many shapes of sites.
#include "cli/advise/models.hpp"
#include "cli/advise/rules.hpp"
#include "cli/routes/plan.hpp"
#include "cli/tests/advise/scene.hpp"
#include "cli/tests/command.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::matches;
using ashlar_test::scene;
using nlohmann::json;

/// A mode of the program, and what stands at its site.
struct planted_refutation {
  const char* mode;
  const char* function;
  const char* remedy;
  const char* pattern;       ///< Of the evidence and the remedy.
  const char* dropped = "";  ///< A remedy that fires and is dropped; empty: none need be.
  const char* reason = "";
};

class advise_refuted : public ashlar_test::command_test, public testing::WithParamInterface<planted_refutation> {};

TEST_P(advise_refuted, has_the_next_remedy_or_none_with_its_reason) {
  const planted_refutation& p = GetParam();
  const std::string trace = trace_of(ASHLAR_ADVISE_REFUTED " " + std::string(p.mode), "t.trace", "--stacks 16");
  ASSERT_EQ(ashlar("advise --measure none " + trace + " -o " + file("t.plan") + " --json " + file("a.json")), 0)
      << text("err");
  std::size_t found = 0;
  const json advice = json::parse(text("a.json"));
  for (const json& site : advice["sites"]) {
    if (site["function"].get<std::string>().find(p.function) == std::string::npos) continue;
    ++found;
    const std::string all = site["evidence"].get<std::string>() + " -> " + site["advice"].get<std::string>() + ". " +
                            site["gain"]["text"].get<std::string>();
    EXPECT_EQ(site["remedy"], p.remedy) << all;
    EXPECT_TRUE(matches(all, p.pattern));
    EXPECT_EQ(site["forecast"].is_null(), site["remedy"] == "nothing");
    if (*p.dropped == 0) continue;
    const json& dropped = site["dropped"];
    const auto at = std::ranges::find(dropped, p.dropped, [](const json& each) { return each["remedy"]; });
    ASSERT_NE(at, dropped.end()) << site["dropped"];
    EXPECT_TRUE(matches((*at)["reason"], p.reason)) << *at;
  }
  EXPECT_EQ(found, 1U) << text("out");
  std::ifstream in(file("t.plan"));
  for (const route_group& group : read_plan(in, "t.plan").groups) EXPECT_LE(group.cell_bytes, 48U) << group.name;
}

INSTANTIATE_TEST_SUITE_P(
    all, advise_refuted,
    testing::Values(
        planted_refutation{"vectors", "parse_edges", "segregate", "-> pages of their own: an ashlar::arena or heap"},
        planted_refutation{"wide", "wide_block", "segregate", "-> pages of their own: an ashlar::arena or heap"},
        planted_refutation{"one_line", "get_node", "region", "100 % of 45.0 k are never freed.* -> if they are a leak"},
        planted_refutation{"large", "large_level", "nothing",
                           "under one call of .*, but an arena would serve 0 % of them: blocks above 16.0 KiB",
                           "scratch", "an arena would serve 0 %"},
        planted_refutation{"pages", "load_page", "nothing", "but an arena would hold 9.62 MiB for 7.19 MiB", "region",
                           "an arena would hold 9.62 MiB for 7.19 MiB"},
        planted_refutation{"one", "one_text", "nothing",
                           "at most 2 are alive at once, in the pool of the others; .*text_value::set"},
        planted_refutation{"one", "many_texts", "pool", "1 slab holds 64.0 KiB for .* live at most of 2 sites"},
        planted_refutation{"field", "repeated_field::reserve", "nothing",
                           "they are arrays, which no pool of objects serves"},
        planted_refutation{"equal_vectors", "equal_vector", "nothing", "arrays, which no pool", "pool",
                           "they are arrays"},
        planted_refutation{"equal_arrays", "equal_array", "nothing", "arrays, which no pool", "pool",
                           "they are arrays"},
        planted_refutation{"functions", "callback", "nothing", "std::function takes no allocator", "pool", "std::func"},
        planted_refutation{"watches", "add_watch", "nothing",
                           "but with that reserved, they would hold 2.44 MiB for 8.. KiB", "reserve", "2.44 MiB"}),
    [](const auto& param) { return param.param.mode + std::string("_") + std::to_string(param.index); });

// The property.

enum class deaths { reverse, in_order, random, in_batches, never, at_once, by_another };
constexpr std::size_t death_orders = 7;

/// Of the site's objects.
struct shape {
  std::uint64_t alive;
  std::vector<std::uint64_t> sizes;
  deaths order;
};

constexpr std::uint64_t site_call = 0x1100, noise_call = 0x2100, owner_call = 0x3100;

/// A trace of the shape. Between objects that live long are many blocks of another site.
class shaped_trace {
public:
  explicit shaped_trace(const shape& of) : of_(of), stack_(trace_.stack({site_call, owner_call})) {
    const std::uint32_t noise = trace_.stack({noise_call, owner_call});
    const std::uint64_t objects = std::max<std::uint64_t>(5 * of.alive, 200);
    std::vector<std::uint64_t> others;
    for (std::uint64_t i = 0; i < objects; ++i) {
      for (int k = 0; of.order == deaths::in_order && k < 10; ++k) others.push_back(trace_.allocate(1000, noise));
      make_room();
      live_.push_back(trace_.allocate(of.sizes[random_() % of.sizes.size()], stack_));
      if (of.order == deaths::at_once) free_at(0);
      if (others.size() > 1200 && (i + 1) % 100 == 0)
        for (; !others.empty(); others.pop_back()) trace_.free(others.back(), noise);
    }
    while (!live_.empty() && of.order != deaths::never) free_at(live_.size() - 1);
    trace_.play();
  }
  [[nodiscard]] site_features features() { return trace_.site(stack_); }
  [[nodiscard]] const program_features& program() { return trace_.seen().program(); }

private:
  void make_room() {
    if (live_.size() < of_.alive || of_.order == deaths::never) return;
    switch (of_.order) {
      case deaths::reverse:
        while (!live_.empty()) free_at(live_.size() - 1);
        break;
      case deaths::in_batches:
        while (!live_.empty()) free_at(0);
        break;
      case deaths::random: free_at(random_() % live_.size()); break;
      default: free_at(0);
    }
  }
  void free_at(std::size_t i) {
    trace_.free(live_[i], stack_, of_.order == deaths::by_another ? 1 : 0);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  shape of_;
  scene trace_;
  std::uint32_t stack_;
  std::mt19937 random_{1};
  std::vector<std::uint64_t> live_;
};

/// The bytes of a pool, from its documentation alone.
double pool_bytes(std::uint64_t largest, std::uint64_t alive) {
  const std::uint64_t slab = 65'536, cell = (largest + 7) / 8 * 8,
                      cells = std::max<std::uint64_t>((slab - 64) / cell, 1);
  return static_cast<double>((alive + cells - 1) / cells * std::max(slab, cell + 64));
}

/// Fails if the remedy is no better than the program as it is, holds too much, or cannot be written.
void expect_worth(const rule_choice& found, const site_facts& s, const std::string& what) {
  constexpr double most = 1.5, chunk = 65'536;
  const site_features& f = s.f;
  const remedy r = found.rule->proposes;
  const auto live = static_cast<double>(f.peak_bytes), arena = static_cast<double>(f.arena.peak_held_bytes());
  const bool has_pool = found.expected.pool.slabs != 0;
  EXPECT_TRUE(found.expected.calls > 0 || found.expected.held_bytes < found.expected.live_bytes) << what;
  if (has_pool) {
    EXPECT_LE(pool_bytes(f.sizes.max(), f.peak_objects), most * (live + chunk)) << what;
    EXPECT_GT(f.peak_objects, 2U) << what;
    EXPECT_TRUE(s.request.kind == container_kind::none || s.request.kind == container_kind::node) << what;
    EXPECT_EQ(f.requests[static_cast<std::size_t>(ashlar::trace::operation::new_array_)], 0U) << what;
  }
  const std::set<remedy> of_arena = {remedy::scratch, remedy::arena, remedy::counted_arena, remedy::region};
  if (of_arena.contains(r) || (r == remedy::segregate && !has_pool)) {
    EXPECT_GT(arena, 0) << what;
    EXPECT_LE(arena, most * (live + chunk)) << what;
    EXPECT_GE(2 * f.sizes.below(16'400), f.allocated.objects) << what;
  }
  if (r == remedy::arena)
    EXPECT_LE(static_cast<double>(f.allocated.bytes) / static_cast<double>(f.batches.epochs), most * (live + chunk));
  if (r == remedy::reserve) {
    const auto reserved =
        static_cast<double>(f.at_program_peak.objects - 1) * static_cast<double>(f.growth.final_bytes.quantile(0.9));
    EXPECT_LE(reserved, most * (static_cast<double>(f.at_program_peak.bytes) + chunk)) << what;
  }
  if (r == remedy::region || r == remedy::segregate) EXPECT_GT(f.peak_objects, 2U) << what;
}

/// The ways in which code may ask for the objects.
struct asked {
  container_kind kind;
  ashlar::trace::operation op;
};

/// Effects: judges the features as each kind of request, by an owner or none, with low thresholds and usual ones.
void judge_all(const site_features& seen, const program_features& program, const std::string& what,
               std::set<remedy>& proposed) {
  using op = ashlar::trace::operation;
  for (const asked& a : std::vector<asked>{{container_kind::none, op::malloc_},
                                           {container_kind::none, op::new_},
                                           {container_kind::none, op::new_array_},
                                           {container_kind::node, op::new_},
                                           {container_kind::vector, op::new_},
                                           {container_kind::string, op::new_},
                                           {container_kind::function, op::new_}})
    for (const char* owner : {"", "build", "other"})
      for (const bool is_low : {true, false}) {
        site_features f = seen;
        f.requests = {};
        f.requests[static_cast<std::size_t>(a.op)] = f.allocated.objects;
        advice_limits limits;
        if (is_low)
          limits =
              limits.with("small.ns", 0).with("small.share", 0).with("small.objects", 0).with("never_freed.bytes", 0);
        site_facts facts{.f = f, .program = program, .limits = limits, .request = {}, .owner = owner};
        facts.owner_share = facts.owner.empty() ? 0 : 1;
        facts.request.kind = a.kind;
        facts.request.enclosing = "build";
        const rule_choice found = choose_rule(facts);
        proposed.insert(found.rule->proposes);
        if (found.rule->proposes == remedy::nothing) EXPECT_FALSE(found.evidence.empty()) << what;
        else expect_worth(found, facts, what + " " + std::string(found.rule->name));
      }
}

TEST(refuted_remedies, are_proposed_at_no_shape_of_a_site) {
  const std::vector<std::vector<std::uint64_t>> sizes = {
      {24}, {48, 56}, {32, 352}, {8, 72'000}, {16, 16'384}, {16'384}, {20'000}, {40'000}, {100, 200, 300, 400, 500}};
  std::set<remedy> proposed;
  for (const std::uint64_t alive : {1U, 2U, 3U, 40U, 500U})
    for (const auto& of : sizes)
      for (std::size_t order = 0; order < death_orders; ++order) {
        shaped_trace trace({alive, of, static_cast<deaths>(order)});
        const std::string what = std::to_string(alive) + " alive of " + std::to_string(of.front()) + " to " +
                                 std::to_string(of.back()) + " B, order " + std::to_string(order);
        judge_all(trace.features(), trace.program(), what, proposed);
      }
  for (const remedy r : {remedy::nothing, remedy::inline_buffer, remedy::keep_object, remedy::hand_over, remedy::region,
                         remedy::segregate, remedy::scratch, remedy::arena, remedy::counted_arena, remedy::pool})
    EXPECT_TRUE(proposed.contains(r)) << "no shape has " << facts_of(r).name;
}

/// Containers that grow, of which `large` in ten grow to 128 bytes while the others keep 16.
rule_choice choice_of_growth(std::uint64_t containers, std::uint64_t large) {
  scene s;
  const std::uint32_t stack = s.stack({site_call, owner_call});
  for (std::uint64_t i = 0; i < containers; ++i) {
    std::uint64_t block = s.allocate(16, stack);
    for (std::uint64_t size = 32; size <= 128 && i % 10 < large; size *= 2) {
      const std::uint64_t next = s.allocate(size, stack);
      s.free(block, stack);
      block = next;
    }
  }
  s.play();
  const site_features& f = s.site(stack);
  const advice_limits limits;
  site_facts facts{.f = f, .program = s.seen().program(), .limits = limits, .request = {}, .owner = ""};
  facts.request.kind = container_kind::vector;
  rule_choice found = choose_rule(facts);
  if (found.rule->proposes == remedy::reserve) expect_worth(found, facts, "growth");
  return found;
}

TEST(refuted_remedies, reserve_is_priced_at_the_peak) {
  const rule_choice all = choice_of_growth(10'000, 10), some = choice_of_growth(10'000, 4);
  EXPECT_EQ(all.rule->name, "growth") << all.evidence;
  EXPECT_EQ(all.expected.added_bytes(), 0U);
  EXPECT_NE(some.rule->name, "growth");
  EXPECT_TRUE(has(some.evidence, ", but with that reserved, they would hold 1.22 MiB for 594 KiB"));
}

TEST(refuted_remedies, one_block_a_thread_is_priced_by_the_threads) {
  site_features f;
  f.allocated = {10'000, 10'000 * 4'000'000ULL};
  f.temporary = f.same_size = f.freed = 10'000;
  f.sizes.record(4'000'000, 10'000);
  f.peak_objects = 3;
  f.peak_bytes = 12'000'000;
  f.births.add(1);
  program_features program;
  program.traces = 1;
  program.allocated = f.allocated;
  const advice_limits limits;
  site_facts facts{.f = f, .program = program, .limits = limits, .request = {}, .owner = ""};
  EXPECT_EQ(choose_rule(facts).rule->name, "temporary");
  f.births.add(2);
  program.threads = 64;
  const rule_choice found = choose_rule(facts);
  EXPECT_EQ(found.rule->name, "none");
  EXPECT_TRUE(has(found.evidence, ", but one block a thread would hold 244 MiB for 11.4 MiB"));
}

}  // namespace
