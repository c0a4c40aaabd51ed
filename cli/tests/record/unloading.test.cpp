// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of traces of programs that unload libraries: each stack has the names of its own time.
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/tests/record/command.hpp"

namespace {

using namespace ashlar_test;

class record_unloading : public record_command {
protected:
  static constexpr int other_addresses = 77;

  int record_plugins(const std::string& plugins) {
    return shell(ASHLAR_COMMAND " record -q -o " + file() + " -- " ASHLAR_PLUGINS_VICTIM + plugins);
  }

  /// Returns: the objects of the call sites in `function`, by the report.
  std::uint64_t objects_of(const std::string& function) {
    EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file() + " --json " + file("r.json")), 0) << output();
    std::ifstream from(file("r.json"));
    std::uint64_t sum = 0;
    const auto report = nlohmann::json::parse(from);
    for (const auto& site : report["call_sites_by_objects"])
      if (site.dump().find(function) != std::string::npos) sum += site["allocated"]["objects"].get<std::uint64_t>();
    return sum;
  }
};

/// The first plugin comes again, as other code than its first self.
TEST_F(record_unloading, plugins_at_one_address_are_told_apart) {
  const int status =
      record_plugins(" " ASHLAR_PLUGIN_ONE " " ASHLAR_PLUGIN_TWO " " ASHLAR_PLUGIN_ONE " " ASHLAR_PLUGIN_THREE);
  if (status == other_addresses) GTEST_SKIP() << "the loader uses other addresses";
  ASSERT_EQ(status, 0) << output();
  EXPECT_EQ(objects_of("plugin_one"), 2'000U);
  EXPECT_EQ(objects_of("plugin_two"), 1'000U);
  EXPECT_EQ(objects_of("plugin_three"), 1'000U);
  trace_reader r(file());
  std::map<std::string, std::set<std::uint64_t>> sizes;
  while (const auto e = r.next())
    if (const auto frames = r.stacks()[e->stack]; e->size > 94'000 && !frames.empty())
      sizes[fs::path(ashlar::trace::find_module(r.modules(), frames.front())->path).filename()].insert(e->size);
  const std::map<std::string, std::set<std::uint64_t>> expected{
      {fs::path(ASHLAR_PLUGIN_ONE).filename(), {94'001, 94'003}},
      {fs::path(ASHLAR_PLUGIN_TWO).filename(), {94'002}},
      {fs::path(ASHLAR_PLUGIN_THREE).filename(), {94'004}}};
  EXPECT_EQ(sizes, expected);
}

TEST_F(record_unloading, advice_has_a_site_for_each_plugin) {
  const int status = record_plugins(" " ASHLAR_PLUGIN_ONE " " ASHLAR_PLUGIN_TWO);
  if (status == other_addresses) GTEST_SKIP() << "the loader uses other addresses";
  ASSERT_EQ(status, 0) << output();
  EXPECT_EQ(shell(ASHLAR_COMMAND " advise " + file() + " --json -"), 0) << output();
  EXPECT_TRUE(says("plugin_one")) << output();
  EXPECT_TRUE(says("plugin_two")) << output();
}

}  // namespace
