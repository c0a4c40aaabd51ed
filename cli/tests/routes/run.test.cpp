// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar run --plan` on a program whose sites are known: what is routed, and what is refused.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/routes/build_id.hpp"
#include "cli/routes/plan.hpp"
#include "cli/tests/command.hpp"

#if defined(ASHLAR_ROUTE_VICTIM)

namespace {

using namespace ashlar::cli;

constexpr int exit_not_for_it = 124;
constexpr std::uint64_t small_budget = 200'000;
const std::string victim = ASHLAR_ROUTE_VICTIM;
const std::string plugin = ASHLAR_ROUTE_PLUGIN;

class run_by_plan : public ashlar_test::replay_command {
protected:
  run_by_plan() {
    EXPECT_EQ(ashlar_test::run_shell(victim + " sites " + plugin + " > " + file("sites")), 0);
    std::ifstream from(file("sites"));
    std::string name;
    for (std::uint64_t offset = 0; from >> name >> offset;) offsets_[name] = offset;
    plan_.program = victim;
    plan_.modules = {{build_id_of(victim), victim}, {build_id_of(plugin), plugin}};
  }

  [[nodiscard]] route_frame frame(const std::string& name) const {
    return {.build_id = build_id_of(name == "plugin" ? plugin : victim), .offset = offsets_.at(name)};
  }

  void add(const std::string& name, route_remedy remedy, const std::vector<std::vector<std::string>>& chains,
           std::uint64_t budget = std::uint64_t{1} << 30) {
    route_group group;
    group.name = name;
    group.remedy = remedy;
    group.cell_bytes = remedy == route_remedy::pool ? 80 : 0;
    group.chunk_bytes = std::uint64_t{1} << 14;
    group.budget_bytes = budget;
    for (const auto& names : chains) {
      route_site site;
      for (const std::string& each : names) site.chain.push_back(frame(each));
      group.sites.push_back(site);
    }
    plan_.groups.push_back(group);
  }

  /// Returns: the exit status; the output is in `text("out")` and `text("err")`.
  int run(const std::string& arguments, const std::string& program = victim, const std::string& options = "") {
    std::ofstream(file("a.plan")) << to_text(plan_);
    return ashlar("run" + options + " --plan " + file("a.plan") + " --report -- " + program + " " + arguments);
  }

  /// @{ Returns: allocations that the report counts for a group, and its chunks at the end; -1 without a line of it.
  [[nodiscard]] long allocations(const std::string& group) const {
    return reported(group + " \\(\\w+\\): ([0-9,]+) allocations");
  }
  [[nodiscard]] long last_chunks(const std::string& group) const {
    return reported(group + " \\(.* at the end ([0-9,]+)");
  }
  /// @}

  [[nodiscard]] long reported(const std::string& pattern) const {
    const std::string all = text("err");
    std::smatch found;
    if (!std::regex_search(all, found, std::regex("route: " + pattern))) return -1;
    return std::stol(std::regex_replace(found[1].str(), std::regex(","), ""));
  }

  [[nodiscard]] bool complained(const std::string& of) const { return text("err").find(of) != std::string::npos; }

