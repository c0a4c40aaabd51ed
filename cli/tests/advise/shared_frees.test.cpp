// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of sites whose blocks one call frees, made by hand: which of them are judged together.
#include "cli/advise/common_remedy.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cli/advise/rules.hpp"
#include "cli/tests/advise/scene.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::scene;

/// Sites of 48 bytes whose objects die at one call.
class freed_by_one_call : public ::testing::Test {
protected:
  /// Effects: adds a site with `objects` objects.
  void add(const char* rule, container_kind kind, int objects) {
    const std::uint32_t stack = scene_.stack({0x1000 + 0x100 * ++sites_made_, 0x5000});
    for (int i = 0; i < objects; ++i) live_.push_back(scene_.allocate(48, stack));
    advised_site site;
    site.rule = &rule_named(rule);
    site.request.kind = kind;
    sites_.push_back(site);
    stacks_.push_back(stack);
  }

  /// Returns: the remedies after the sites were joined.
  std::vector<remedy> joined() {
    const std::uint32_t death = scene_.stack({0x9000, 0xA000});
    for (const std::uint64_t object : live_) scene_.free(object, death);
    scene_.play();
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      sites_[i].node = scene_.tree.levels(stacks_[i]).front();
      sites_[i].features = &scene_.seen().of(sites_[i].node);
    }
    const auto no_owner = [](std::uint32_t) { return std::pair(std::string(), 0.0); };
    join_shared_frees(sites_, scene_.tree, scene_.seen(), scene_.names(), no_owner, {});
    std::vector<remedy> all;
    for (const advised_site& s : sites_) all.push_back(s.rule->proposes);
    return all;
  }

  scene scene_;
  std::vector<std::uint64_t> live_;
  std::vector<advised_site> sites_;
  std::vector<std::uint32_t> stacks_;
  std::uint64_t sites_made_ = 0;
};

using remedies_of_sites = std::vector<remedy>;

TEST_F(freed_by_one_call, a_site_without_a_container_joins_all_containers) {
  add("few_sizes", container_kind::node, 4000);
  add("small", container_kind::node, 5);
  add("few_sizes", container_kind::none, 4000);
  EXPECT_EQ(joined(), (remedies_of_sites{remedy::pool, remedy::pool, remedy::pool}));
}

TEST_F(freed_by_one_call, a_site_with_few_objects_has_the_pool_of_all) {
  add("few_sizes", container_kind::none, 4000);
  add("small", container_kind::none, 5);
  EXPECT_EQ(joined(), (remedies_of_sites{remedy::pool, remedy::pool}));
}

TEST_F(freed_by_one_call, containers_are_judged_apart) {
  add("few_sizes", container_kind::node, 4000);
  add("small", container_kind::node, 5);
  EXPECT_EQ(joined(), (remedies_of_sites{remedy::pool, remedy::nothing}));
}

}  // namespace
