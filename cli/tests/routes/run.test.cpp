// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar run --plan` on a program whose sites are known: what is routed, and what is refused.
#include <algorithm>
#include <csignal>
#include <ranges>
#include <stdexcept>

#include "cli/routes/handover.hpp"
#include "cli/routes/plan.hpp"
#include "cli/support/elf_file.hpp"
#include "cli/tests/command.hpp"

#if defined(ASHLAR_ROUTE_VICTIM)

namespace {

using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::starts;

constexpr int exit_not_for_it = 124;
constexpr std::uint64_t small_budget = 200'000;
const std::string victim = ASHLAR_ROUTE_VICTIM;
const std::string plugin = ASHLAR_ROUTE_PLUGIN;

class run_by_plan : public ashlar_test::command_test {
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

  [[nodiscard]] static route_site site_of(std::vector<route_frame> chain) {
    return {.chain = std::move(chain), .function = {}, .source = {}};
  }

  void add(const std::string& name, route_remedy remedy, const std::vector<std::vector<std::string>>& chains,
           std::uint64_t budget = std::uint64_t{1} << 30) {
    route_group group{.name = name,
                      .remedy = remedy,
                      .cell_bytes = remedy == route_remedy::pool ? 80U : 0U,
                      .chunk_bytes = std::uint64_t{1} << 14,
                      .budget_bytes = budget,
                      .sites = {}};
    for (const auto& names : chains) {
      std::vector<route_frame> chain;
      for (const std::string& each : names) chain.push_back(frame(each));
      group.sites.push_back(site_of(chain));
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

  [[nodiscard]] testing::AssertionResult complained(const std::string& of) const { return said("err", of); }

  /// Effects: adds the first site once more, as one of another module of the same file.
  void add_site_of_module(int number) {
    const std::string id = std::to_string(1000 + number);
    plan_.modules[id] = victim;
    plan_.groups[0].sites.push_back(site_of({{.build_id = id, .offset = frame("pool").offset}}));
  }

  /// Returns: the bytes that a plan takes for the router, or 0: it is refused.
  [[nodiscard]] static std::size_t text_bytes(const route_plan& plan) {
    try {
      return handover_text(plan, true).size();
    } catch (const std::runtime_error&) {
      return 0;
    }
  }

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
  EXPECT_TRUE(complained("3 of 3 sites found"));
  EXPECT_TRUE(
      starts(text("err"), "ashlar run: " + file("a.plan") + ": 3 sites in 3 groups\n  cells, a pool of cells "));
}

TEST_F(run_by_plan, prints_a_line_that_routes) {
  add("cells", route_remedy::pool, {{"pool"}});
  ASSERT_EQ(run("work " + plugin, victim, " --print"), 0) << text("err");
  const std::string line = text("out");
  EXPECT_EQ(ashlar_test::run_shell("exec > " + file("out") + " 2> " + file("err") + "; " + line), 0);
  EXPECT_EQ(text("out"), "child: 0\ndone\n");
  EXPECT_GE(allocations("cells"), 3000) << text("err");
}

TEST_F(run_by_plan, a_plan_without_groups_routes_nothing) {
  ASSERT_EQ(run("chains"), 0) << text("err");
  EXPECT_EQ(text("out"), "done\n");
  EXPECT_TRUE(complained(": the plan has no groups: nothing is routed\n"));
  ASSERT_EQ(run("chains", victim, " --print"), 0) << text("err");
  EXPECT_TRUE(said("out", "/libashlar.so")) << "nothing pays for the router";
  EXPECT_FALSE(has(text("out"), "ASHLAR_ROUTE"));
}

TEST_F(run_by_plan, the_longest_chain_decides) {
  add("one", route_remedy::pool, {{"inner", "one"}});
  add("rest", route_remedy::arena, {{"inner"}});
  ASSERT_EQ(run("chains"), 0) << text("err");
  EXPECT_EQ(allocations("one"), 100) << text("err");
  EXPECT_EQ(allocations("rest"), 200) << text("err");
}

/// A group of one site, what the victim does with it, and what becomes of it.
struct scene {
  const char* name;
  const char* mode;
  route_remedy remedy;
  std::uint64_t budget, cell_bytes;
  const char* out;       // null: any
  long least, most;      // allocations
  const char* given_up;  // why; null: it is not
};

constexpr route_remedy pool = route_remedy::pool, arena = route_remedy::arena;
constexpr std::uint64_t large_budget = std::uint64_t{1} << 30;
constexpr long any = 1L << 40;
constexpr scene scenes[] = {
    {"pins_more_than_its_budget", "survivors", arena, small_budget, 0, "5000\n", 0, 9'999, "pinned "},
    {"holds_far_more_than_was_ever_alive", "survivors", arena, large_budget, 0, "5000\n", 4000, 6999, "pinned "},
    {"arena_holds_what_was_alive", "thinned", arena, large_budget, 0, "", 120'000, 120'000, nullptr},
    {"pool_holds_what_was_alive", "thinned", pool, large_budget, 80, "", 120'000, 120'000, nullptr},
    {"is_filled_and_emptied_again_and_again", "batches", pool, small_budget, 80, "few faults\n", 1'200'000, any,
     nullptr},
    {"ends_where_another_mapping_is_until_a_chunk_is_free", "blocked", pool, large_budget, 80, "part 0 100000\n", 0,
     any, nullptr},
    {"has_one_block_in_each_thread", "holders", pool, small_budget, 80, "0\n", 150, 150, nullptr},
    {"has_cells_too_large", "batches", pool, small_budget, 1024, nullptr, 0, 1999, "pinned "},
    {"has_blocks_that_die_young", "temporaries", pool, large_budget, 80, "", 0, 9'999, "its blocks die young"}};

void PrintTo(const scene& s, std::ostream* to) { *to << s.name; }

class run_scene : public run_by_plan, public testing::WithParamInterface<scene> {};

TEST_P(run_scene, keeps_a_group_or_gives_it_up) {
  const scene& s = GetParam();
  add("group", s.remedy, {{s.remedy == pool ? "pool" : "arena"}}, s.budget);
  plan_.groups[0].cell_bytes = s.cell_bytes;
  ASSERT_EQ(run(s.mode), 0) << text("err");
  if (s.out != nullptr) EXPECT_EQ(text("out"), s.out);
  EXPECT_GE(allocations("group"), s.least) << text("err");
  EXPECT_LE(allocations("group"), s.most) << text("err");
  EXPECT_EQ(static_cast<bool>(complained("given up")), s.given_up != nullptr) << text("err");
  if (s.given_up != nullptr) EXPECT_TRUE(complained(std::string("given up: ") + s.given_up));
}

INSTANTIATE_TEST_SUITE_P(of, run_scene, testing::ValuesIn(scenes),
                         [](const auto& info) { return std::string(info.param.name); });

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

TEST_F(run_by_plan, a_group_that_is_given_up_takes_back_what_other_threads_free) {
  add("cells", route_remedy::pool, {{"pool"}}, std::uint64_t{1} << 21);
  plan_.groups[0].cell_bytes = 160;
  ASSERT_EQ(run("handed_over"), 0) << text("err");
  EXPECT_GE(allocations("cells"), 8000) << text("err");
  EXPECT_TRUE(complained("given up: pinned "));
  EXPECT_LE(last_chunks("cells"), 1) << text("err");
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
    EXPECT_TRUE(failed(run("chains"), 1, "frame 1 of it has no fixed size")) << frame_name;
  }
}

TEST_F(run_by_plan, a_block_that_is_freed_twice_ends_the_program) {
  add("cells", route_remedy::pool, {{"pool"}});
  EXPECT_TRUE(failed(run("twice"), 128 + SIGABRT, "ashlar: route: group cells: a block of the chunk of 0x"));
  EXPECT_TRUE(complained(" was freed twice, or was never allocated\n"));
}

TEST_F(run_by_plan, a_wrong_plan_stays_correct) {
  add("all", route_remedy::arena, {{"pool"}, {"arena"}, {"inner"}, {"plugin"}}, 0);
  ASSERT_EQ(run("work " + plugin), 0) << text("err");
  EXPECT_EQ(text("out"), "child: 0\ndone\n");
}

TEST_F(run_by_plan, is_refused_for_another_program_or_build) {
  add("cells", route_remedy::pool, {{"pool"}, {"plugin"}});
  EXPECT_TRUE(failed(run("", "/bin/true"), exit_not_for_it, "the plan is for another program than /bin/true"));
  const std::string rebuilt = file("rebuilt");
  std::filesystem::copy_file("/bin/true", rebuilt);
  plan_.modules["ab12"] = rebuilt;
  EXPECT_TRUE(failed(run("", rebuilt), exit_not_for_it,
                     "the plan is for another build of " + rebuilt + ": for build id ab12, and that file has "));
  plan_.modules.erase("ab12");
  plan_.modules[build_id_of(plugin)] = "/bin/true";
  EXPECT_TRUE(failed(run("work " + plugin), exit_not_for_it, "the plan is for another build of /bin/true"));
  EXPECT_FALSE(complained("--wrapped")) << text("err");
  plan_.modules[build_id_of(plugin)] = file("gone.so");
  EXPECT_TRUE(failed(run("work " + plugin), exit_not_for_it, "gone.so, which the plan is for, is not there"));
  EXPECT_EQ(text("out"), "");
}

TEST_F(run_by_plan, another_program_may_start_that_of_the_plan) {
  add("cells", route_remedy::pool, {{"pool"}});
  std::ofstream(file("a.plan")) << to_text(plan_);
  const std::string script = " -- sh -c '" + victim + " work " + plugin + "; true'";
  EXPECT_TRUE(failed(ashlar("run --report --plan " + file("a.plan") + script), exit_not_for_it,
                     "; --wrapped, if it starts that one\n"));
  ASSERT_EQ(ashlar("run --wrapped --report --plan " + file("a.plan") + script), 0) << text("err");
  EXPECT_GE(allocations("cells"), 3000) << text("err");
  EXPECT_TRUE(failed(ashlar("run --wrapped" + script), 2, "--wrapped needs --plan"));
}

TEST_F(run_by_plan, a_program_of_a_plan_with_a_relative_path_is_that_of_the_current_directory) {
  add("cells", route_remedy::pool, {{"pool"}});
  plan_.program = std::filesystem::relative(victim).string();
  plan_.modules[build_id_of(victim)] = plan_.program;
  const std::string script = "-c '" + victim + " work " + plugin + "; true'";
  ASSERT_EQ(run(script, "sh", " --wrapped"), 0) << text("err");
  EXPECT_GE(allocations("cells"), 3000) << text("err");
  std::filesystem::create_directory(file("other"));
  EXPECT_TRUE(failed(ashlar_test::run_shell("cd " + file("other") + "; " ASHLAR_COMMAND " run --wrapped --plan " +
                                            file("a.plan") + " -- sh " + script + " 2> " + file("err")),
                     exit_not_for_it, "ashlar run: " + plan_.program + ", which the plan is for, is not there\n"));
}

TEST_F(run_by_plan, a_folder_cannot_be_run_and_a_missing_program_of_the_plan_is_named) {
  add("cells", route_remedy::pool, {{"pool"}});
  EXPECT_TRUE(failed(run("", file("")), 126, ": is a directory"));
  plan_.program = "./gone";
  EXPECT_TRUE(failed(run("-c true", "sh", " --wrapped"), exit_not_for_it,
                     "ashlar run: ./gone, which the plan is for, is not there\n"));
}

TEST_F(run_by_plan, the_files_of_a_plan_become_absolute) {
  add("cells", route_remedy::pool, {{"pool"}});
  const std::string relative = std::filesystem::relative(victim).string();
  EXPECT_EQ(bind_plan(plan_, relative), "");
  EXPECT_EQ(plan_.modules.at(build_id_of(victim)), victim);
}

TEST_F(run_by_plan, a_file_that_is_no_plan_starts_nothing) {
  std::ofstream(file("b.plan")) << "no plan\n";
  EXPECT_TRUE(failed(ashlar("run --plan " + file("b.plan") + " -- " + victim + " chains"), 1,
                     "b.plan:1: no plan: the first line is no JSON object; a plan is what "));
  EXPECT_TRUE(failed(ashlar("run --plan " + file("none") + " -- " + victim + " chains"), 1, "none: no such file"));
  EXPECT_EQ(text("out"), "");
  EXPECT_EQ(ashlar("run --report -- " + victim + " chains"), 2);
  EXPECT_TRUE(
      failed(ashlar("run --plan " + file("b.plan") + " -- " + file("gone")), 127, file("gone") + ": no such program"));
}

TEST_F(run_by_plan, an_offset_outside_the_code_of_its_module_is_refused) {
  add("cells", route_remedy::pool, {{"pool"}});
  const auto refusal = [&](std::uint64_t offset, const std::string& site) {
    return "ashlar run: " + site + " of group 'cells' is offset " + std::to_string(offset) + " of " + victim +
           ", which has no code there: no call returns to it\n";
  };
  route_site& site = plan_.groups[0].sites[0];
  for (const std::uint64_t offset : {std::uint64_t{1}, most_offset}) {
    site.chain[0].offset = offset;
    EXPECT_EQ(run("chains"), 1);
    EXPECT_EQ(text("err"), refusal(offset, "the site " + hexadecimal(offset)));
  }
  site = {
      .chain = {frame("inner"), {.build_id = build_id_of(victim), .offset = 1}}, .function = "f", .source = "f.cpp:1"};
  EXPECT_EQ(run("chains"), 1);
  EXPECT_EQ(text("err"), refusal(1, "frame 2 of the site f (f.cpp:1)"));
  EXPECT_EQ(text("out"), "");
}

TEST_F(run_by_plan, as_many_sites_as_one_variable_takes_are_routed_and_more_are_refused) {
  add("cells", route_remedy::pool, {{"inner", "one"}});
  std::vector<route_site> all = plan_.groups[0].sites, &sites = plan_.groups[0].sites;
  frame_steps steps;
  for (route_frame at = {.build_id = build_id_of(victim)}; all.size() != 10'000 && at.offset != 1 << 20; ++at.offset)
    if (steps.is_code(victim, at.offset) && at != frame("one")) all.push_back(site_of({frame("inner"), at}));
  std::size_t bytes = 0;
  const auto fits = [&](std::size_t n) {
    sites.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
    return (bytes = text_bytes(plan_)) != 0;
  };
  const std::size_t more = *std::ranges::partition_point(std::views::iota(std::size_t{1}, all.size()), fits);
  ASSERT_LT(more, all.size()) << "the program has too little code";
  ASSERT_TRUE(fits(more - 1));
  EXPECT_GT(bytes, 130'000U);
  ASSERT_EQ(run("chains"), 0) << text("err");
  const std::string found = grouped(more - 1) + " of " + counted(more - 1, "site") + " found";
  EXPECT_TRUE(complained(found));
  EXPECT_GE(allocations("cells"), 100) << text("err");
  EXPECT_FALSE(fits(more));
  EXPECT_EQ(run("chains"), 1);
  EXPECT_TRUE(
      complained(" bytes, and one variable of the environment has 130048: leave out those with the least gain\n"));
}

TEST_F(run_by_plan, sites_in_as_many_modules_as_a_router_takes_are_handed_over_and_more_are_refused) {
  add("cells", route_remedy::pool, {{"pool"}});
  for (int i = 1; i != 256; ++i) add_site_of_module(i);
  EXPECT_NE(text_bytes(plan_), 0U);
  add_site_of_module(256);
  try {
    static_cast<void>(handover_text(plan_, false));
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the plan has sites in 257 modules, and a router takes 256: leave out those with the "
                               "least gain");
  }
}

TEST_F(run_by_plan, the_router_names_the_line_that_is_no_part_of_a_plan) {
  const auto run_with = [&](const std::string& plan) {
    return ashlar_test::run_shell("ASHLAR_ROUTE='" + plan + "' LD_PRELOAD=" ASHLAR_ROUTER " " + victim + " chains > " +
                                  file("out") + " 2> " + file("err"));
  };
  std::string modules;
  for (int i = 0; i != 257; ++i) modules += "\nm " + std::to_string(10'000 + i);
  for (const auto& [plan, line] :
       std::map<std::string, std::string>{{"route 2", "1"}, {"route 1\ns 0 1", "2"}, {"route 1" + modules, "258"}}) {
    EXPECT_EQ(run_with(plan), 0) << plan;
    EXPECT_EQ(text("out"), "done\n");
    EXPECT_EQ(text("err"), "ashlar: ASHLAR_ROUTE: line " + line + " is no part of a plan: nothing is routed\n");
  }
}

}  // namespace

#endif
