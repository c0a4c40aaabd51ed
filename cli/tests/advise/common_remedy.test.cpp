// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sites that are judged together, made by hand: those of one container, and those whose blocks one call frees.
#include "cli/advise/common_remedy.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cli/advise/rules.hpp"
#include "cli/tests/advise/scene.hpp"

namespace {

using namespace ashlar::cli;
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
  EXPECT_EQ(one_pool.sites[0].pool.cell_bytes, 24U);
  EXPECT_FALSE(one_pool.sites[0].pool.has_several_threads);
  EXPECT_NE(one_pool.sites[0].evidence.find("2 calls allocate for this std::list, and it has one allocator"),
            std::string::npos)
      << one_pool.sites[0].evidence;
  EXPECT_TRUE(threads.sites[0].pool.has_several_threads);
}

TEST(containers, without_an_arena_or_a_pool_for_all_have_no_remedy) {
  const joined_lists many_sizes({{"batch_in_function", "fill", 2'400'000, 120'000, 1}, churned}, 6);
  EXPECT_EQ(many_sizes.remedies(), (remedies_of_sites{remedy::nothing, remedy::nothing}));
  EXPECT_NE(many_sizes.sites[1].evidence.find("neither one arena nor one pool serves all"), std::string::npos);
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
  const auto no_owner = [](std::uint32_t) { return std::pair(std::string(), 0.0); };
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

}  // namespace
