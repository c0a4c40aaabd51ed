// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the plan file: round trips, and the line and reason of each malformed one; and of the list of its sites,
// which fits a page, and tells sites of one name apart.
#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "cli/routes/plan.hpp"
#include "cli/support/text.hpp"
#include "cli/tests/texts.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::starts;

route_plan sample_plan() {
  route_plan plan;
  plan.program = "/usr/bin/victim";
  plan.modules = {{"ab01", "/usr/bin/victim"}, {"cd", "/lib/libx.so"}};
  route_group tokens;
  tokens.name = "tokens";
  tokens.cell_bytes = 88;
  tokens.chunk_bytes = 65536;
  tokens.budget_bytes = ~std::uint64_t{0};
  tokens.sites.push_back({.chain = {{"ab01", 0x1234}}, .function = "make(\"x\")", .source = "a.cpp:7"});
  tokens.sites.push_back({.chain = {{"cd", 1}, {"ab01", most_offset}}, .function = "", .source = ""});
  tokens.evidence = {{"calls", 12}, {"why", {"batch", 0.5}}};
  route_group trees;
  trees.name = "trees";
  trees.remedy = route_remedy::arena;
  trees.chunk_bytes = 4096;
  trees.sites.push_back({.chain = {{"cd", 2}}, .function = "grow", .source = "b.cpp:1"});
  plan.groups = {tokens, trees};
  return plan;
}

route_plan read(const std::string& text) {
  std::istringstream in(text);
  return read_plan(in, "a.plan");
}

