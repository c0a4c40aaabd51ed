// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar diff`: how the call sites of two builds are matched, and the comparison as a user meets it.
#include "cli/diff/diff.hpp"

#include "cli/tests/command.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::starts;
using nlohmann::json;

/// Returns: "word site" of each change, in its order.
std::vector<std::string> changes_in(const json& diff) {
  std::vector<std::string> all;
  for (const json& c : diff["changes"])
    all.push_back(c["change"].get<std::string>() + " " +
                  (c["site"].is_null() ? c["was_site"] : c["site"]).get<std::string>());
  return all;
}

using bytes_by_place = std::map<std::string, std::uint64_t>;

/// Returns: the JSON of two sides with one object at each place.
json matched(const bytes_by_place& before, const bytes_by_place& after) {
  trace_diff diff;
  for (const auto& [place, n] : before) diff.before.by_place[place] = {{.objects = 1, .bytes = n}, {}, 0};
  for (const auto& [place, n] : after) diff.after.by_place[place] = {{.objects = 1, .bytes = n}, {}, 0};
  compare_sites(diff);
  return diff_json(diff);
}

/// The line of g has moved by one, and of the two of h the second is gone and the first has moved.
TEST(diff_sites, are_matched_by_function_and_line) {
  const json diff = matched({{"same (a.cpp:1)", 5},
                             {"g (a.cpp:9)", 10},
                             {"h (a.cpp:99)", 7},
                             {"h (a.cpp:100)", 50},
                             {"gone (a.cpp:30)", 400},
                             {"prog+0x10", 1},
                             {"less (libx.so)", 90}},
                            {{"same (a.cpp:1)", 5},
                             {"g (a.cpp:10)", 13},
                             {"h (a.cpp:101)", 7},
                             {"new (b.cpp:1)", 300},
                             {"prog+0x20", 2},
                             {"less (libx.so)", 70}});
  EXPECT_EQ(changes_in(diff),
            (std::vector<std::string>{"gone gone (a.cpp:30)", "new new (b.cpp:1)", "gone h (a.cpp:100)",
                                      "fewer less (libx.so)", "more g (a.cpp:10)", "new prog+0x20", "gone prog+0x10"}));
  EXPECT_EQ(diff["changes"][4]["was_site"], "g (a.cpp:9)");
  EXPECT_EQ(diff["equal"], 2);
  EXPECT_EQ(diff["text"], "Call sites, matched by function and line: 2 new, 3 gone, 1 more, 1 fewer, 2 equal.");
}

/// Two lines of each three are lines of other sites in the other build.
TEST(diff_sites, of_a_function_that_has_moved_are_the_same) {
  const json moved = matched({{"f (a.cpp:10)", 1}, {"f (a.cpp:12)", 2}, {"f (a.cpp:14)", 3}},
                             {{"f (a.cpp:12)", 1}, {"f (a.cpp:14)", 2}, {"f (a.cpp:16)", 9}});
  EXPECT_EQ(changes_in(moved), std::vector<std::string>{"more f (a.cpp:16)"});
  EXPECT_EQ(moved["changes"][0]["was_site"], "f (a.cpp:14)");
  const json in_other_file = matched({{"N::f (a.cpp:3)", 1}}, {{"N::f (b.cpp:70)", 1}});
  EXPECT_EQ(in_other_file["equal"], 1);
  EXPECT_EQ(changes_in(matched({{"std::f (x.so)", 1}}, {{"std::g (x.so)", 1}})).size(), 2U);
}

class diff : public ashlar_test::command_test {
protected:
  std::string earlier(const std::string& name = "old.trace") { return trace_of(ASHLAR_DIFF_EARLIER, name); }
  std::string later(const std::string& name = "new.trace") { return trace_of(ASHLAR_DIFF_LATER, name); }
};

TEST_F(diff, matches_the_sites_of_two_builds_with_lines_moved) {
  ASSERT_EQ(ashlar("diff " + earlier() + " " + later() + " --json " + file("d.json")), 0) << text("err");
  expect_100_columns();
  for (const std::string part : {"\nnew   +9.77 KiB      +10            -  look_up (program.cpp:",
                                 "\ngone  -48.8 KiB      -10            -  read_all (program.cpp:",
                                 "\nmore  +36.1 KiB        -            -  parse (program.cpp:24)"})
    EXPECT_TRUE(said("out", part));
  const json changed = json::parse(text("d.json"));
  ASSERT_EQ(changed["changes"].size(), 3U) << changed["changes"];
  EXPECT_EQ(changed["changes"][1]["was_site"], "parse (program.cpp:22)");
  EXPECT_EQ(changed["changes"][1]["site"], "parse (program.cpp:24)");
  EXPECT_GE(changed["equal"], 2);
  EXPECT_EQ(changed["after"]["allocated"]["objects"], changed["before"]["allocated"]["objects"]);
}