  route_plan plan_;
  std::map<std::string, std::uint64_t> offsets_;
};

TEST_F(run_by_plan, routes_threads_children_and_late_modules_and_changes_no_output) {
  add("cells", route_remedy::pool, {{"pool"}});
  add("blocks", route_remedy::arena, {{"arena"}});
  add("late", route_remedy::pool, {{"plugin"}});
  ASSERT_EQ(run("work " + plugin), 0) << text("err");
  EXPECT_EQ(text("out"), "child: 0\ndone\n");
  EXPECT_GE(allocations("cells"), 3000) << text("err");
  EXPECT_GE(allocations("blocks"), 6000) << text("err");
  EXPECT_EQ(allocations("late"), 100) << text("err");
  EXPECT_TRUE(complained("3 of 3 sites found")) << text("err");
}

TEST_F(run_by_plan, a_plan_without_groups_routes_nothing) {
  ASSERT_EQ(run("chains"), 0) << text("err");
  EXPECT_EQ(text("out"), "done\n");
  EXPECT_TRUE(complained(": the plan has no groups: nothing is routed\n")) << text("err");
}

TEST_F(run_by_plan, the_longest_chain_decides) {
  add("one", route_remedy::pool, {{"inner", "one"}});
  add("rest", route_remedy::arena, {{"inner"}});
  ASSERT_EQ(run("chains"), 0) << text("err");
  EXPECT_EQ(allocations("one"), 100) << text("err");
  EXPECT_EQ(allocations("rest"), 200) << text("err");
}

TEST_F(run_by_plan, a_group_that_pins_more_than_its_budget_is_given_up) {
  add("blocks", route_remedy::arena, {{"arena"}}, small_budget);
  ASSERT_EQ(run("survivors"), 0) << text("err");
  EXPECT_EQ(text("out"), "5000\n");
  EXPECT_LT(allocations("blocks"), 10'000) << text("err");
  EXPECT_TRUE(complained("given up: pinned ")) << text("err");
}

TEST_F(run_by_plan, a_pool_that_is_filled_and_emptied_again_and_again_keeps_its_memory) {
  add("cells", route_remedy::pool, {{"pool"}}, small_budget);
  ASSERT_EQ(run("batches"), 0) << text("err");
  EXPECT_EQ(text("out"), "few faults\n");
  EXPECT_EQ(allocations("cells"), 1'200'000) << text("err");  // since what is free pins nothing
}

TEST_F(run_by_plan, free_chunks_keep_their_memory_until_it_is_needed_or_decays) {
  add("cells", route_remedy::pool, {{"pool"}});
  add("blocks", route_remedy::arena, {{"arena"}});
  for (const char* const grower : {"arena", "heap"}) {
    ASSERT_EQ(run(std::string("idle ") + grower, victim, " --option decay=100000"), 0) << text("err");
    EXPECT_EQ(text("out"), "resident gone\n") << grower;
    ASSERT_EQ(run(std::string("idle ") + grower, victim, " --option decay=0"), 0) << text("err");
    EXPECT_EQ(text("out"), "gone gone\n") << grower;
  }
}

TEST_F(run_by_plan, a_thread_with_one_block_takes_no_memory_for_further_ones) {
  add("cells", route_remedy::pool, {{"pool"}}, small_budget);
  ASSERT_EQ(run("holders"), 0) << text("err");
  EXPECT_EQ(text("out"), "0\n");
  EXPECT_EQ(allocations("cells"), 150) << text("err");  // since what was never used pins nothing
}

TEST_F(run_by_plan, a_pool_whose_cells_are_too_large_is_given_up) {
  add("cells", route_remedy::pool, {{"pool"}}, small_budget);
  plan_.groups[0].cell_bytes = 1024;
  ASSERT_EQ(run("batches"), 0) << text("err");
  EXPECT_LT(allocations("cells"), 2000) << text("err");
  EXPECT_TRUE(complained("given up: pinned ")) << text("err");
}

TEST_F(run_by_plan, a_group_whose_blocks_die_young_is_given_up) {
  add("cells", route_remedy::pool, {{"pool"}});
  ASSERT_EQ(run("temporaries"), 0) << text("err");
  EXPECT_LT(allocations("cells"), 10'000) << text("err");
  EXPECT_TRUE(complained("given up: its blocks die young")) << text("err");
}

TEST_F(run_by_plan, a_group_that_is_given_up_takes_back_what_other_threads_free) {
  add("cells", route_remedy::pool, {{"pool"}}, std::uint64_t{1} << 21);
  plan_.groups[0].cell_bytes = 160;
  ASSERT_EQ(run("handed_over"), 0) << text("err");
  EXPECT_GE(allocations("cells"), 20'000) << text("err");
  EXPECT_TRUE(complained("given up: pinned ")) << text("err");
  EXPECT_LE(last_chunks("cells"), 1) << text("err");
}

TEST_F(run_by_plan, a_pool_ends_where_another_mapping_is_until_a_chunk_is_free) {
  add("cells", route_remedy::pool, {{"pool"}});
  ASSERT_EQ(run("blocked"), 0) << text("err");
  EXPECT_EQ(text("out"), "part 0 100000\n");
}

TEST_F(run_by_plan, a_module_that_is_loaded_again_and_again_is_found_and_takes_no_memory) {
  add("cells", route_remedy::pool, {{"pool"}, {"plugin"}});
  ASSERT_EQ(run("reloads " + plugin), 0) << text("err");
  EXPECT_EQ(text("out"), "200 of 200 routed, 100 moved, no memory\n");
}

TEST_F(run_by_plan, a_chain_through_a_frame_of_more_than_32_bits_is_refused) {
  for (const char* const frame_name : {"large_frame", "large_rbp"}) {
    plan_.groups.clear();
    add("cells", route_remedy::pool, {{frame_name, "one"}});
    EXPECT_EQ(run("chains"), 1) << frame_name;
    EXPECT_TRUE(complained("frame 1 of it has no fixed size")) << text("err");
  }
}

TEST_F(run_by_plan, a_block_that_is_freed_twice_ends_the_program) {
  add("cells", route_remedy::pool, {{"pool"}});
  EXPECT_EQ(run("twice"), 128 + SIGABRT);
  EXPECT_TRUE(complained("ashlar: route: group cells: a block of the chunk of 0x")) << text("err");
  EXPECT_TRUE(complained(" was freed twice, or was never allocated\n")) << text("err");
}

TEST_F(run_by_plan, a_wrong_plan_stays_correct) {
  add("all", route_remedy::arena, {{"pool"}, {"arena"}, {"inner"}, {"plugin"}}, 0);
  ASSERT_EQ(run("work " + plugin), 0) << text("err");
  EXPECT_EQ(text("out"), "child: 0\ndone\n");
}

TEST_F(run_by_plan, is_refused_for_another_program_or_build) {
  add("cells", route_remedy::pool, {{"pool"}, {"plugin"}});
  EXPECT_EQ(run("", "/bin/true"), exit_not_for_it);
  EXPECT_TRUE(complained("the plan is for another program than /bin/true")) << text("err");
  plan_.modules[build_id_of(plugin)] = "/bin/true";
  EXPECT_EQ(run("work " + plugin), exit_not_for_it);
  EXPECT_TRUE(complained("the plan is for another build of /bin/true")) << text("err");
  plan_.modules[build_id_of(plugin)] = file("gone.so");
  EXPECT_EQ(run("work " + plugin), exit_not_for_it);
  EXPECT_TRUE(complained("gone.so, which the plan is for, is not there")) << text("err");
  EXPECT_EQ(text("out"), "");
}

TEST_F(run_by_plan, another_program_may_start_that_of_the_plan) {
  add("cells", route_remedy::pool, {{"pool"}});
  std::ofstream(file("a.plan")) << to_text(plan_);
  const std::string script = " -- sh -c '" + victim + " work " + plugin + "; true'";
  EXPECT_EQ(ashlar("run --report --plan " + file("a.plan") + script), exit_not_for_it);
  ASSERT_EQ(ashlar("run --wrapped --report --plan " + file("a.plan") + script), 0) << text("err");
  EXPECT_GE(allocations("cells"), 3000) << text("err");
  EXPECT_EQ(ashlar("run --wrapped" + script), 2);
  EXPECT_TRUE(complained("--wrapped needs --plan")) << text("err");
}

TEST_F(run_by_plan, a_folder_cannot_be_run_and_a_missing_program_of_the_plan_is_named) {
  add("cells", route_remedy::pool, {{"pool"}});
  EXPECT_EQ(run("", file("")), 126);
  EXPECT_TRUE(complained(": Is a directory")) << text("err");
  plan_.program = "./gone";
  EXPECT_EQ(run("-c true", "sh", " --wrapped"), exit_not_for_it);
  EXPECT_EQ(text("err"), "ashlar run: ./gone, which the plan is for, is not there\n");
}

TEST_F(run_by_plan, the_files_of_a_plan_become_absolute) {
  add("cells", route_remedy::pool, {{"pool"}});
  const std::string relative = std::filesystem::relative(victim).string();
  EXPECT_EQ(bind_plan(plan_, relative), "");
  EXPECT_EQ(plan_.modules.at(build_id_of(victim)), victim);
}

TEST_F(run_by_plan, a_file_that_is_no_plan_starts_nothing) {
  std::ofstream(file("b.plan")) << "no plan\n";
  EXPECT_EQ(ashlar("run --plan " + file("b.plan") + " -- " + victim + " chains"), 1);
  EXPECT_TRUE(complained("b.plan:1: no plan: the first line is no JSON object; a plan is what ")) << text("err");
  EXPECT_EQ(ashlar("run --plan " + file("none") + " -- " + victim + " chains"), 1);
  EXPECT_TRUE(complained("none: No such file")) << text("err");
  EXPECT_EQ(text("out"), "");
  EXPECT_EQ(ashlar("run --report -- " + victim + " chains"), 2);
  EXPECT_EQ(ashlar("run --plan " + file("b.plan") + " -- " + file("gone")), 127);
  EXPECT_TRUE(complained(file("gone") + ": no such program")) << text("err");
}

TEST_F(run_by_plan, offsets_that_are_no_sites_route_nothing) {
  add("cells", route_remedy::pool, {{"pool"}});
  plan_.groups[0].sites[0].chain[0].offset = most_offset;
  ASSERT_EQ(run("work " + plugin), 0) << text("err");
  EXPECT_EQ(text("out"), "child: 0\ndone\n");
  EXPECT_EQ(allocations("cells"), 0) << text("err");
  plan_.groups[0].sites[0].chain.push_back(frame("inner"));
  EXPECT_EQ(run("work " + plugin), 1);
  EXPECT_TRUE(complained("frame 1 of it has no fixed size")) << text("err");
}

}  // namespace

#endif