/// Returns: the complaint about the text.
std::string complaint(const std::string& text) {
  try {
    static_cast<void>(read(text));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(route_plan, comes_back_as_it_was) {
  const route_plan plan = sample_plan();
  EXPECT_EQ(read(to_text(plan)), plan);
  EXPECT_EQ(to_text(read(to_text(plan))), to_text(plan));
  const route_plan empty{.program = "p", .modules = {}, .groups = {}};
  EXPECT_EQ(read(to_text(empty)), empty);
}

TEST(route_plan, writes_text_that_is_not_utf8) {
  route_plan plan = sample_plan();
  plan.groups[0].sites[0].function = "f\xff";
  EXPECT_EQ(read(to_text(plan)).groups[0].sites[0].function, "f\xEF\xBF\xBD");
}

const std::string head = R"({"plan":1,"program":"p","modules":{"ab":"/p"}})"
                         "\n";

std::string group_line(const std::string& remedy, const std::string& chain) {
  return R"({"group":"g","remedy":)" + remedy + R"(,"sites":[{"chain":)" + chain + R"(,"function":"f","source":""}]})";
}
const std::string sizes = R"("arena","chunk_bytes":65536,"budget_bytes":0)";

TEST(route_plan, names_file_line_and_reason_of_a_bad_head) {
  const std::string wanted = "; a plan is what 'ashlar advise TRACE -o PLAN' writes";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "a.plan:0: the file is empty" + wanted},
      {"\n", "a.plan:1: the first line is empty" + wanted},
      {"  ", "a.plan:1: the first line is empty" + wanted},
      {"elf\n", "a.plan:1: no plan: the first line is no JSON object" + wanted},
      {"<!doctype html>\n<html>", "a.plan:1: a page of HTML, as of 'ashlar advise --html'" + wanted},
      {"{\n  \"features\": {}\n}\n", "a.plan:1: JSON of several lines, as of 'ashlar advise --json'" + wanted},
      {"{\r\n  \"features\": {}\r\n}\r\n", "a.plan:1: JSON of several lines, as of 'ashlar advise --json'" + wanted},
      {"\xEF\xBB\xBF{}\n", "a.plan:1: the file begins with a byte order mark: save it without one" + wanted},
      {"{\"features\":{}}\n", "a.plan:1: no plan: 'plan' is missing" + wanted},
      {"{]\n", "a.plan:1: no JSON"},
      {R"({"plan":1,"progr)", "a.plan:1: the file is cut short here"},
      {"[]\n", "a.plan:1: no plan: the first line is no JSON object" + wanted},
      {"{\"plan\":2}\n", "a.plan:1: a plan of version 2, and this command reads 1"},
      {"{\"plan\":1.0}\n", "a.plan:1: a plan of version 1.0, and this command reads 1"},
      {"{\"plan\":1,\"plan\":1}\n", "a.plan:1: 'plan' stands twice in one object"},
      {"{\"plan\":" + std::string(100'000, '['), "a.plan:1: more than 64 levels of nesting"},
      {"{\"plan\":1}\n", "a.plan:1: 'program' is missing"},
      {R"({"plan":1,"program":3,"modules":{}})", "a.plan:1: 'program' is no text"},
      {R"({"plan":1,"program":"p","modules":[]})", "a.plan:1: 'modules' is no object"},
      {R"({"plan":1,"program":"p","modules":{"XY":""}})", "a.plan:1: 'XY' is no build id"},
      {R"({"plan":1,"program":"p","modules":{"ab":1}})", "a.plan:1: the file of build id ab is no text"},
      {R"({"plan":1,"program":"p","modules":{},"more":1})", "a.plan:1: unknown member 'more'"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(complaint(text), expected) << text;
}

TEST(route_plan, names_the_reason_of_a_bad_group) {
  const std::string chain = R"([["ab",1]])";
  const std::string no_chunk = " is no whole number from 4096 to 16777216";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[]", "a group is no object"},
      {"", "no JSON"},
      {R"({"group":""})", "the name of a group is empty, long, or has control characters"},
      {"{\"group\":\"a\xC2\x9B\"}", "the name of a group is empty, long, or has control characters"},
      {"{\"group\":\"a\x7F\"}", "the name of a group is empty, long, or has control characters"},
      {"{\"group\":\"a\xC2\xA0\xC3\x9B\"}", "'remedy' is missing"},
      {group_line(R"("heap")", chain), "unknown remedy 'heap'; it is pool or arena"},
      {group_line(R"("arena","chunk_bytes":0)", chain), "'chunk_bytes'" + no_chunk},
      {group_line(R"("arena","chunk_bytes":-1)", chain), "'chunk_bytes'" + no_chunk},
      {group_line(R"("arena","chunk_bytes":1e5)", chain), "'chunk_bytes'" + no_chunk},
      {group_line(R"("arena","chunk_bytes":1152921504606846976)", chain), "'chunk_bytes'" + no_chunk},
      {group_line(R"("arena","chunk_bytes":5000)", chain), "'chunk_bytes' is no power of two"},
      {group_line(R"("arena","chunk_bytes":4096)", chain), "'budget_bytes' is missing"},
      {group_line(sizes + R"(,"cell_bytes":8)", chain), "'cell_bytes' is for pools"},
      {group_line(R"("pool","chunk_bytes":4096,"budget_bytes":0,"cell_bytes":0)", chain),
       "'cell_bytes' is no whole number from 1 to 32768"},
      {group_line(R"("pool","chunk_bytes":4096,"budget_bytes":0,"cell_bytes":1025)", chain),
       "'chunk_bytes' has no room for 4 cells"},
      {group_line(sizes + R"(,"budget_bytes":9)", chain), "'budget_bytes' stands twice in one object"},
      {group_line(sizes, "[]"), "'chain' is no list, or empty"},
      {group_line(sizes, R"(["ab",1])"), "a frame is no pair [BUILD_ID, OFFSET]"},
      {group_line(sizes, R"([["cd",1]])"), "build id 'cd' is not in 'modules'"},
      {group_line(sizes, R"([["ab",0]])"), "an offset is no whole number from 1 to 140737488355328"},
      {group_line(sizes, R"([["ab",18446744073709551615]])"), "an offset is no whole number from 1 to 140737488355328"},
      {group_line(sizes + R"(,"colour":1)", chain), "unknown member 'colour'"},
      {group_line(sizes + R"(,"evidence":"")", chain), "'evidence' is no object"},
  };
  for (const auto& [line, expected] : cases) EXPECT_EQ(complaint(head + line + "\n"), "a.plan:2: " + expected) << line;
}

TEST(route_plan, a_site_or_a_name_stands_there_once) {
  const std::string line = group_line(sizes, R"([["ab",1]])") + "\n";
  EXPECT_EQ(complaint(head + line), "none");
  EXPECT_EQ(complaint(head + line + line), "a.plan:3: group 'g' stands there twice");
  std::string other = line;
  other.replace(other.find("\"g\""), 3, "\"h\"");
  EXPECT_EQ(complaint(head + line + other), "a.plan:3: a site of group 'h' stands there twice");
  EXPECT_EQ(complaint(head + line.substr(0, line.size() / 2)), "a.plan:2: the file is cut short here");
}

TEST(route_plan, without_an_end_is_refused) {
  const std::string refusal = "/dev/zero:0: 64 MiB or more: no plan is as large";
  try {
    static_cast<void>(ashlar::cli::read_plan("/dev/zero"));
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), refusal);
  }
}

TEST(route_plan, without_groups_says_why) {
  const route_plan plan{.program = "p", .modules = {}, .groups = {}, .comment = "none gains"};
  EXPECT_EQ(to_text(plan), "{\"comment\":\"none gains\",\"modules\":{},\"plan\":1,\"program\":\"p\"}\n");
  std::istringstream text(to_text(plan));
  EXPECT_EQ(read_plan(text, "a.plan"), plan);
  EXPECT_EQ(complaint("{\"comment\":7,\"modules\":{},\"plan\":1,\"program\":\"p\"}"), "a.plan:1: 'comment' is no text");
}

TEST(route_plan, has_a_bounded_number_of_groups) {
  route_plan plan{.program = "p", .modules = {{"ab", "/p"}}, .groups = {}};
  for (std::size_t i = 0; i <= most_groups; ++i) {
    route_group group = sample_plan().groups[1];
    group.name = std::to_string(i);
    group.sites[0].chain = {{"ab", i + 1}};
    plan.groups.push_back(group);
  }
  EXPECT_EQ(complaint(to_text(plan)), "a.plan:66: more than 64 groups");
}

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
    EXPECT_TRUE(starts(plan_size_text(plan), grouped(100 * groups) + " sites in "));
    EXPECT_TRUE(has(text, " more sites\n"));
    EXPECT_EQ(text.find("  and 48 more groups\n") != std::string::npos, groups == 64) << text;
    EXPECT_LE(widest(text), 100U) << text;
  }
}

