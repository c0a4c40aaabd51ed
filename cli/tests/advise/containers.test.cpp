// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of sites that allocate for one container, made by hand.
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/advise/common_remedy.hpp"
#include "cli/advise/rules.hpp"

namespace {

using namespace ashlar::cli;

/// Sites of lists, and who is on the stacks of each.
class containers : public ::testing::Test {
protected:
  /// `bytes`: of all objects, which come in `batches` and of which `peak` are alive at once.
  void add(const char* rule, const std::string& owner, std::uint64_t bytes, std::uint64_t peak, std::uint64_t batches,
           std::uint64_t size = 24) {
    site_features& f = features_.emplace_back();
    f.allocated = {bytes / size, bytes};
    f.peak_bytes = peak;
    f.peak_objects = peak / size;
    f.sizes.record(size);
    f.batches.epochs = batches;
    advised_site s;
    s.features = &f;
    s.rule = &rule_named(rule);
    s.request.kind = container_kind::node;
    s.request.container = "std::list";
    s.request.element = "int";
    s.owner = owner;
    s.owner_share = owner.empty() ? 0 : 1;
    sites_.push_back(s);
  }

  /// Returns: the remedies after the sites were joined.
  std::vector<remedy> joined() {
    join_containers(sites_, program_, limits_, [this](const advised_site& s, const std::string& function) {
      return s.evidence == function || on_all_stacks_ == function;
    });
    std::vector<remedy> all;
    for (const advised_site& s : sites_) all.push_back(s.rule->proposes);
    return all;
  }

  std::list<site_features> features_;
  std::vector<advised_site> sites_;
  program_features program_;
  advice_limits limits_;
  std::string on_all_stacks_;
};

using remedies_of_sites = std::vector<remedy>;

TEST_F(containers, an_arena_for_one_and_a_pool_for_the_other_become_a_pool) {
  add("batch_in_function", "fill", 120'000, 120'000, 1);
  add("few_sizes", "fill", 2'400'000, 120'000, 1);
  EXPECT_EQ(joined(), (remedies_of_sites{remedy::pool, remedy::pool}));
  EXPECT_EQ(sites_[0].pool.cell_bytes, 24U);
  EXPECT_NE(sites_[0].evidence.find("2 calls allocate for this std::list, and it has one allocator"), std::string::npos)
      << sites_[0].evidence;
}

TEST_F(containers, an_arena_serves_sites_that_die_with_it) {
  add("batch_in_function", "fill", 1'200'000, 120'000, 10);
  add("few_sizes", "fill", 2'400, 240, 10);
  EXPECT_EQ(joined(), (remedies_of_sites{remedy::arena, remedy::arena}));
}

TEST_F(containers, arenas_that_would_pile_up_together_are_none) {
  add("batch_in_function", "fill", 1'200'000, 120'000, 10);
  add("batch_in_function", "fill", 2'400'000, 120'000, 1);  // of which an arena keeps all until the end
  EXPECT_EQ(joined(), (remedies_of_sites{remedy::pool, remedy::pool}));
}

TEST_F(containers, without_an_arena_or_a_pool_nothing_serves_all) {
  add("batch_in_function", "fill", 2'400'000, 120'000, 1);
  add("few_sizes", "fill", 2'400'000, 120'000, 1);
  for (const std::uint64_t size : {100U, 1000U, 2000U, 3000U, 4000U}) features_.back().sizes.record(size);
  EXPECT_EQ(joined(), (remedies_of_sites{remedy::nothing, remedy::nothing}));
  EXPECT_NE(sites_[1].evidence.find("neither one arena nor one pool serves all"), std::string::npos);
}

TEST_F(containers, of_other_owners_or_elements_stay_apart) {
  add("batch_in_function", "fill", 120'000, 120'000, 1);
  add("few_sizes", "churn", 2'400'000, 120'000, 1);
  add("few_sizes", "fill", 2'400'000, 120'000, 1);
  sites_[2].request.element = "char";
  const remedies_of_sites apart = {remedy::arena, remedy::pool, remedy::pool};
  EXPECT_EQ(joined(), apart);
  EXPECT_EQ(sites_[1].pool.cell_bytes, 0U);
}

TEST_F(containers, a_site_below_the_owner_of_another_is_of_its_container) {
  add("batch_in_function", "fill", 120'000, 120'000, 1);
  add("few_sizes", "", 2'400'000, 120'000, 1);
  sites_[1].evidence = "fill";  // on its stack
  EXPECT_EQ(joined(), (remedies_of_sites{remedy::pool, remedy::pool}));
}

TEST_F(containers, an_arena_below_the_owner_of_another_has_a_scope_of_its_own) {
  add("batch_in_function", "inner", 1'200'000, 12'000, 100);
  add("few_sizes", "outer", 2'400'000, 120'000, 1);
  sites_[0].evidence = "outer";
  EXPECT_EQ(joined(), (remedies_of_sites{remedy::arena, remedy::pool}));
}

TEST_F(containers, threads_of_any_site_are_threads_of_the_pool) {
  add("batch_in_function", "fill", 120'000, 120'000, 1);
  add("few_sizes", "fill", 2'400'000, 120'000, 1);
  features_.front().births.add(1);
  features_.back().births.add(2);
  EXPECT_EQ(joined(), (remedies_of_sites{remedy::pool, remedy::pool}));
  EXPECT_TRUE(sites_[0].pool.has_several_threads);
}

}  // namespace
