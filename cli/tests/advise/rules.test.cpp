// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sentences about sites at which nothing is to be changed, and about allocations without a call stack; sites that
// are judged together, made by hand: those of one container, and those whose blocks one call frees.
#include <list>

#include "cli/advise/advice.hpp"
#include "cli/advise/rules.hpp"
#include "cli/tests/advise/scene.hpp"
#include "cli/tests/texts.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::ends;

TEST(rules, nothing_has_the_reason_against_a_pool) {
  struct row {
    container_kind kind;
    std::uint64_t size, sizes, alignment;
    const char* end;
  };
  for (const row& r :
       std::vector<row>{{container_kind::string, 31, 1, 0, "so no cell fits all of them"},
                        {container_kind::node, 48, 9, 0,
                         "9 sizes, but neither an order of deaths nor batches, and too many sizes for one pool"},
                        {container_kind::node, 40'000, 1, 0, "blocks too large for a pool"},
                        {container_kind::node, 64, 1, 64, "an alignment that no pool's cells have"}}) {
    site_features f;
    for (std::uint64_t i = 0; i < 10'000; ++i) f.sizes.record(r.size + i % r.sizes * 16);
    f.allocated = {10'000, 10'000 * r.size};
    f.peak_objects = 5'000;
    f.peak_bytes = 5'000 * r.size;
    f.alignment = r.alignment;
    program_features program;
    program.traces = 1;
    program.allocated = f.allocated;
    const advice_limits limits;
    site_facts facts{.f = f, .program = program, .limits = limits, .request = {}, .owner = ""};
    facts.request.kind = r.kind;
    EXPECT_EQ(choose_rule(facts).rule->name, "none") << r.end;
    EXPECT_TRUE(ends(rule_named("none").evidence(facts), r.end));
  }
}

TEST(rules, a_small_site_with_a_large_share_of_a_small_program_is_too_little_to_matter) {
  site_features f;
  f.allocated = f.at_program_peak = {100, 4'800};
  f.peak_bytes = 4'800;
  program_features program;
  program.traces = 1;
  program.allocated = program.peak = f.allocated;
  const advice_limits limits;
  const site_facts facts{.f = f, .program = program, .limits = limits, .request = {}, .owner = ""};
  ASSERT_TRUE(rule_named("small").fires(facts));
  EXPECT_EQ(rule_named("small").evidence(facts),
            "its calls take about 2.00 µs, 100 % of all, and hold 100 % of the program's peak: too little to matter");
}

TEST(missing_stacks, are_counted_in_english_with_their_cause) {
  const std::string unwinder =
      ": the recorder could not unwind the program there: before its start, or over a C library without an unwinder.";
  const std::string five = "5 of 9 allocations have no call stacks, and cannot be advised on";
  const std::string none = "No allocation has a call stack, so there are no call sites to advise on";
  struct row {
    stack_counts counts;
    std::string sentence;
  };
  for (const row& r :
       std::vector<row>{{{.without = 0, .allocations = 0}, ""},
                        {{.without = 1, .allocations = 100}, ""},
                        {{.without = 1, .allocations = 99},
                         "1 of 99 allocations has no call stack, and cannot be advised on" + unwinder},
                        {{.without = 1'234, .allocations = 2'000},
                         "1,234 of 2,000 allocations have no call stacks, and cannot be advised on" + unwinder},
                        {{.without = 1, .allocations = 1}, none + unwinder},
                        {{.unasked = {"a.trace"}, .without = 5, .allocations = 9},
                         five + ": a.trace was recorded without stacks; `ashlar record --stacks 16` has them."},
                        {{.unasked = {"a.trace", "b.trace"}, .without = 9, .allocations = 9},
                         none + ": 2 traces were recorded without stacks; `ashlar record --stacks 16` has them."},
                        {{.is_table_full = true, .without = 5, .allocations = 9},
                         five + ": a recorder keeps 786,432 different stacks, and the program has more."}})
    EXPECT_EQ(missing_stacks(r.counts), r.sentence);
}

using ashlar_test::scene;

/// A site of a list of ints; `stack`: a function that is on its stack.
struct list_site {
  const char* rule;
  const char* owner;
  std::uint64_t bytes;    ///< Of all objects,
  std::uint64_t peak;     ///< of which these are alive at once,
  std::uint64_t batches;  ///< and which come in batches.
  const char* stack = "";
  const char* element = "int";
};

/// Sites of lists after they were joined.
struct joined_lists {
  explicit joined_lists(const std::vector<list_site>& of, std::size_t sizes = 1, bool by_threads = false) {
    for (const list_site& from : of) {
      site_features& f = features.emplace_back();
      f.allocated = {from.bytes / 24, from.bytes};
      f.peak_bytes = from.peak;
      f.peak_objects = from.peak / 24;
      for (std::size_t i = 0; i < sizes; ++i) f.sizes.record(24 + 1000 * i);
      for (std::uint64_t i = 0; i < f.allocated.objects; ++i) static_cast<void>(f.arena.allocate(24));
      if (by_threads) f.births.add(static_cast<std::uint32_t>(features.size()));
      f.batches.epochs = from.batches;
      advised_site& s = sites.emplace_back();
      s.features = &f;
      s.rule = &rule_named(from.rule);
      s.request.kind = container_kind::node;
      s.request.container = "std::list";
      s.request.element = from.element;
      s.owner = from.owner;
      s.owner_share = s.owner.empty() ? 0 : 1;
      s.evidence = from.stack;
    }
    join_containers(sites, {}, {},
                    [](const advised_site& s, const std::string& function) { return s.evidence == function; });
  }
  [[nodiscard]] std::vector<remedy> remedies() const {
    std::vector<remedy> all;
    for (const advised_site& s : sites) all.push_back(s.rule->proposes);
    return all;
  }

  std::list<site_features> features;
  std::vector<advised_site> sites;
};

using remedies_of_sites = std::vector<remedy>;

constexpr list_site filled{"batch_in_function", "fill", 120'000, 120'000, 1};
constexpr list_site churned{"few_sizes", "fill", 2'400'000, 120'000, 1};

TEST(containers, have_one_remedy_that_serves_all_sites) {
  struct row {
    const char* what;
    std::vector<list_site> sites;
    remedies_of_sites expected;
  };
  const list_site dropped{"batch_in_function", "fill", 1'200'000, 120'000, 10};
  for (const row& r :
       std::vector<row>{{"an arena for one and a pool for the other", {filled, churned}, {remedy::pool, remedy::pool}},
                        {"an arena that few more die with",
                         {dropped, {"few_sizes", "fill", 2'400, 240, 10}},
                         {remedy::arena, remedy::arena}},
                        {"arenas of which one keeps all until the end",
                         {dropped, {"batch_in_function", "fill", 2'400'000, 120'000, 1}},
                         {remedy::pool, remedy::pool}},
                        {"other owners or elements",
                         {filled,
                          {"few_sizes", "churn", 2'400'000, 120'000, 1},
                          {"few_sizes", "fill", 2'400'000, 120'000, 1, "", "char"}},
                         {remedy::arena, remedy::pool, remedy::pool}},
                        {"a site below the owner of another",
                         {filled, {"few_sizes", "", 2'400'000, 120'000, 1, "fill"}},
                         {remedy::pool, remedy::pool}},
                        {"an arena with a scope of its own below the owner of another",
                         {{"batch_in_function", "inner", 1'200'000, 12'000, 100, "outer"},
                          {"few_sizes", "outer", 2'400'000, 120'000, 1}},
                         {remedy::arena, remedy::pool}}})
    EXPECT_EQ(joined_lists(r.sites).remedies(), r.expected) << r.what;
}

TEST(containers, tell_of_their_common_pool_and_its_threads) {
  const joined_lists one_pool({filled, churned}), threads({filled, churned}, 1, true);
  EXPECT_EQ(one_pool.sites[0].expected.pool.cell_bytes, 24U);
  EXPECT_FALSE(one_pool.sites[0].pool.has_several_threads);
  EXPECT_TRUE(has(one_pool.sites[0].evidence, "2 calls allocate for this std::list, and it has one allocator"));
  EXPECT_TRUE(threads.sites[0].pool.has_several_threads);
}

TEST(containers, without_an_arena_or_a_pool_for_all_have_no_remedy) {
  const joined_lists many_sizes({{"batch_in_function", "fill", 2'400'000, 120'000, 1}, churned}, 6);
  EXPECT_EQ(many_sizes.remedies(), (remedies_of_sites{remedy::nothing, remedy::nothing}));
  EXPECT_TRUE(has(many_sizes.sites[1].evidence, "neither one arena nor one pool serves all"));
}

/// Sites of 48 bytes whose objects die at one call.
struct freed_site {
  const char* rule;
  container_kind kind;
  int objects;
};

/// Returns: the remedies after the sites were joined.
remedies_of_sites joined(const std::vector<freed_site>& of) {
  scene s;
  std::vector<std::uint32_t> stacks;
  std::vector<std::uint64_t> live;
  for (const freed_site& from : of) {
    stacks.push_back(s.stack({0x1100 + 0x100 * stacks.size(), 0x5000}));
    for (int i = 0; i < from.objects; ++i) live.push_back(s.allocate(48, stacks.back()));
  }
  for (const std::uint64_t object : live) s.free(object, s.stack({0x9000, 0xA000}));
  s.play();
  std::vector<advised_site> sites(of.size());
  for (std::size_t i = 0; i < of.size(); ++i) {
    sites[i].rule = &rule_named(of[i].rule);
    sites[i].request.kind = of[i].kind;
    sites[i].node = s.tree.levels(stacks[i]).front();
    sites[i].features = &s.seen().of(sites[i].node);
  }
  const auto no_owner = [](const advised_site&) { return std::pair(std::string(), 0.0); };
  join_shared_frees(sites, s.tree, s.seen(), s.names(), no_owner, {});
  remedies_of_sites all;
  for (const advised_site& site : sites) all.push_back(site.rule->proposes);
  return all;
}

/// That few objects have the pool of those that their free frees too is tested end to end.
TEST(freed_by_one_call, a_site_without_a_container_joins_all_containers_which_else_are_judged_apart) {
  const freed_site list{"few_sizes", container_kind::node, 4000}, few{"small", container_kind::node, 5};
  EXPECT_EQ(joined({list, few}), (remedies_of_sites{remedy::pool, remedy::nothing}));
  EXPECT_EQ(joined({list, few, {"few_sizes", container_kind::none, 4000}}), remedies_of_sites(3, remedy::pool));
}

TEST(proposals, unmeasured_are_the_remedies_that_leave_fewer_requests) {
  std::string proposed, measured_first;
  for (const advice_rule& rule : advice_rules()) {
    advised_site s;
    s.rule = &rule;
    const standing is = standing_of(s);
    EXPECT_EQ(is == standing::nothing, rule.proposes == remedy::nothing) << rule.name;
    const std::string name(facts_of(rule.proposes).name);
    if (is == standing::proposed) proposed += name + " ";
    if (is == standing::not_measured) measured_first += name + " ";
    for (const finding found : {finding::gain, finding::level, finding::loss, finding::undecided}) {
      s.trial.found = found;
      const bool is_no_gain = found == finding::level || found == finding::loss;
      EXPECT_EQ(is_unchanged(s), is == standing::nothing || (is == standing::not_measured && is_no_gain)) << rule.name;
    }
  }
  EXPECT_EQ(proposed, "inline_buffer reserve keep_object ");
  EXPECT_EQ(measured_first, "hand_over region segregate scratch arena static_plan counted_arena pool ");
}

using texts = std::vector<std::string>;

TEST(titles, one_mark_that_no_other_site_has_suffices) {
  EXPECT_EQ(distinctions({{"← a", "← b", "← c"}, {"← a", "← d", "← e"}}), (texts{"← b", "← d"}));
}

TEST(titles, callers_together_tell_what_none_tells_alone) {
  const texts found = distinctions({{"← lexer", "← left", "← up"},
                                    {"← lexer", "← left", "← down"},
                                    {"← lexer", "← right", "← up"},
                                    {"← lexer", "← right", "← down"}});
  EXPECT_EQ(found, (texts{"← left ← up", "← left ← down", "← right ← up", "← right ← down"}));
}

TEST(titles, a_site_whose_marks_others_have_too_has_none) {
  EXPECT_EQ(distinctions({{"← a"}, {"← a", "← b"}}), (texts{"", "← b"}));
  EXPECT_EQ(distinctions({{"← a"}, {"← a"}}), (texts{"", ""}));
  EXPECT_EQ(distinctions({{"← a"}}), (texts{""}));
}

}  // namespace