TEST(plan_text, has_each_group_that_is_asked_for) {
  route_plan plan{.program = "/bin/prog", .modules = {{"ab", "/bin/prog"}}, .groups = {}};
  for (std::size_t i = 0; i < 40; ++i) plan.groups.emplace_back().sites = {site("f", i), site("g", i)};
  const std::string all = plan_text(plan, 100, 1);
  EXPECT_EQ(std::ranges::count(all, '\n'), 80) << "a group, its first site";
  EXPECT_FALSE(has(all, "more group"));
  EXPECT_TRUE(has(plan_text(plan, 39, 1), "\n  and 1 more group\n"));
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
  EXPECT_TRUE(has(text, "f… at mmmmmmm+0x123456 ← mmmmmmm+0x123456\n"
                        "      ← mmmmmmm+0x123456 ← mmmmmmm+0x123456\n"));
  EXPECT_TRUE(has(text, "+0x123456\n      ← " + std::string(60, 'm') + "+0x123456\n      ← "));
  plan.groups.back().sites.push_back(plan.groups.back().sites.back());
  const std::string counted = plan_text(plan, 100, 1);
  EXPECT_TRUE(has(counted, "+0x123456 and 1 more site\n"));
  EXPECT_LE(widest(counted), 100U) << counted;
}

}  // namespace
