// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The list of a plan's sites fits a page, and tells sites of one name apart.
#include <algorithm>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "cli/routes/plan_text.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"

namespace {

using namespace ashlar::cli;

route_site site(const std::string& function, std::uint64_t offset) {
  return {.chain = {{"ab", offset}}, .function = function, .source = "a.cpp:7"};
}

/// Two groups: a pool of two sites, and an arena of one with the name of the first.
route_plan two_groups() {
  route_plan plan{.program = "/bin/prog", .modules = {{"ab", "/bin/prog"}, {"cd", "/lib/libx.so"}}, .groups = {}};
  route_group& pool = plan.groups.emplace_back();
  pool.name = "tokens";
  pool.cell_bytes = 96;
  pool.evidence["objects"] = 4000;
  pool.sites = {site("make", 0x10), site("copy", 0x20)};
  route_group& arena = plan.groups.emplace_back();
  arena.name = "blocks";
  arena.remedy = route_remedy::arena;
  arena.evidence["objects"] = "many";
  arena.sites = {site("make", 0x30)};
  arena.sites[0].chain.push_back({"cd", 0x40});
  return plan;
}

/// Returns: the columns of the longest line.
std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) most = std::max(most, display_width(line));
  return most;
}

TEST(plan_text, names_each_group_with_its_sites) {
  const route_plan plan = two_groups();
  EXPECT_EQ(plan_size_text(plan), "3 sites in 2 groups");
  EXPECT_EQ(plan_page_text(plan), "  tokens, a pool of cells of 96 B, advised for 4,000 objects:\n"
                                  "    make (a.cpp:7) at prog+0x10\n"
                                  "    copy (a.cpp:7)\n"
                                  "  blocks, an arena:\n"
                                  "    make (a.cpp:7) at prog+0x30 ← libx.so+0x40\n");
  EXPECT_EQ(plan_text(plan, 8, 1), "  tokens, a pool of cells of 96 B, advised for 4,000 objects:\n"
                                   "    make (a.cpp:7) at prog+0x10 and 1 more site\n"
                                   "  blocks, an arena:\n"
                                   "    make (a.cpp:7) at prog+0x30 ← libx.so+0x40\n");
  EXPECT_EQ(plan_text(plan, 1, 1), "  tokens, a pool of cells of 96 B, advised for 4,000 objects:\n"
                                   "    make (a.cpp:7) at prog+0x10 and 1 more site\n"
                                   "  and 1 more group\n");
  EXPECT_EQ(plan_page_text({}), "");
}

TEST(plan_text, titles_of_a_plan_are_one_sites_alone) {
  route_plan plan = two_groups();
  const site_titles titles(plan);
  EXPECT_EQ(titles.of(plan.groups[0]), "make (a.cpp:7) at prog+0x10, copy (a.cpp:7)");
  plan.groups[0].sites.push_back({.chain = {{"ab", 3}}, .function = "f", .source = ""});
  EXPECT_EQ(site_titles(plan).of(plan.groups[0]), "make (a.cpp:7) at prog+0x10, copy (a.cpp:7) and 1 more");
  EXPECT_EQ(site_titles(plan).of(plan.groups[0].sites[2]), "f");
  plan.groups[0].sites[2].function.clear();
  EXPECT_EQ(site_titles(plan).of(plan.groups[0].sites[2]), "3");
}

TEST(plan_text, is_a_page_at_most) {
  for (const std::size_t groups : {1U, 5U, 16U, 64U}) {
    route_plan plan{.program = "/bin/prog", .modules = {{"ab", "/bin/prog"}}, .groups = {}};
    for (std::size_t i = 0; i < groups; ++i) {
      plan.groups.emplace_back().name = "g" + std::to_string(i);
      for (std::size_t k = 0; k < 100; ++k)
        plan.groups.back().sites.push_back(site(std::string(200, 'f') + std::to_string(k % 50), 100 * i + k));
    }
    const std::string text = plan_page_text(plan);
    EXPECT_LE(std::ranges::count(text, '\n'), 50) << text;
    EXPECT_EQ(plan_size_text(plan).rfind(grouped(100 * groups) + " sites in ", 0), 0U);
    EXPECT_NE(text.find(" more sites\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("  and 48 more groups\n") != std::string::npos, groups == 64) << text;
    EXPECT_LE(widest(text), 100U) << text;
  }
}

TEST(plan_text, has_each_group_that_is_asked_for) {
  route_plan plan{.program = "/bin/prog", .modules = {{"ab", "/bin/prog"}}, .groups = {}};
  for (std::size_t i = 0; i < 40; ++i) plan.groups.emplace_back().sites = {site("f", i), site("g", i)};
  const std::string all = plan_text(plan, 100, 1);
  EXPECT_EQ(std::ranges::count(all, '\n'), 80) << "a group, its first site";
  EXPECT_EQ(all.find("more group"), all.npos);
  EXPECT_NE(plan_text(plan, 39, 1).find("\n  and 1 more group\n"), std::string::npos);
}

/// Chains of one name to four frames of libraries, which have more than half of the columns.
TEST(plan_text, long_chains_of_addresses_are_wrapped) {
  route_plan plan{.program = "/bin/prog", .modules = {{"ab", "/bin/prog"}}, .groups = {}};
  for (std::size_t frames = 1; frames <= 4; ++frames)
    for (const std::size_t length : {std::size_t{7}, std::size_t{20}, std::size_t{60}}) {
      const std::string id = std::to_string(length);
      plan.modules[id] = "/lib/" + std::string(length, 'm');
      route_site& last = plan.groups.emplace_back().sites.emplace_back(site(std::string(300, 'f'), length));
      last.chain.assign(frames, {id, 0x123456});
    }
  const std::string text = plan_text(plan, 100, 1);
  EXPECT_LE(widest(text), 100U) << text;
  EXPECT_NE(text.find("f… at mmmmmmm+0x123456 ← mmmmmmm+0x123456\n"
                      "      ← mmmmmmm+0x123456 ← mmmmmmm+0x123456\n"),
            text.npos)
      << text;
  EXPECT_NE(text.find("+0x123456\n      ← " + std::string(60, 'm') + "+0x123456\n      ← "), text.npos) << text;
  plan.groups.back().sites.push_back(plan.groups.back().sites.back());
  const std::string counted = plan_text(plan, 100, 1);
  EXPECT_NE(counted.find("+0x123456 and 1 more site\n"), counted.npos) << counted;
  EXPECT_LE(widest(counted), 100U) << counted;
}

}  // namespace