TEST_F(diff, of_a_trace_and_itself_is_empty) {
  const std::string trace = earlier();
  ASSERT_EQ(ashlar("diff " + trace + " " + trace + " --fail-above allocations=0,bytes=0,peak_bytes=0%"), 0);
  EXPECT_TRUE(said("out", ": 0 new, 0 gone, 0 more, 0 fewer, "));
  EXPECT_TRUE(said("out", "\nok  peak_bytes "));
}

TEST_F(diff, fails_where_a_figure_grows_above_its_limit) {
  const std::string few = sample(10000), many = file("many.trace");
  std::filesystem::rename(few, many);
  const std::string both = sample(9000) + " " + many;
  EXPECT_EQ(ashlar("diff " + both + " --fail-above allocations=20%,bytes=1000000000"), 0) << text("out") << text("err");
  EXPECT_EQ(ashlar("diff " + both + " --fail-above allocations=1%,bytes=1000000000 --json " + file("d.json")), 3);
  EXPECT_TRUE(said("out", "\nOVER  allocations "));
  const json limits = json::parse(text("d.json"))["limits"];
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_EQ(limits[0]["kept"], false);
  EXPECT_EQ(limits[0]["growth"], "1%");
  EXPECT_EQ(limits[0]["most"], limits[0]["was"].get<std::uint64_t>() * 101 / 100);
  EXPECT_EQ(limits[1]["kept"], true);
  EXPECT_EQ(ashlar("diff " + many + " " + sample(9000) + " --fail-above allocations=0%"), 0) << "it shrank";
}

TEST_F(diff, adds_several_traces_of_each_side_up) {
  const std::string old = earlier(), now = later();
  ASSERT_EQ(ashlar("diff " + old + " " + now + " --json " + file("one.json")), 0) << text("err");
  ASSERT_EQ(ashlar("diff " + old + " " + now + " --old " + earlier("old2") + " --new " + later("new2") + " --json " +
                   file("two.json")),
            0)
      << text("err");
  const json one = json::parse(text("one.json")), two = json::parse(text("two.json"));
  EXPECT_EQ(two["after"]["traces"].size(), 2U);
  EXPECT_EQ(two["after"]["allocated"]["bytes"], 2 * one["after"]["allocated"]["bytes"].get<int>());
  EXPECT_EQ(two["after"]["peak"], one["after"]["peak"]);
  EXPECT_EQ(two["changes"][2]["allocated"]["objects"], 20);
}

TEST_F(diff, has_a_page_with_the_calls_of_both_sides) {
  ASSERT_EQ(ashlar("diff " + earlier() + " " + later() + " --html -"), 0) << text("err");
  EXPECT_TRUE(starts(text("out"), "<!DOCTYPE html>"));
  for (const char* name : {"look_up", "read_all", "parse (program.cpp:24)"}) EXPECT_TRUE(said("out", name)) << name;
}

TEST_F(diff, tells_of_sides_without_call_sites) {
  const std::string old = earlier();
  ASSERT_EQ(ashlar("diff " + old + " " + sample(100) + " --html " + file("d.html")), 0) << text("err");
  EXPECT_TRUE(said("out", "sample.trace: No call sites: the trace has no stacks"));
}

TEST_F(diff, refuses_what_it_cannot_compare) {
  const std::string trace = sample(3000), none = file("none"), both = trace + " " + trace;
  const std::string help = "; see ashlar diff --help\n";
  expect_mistakes(
      "diff",
      {{none + " " + trace, 1, none + ": no such file\n"},
       {trace, 2, "NEW is required" + help},
       {both + " --fail-above byte=5%", 2,
        "--fail-above: unknown figure 'byte'; did you mean 'bytes'?; known are allocations, bytes, peak_bytes, "
        "never_freed_bytes" +
            help},
       {both + " --fail-above bytes=5kB", 2, "--fail-above: bytes: '5kB' is no growth such as 5% or 1000" + help},
       {both + " --fail-above bytes=-5%", 2, "--fail-above: bytes: '-5%' is no growth such as 5% or 1000" + help},
       {both + " --fail-above bytes", 2, "--fail-above: bytes: '' is no growth such as 5% or 1000" + help},
       {both + " --old " + trace, 2, "one side has 2 traces, the other 1" + help},
       {both + " --process 17", 2, "--process: '17' is not largest, root or the name of a program" + help},
       {both + " --json " + trace, 1, trace},
       {both + " --json - --html -", 2, "--json and --html would both write to standard output" + help}});
}

/// The second half is lost.
TEST_F(diff, holds_no_part_of_a_trace_to_limits) {
  const std::string whole = sample(50000), part = file("part.trace");
  std::filesystem::copy_file(whole, part);
  std::filesystem::resize_file(part, std::filesystem::file_size(whole) / 2);
  const std::string both = "diff " + part + " " + whole;
  EXPECT_EQ(ashlar(both), 1);
  EXPECT_EQ(ashlar(both + " --damaged"), 0) << text("err");
  EXPECT_TRUE(said("out", part + ": The trace is damaged: "));
  EXPECT_EQ(ashlar(both + " --damaged --fail-above bytes=5%"), 1);
  EXPECT_TRUE(starts(text("err"), "ashlar diff: " + part + ": The trace is damaged: ")) << text("err");
}

}  // namespace
