// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar report`.
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/tests/command.hpp"

namespace {

using nlohmann::json;

class report : public ashlar_test::command_test {};

TEST_F(report, prints_sections_that_fit_100_columns) {
  ASSERT_EQ(ashlar("report " + sample(20000, 2)), 0) << text("err");
  std::ifstream out(file("out"));
  for (std::string line; std::getline(out, line);) {
    std::size_t columns = 0;
    for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    EXPECT_LE(columns, 100U) << line;
  }
  for (const char* section : {"sample program\n", "\nlive bytes over time\n", "\nsize ", "\nlifetime ",
                              "\nlifetime in bytes allocated ", "\nthread ", "most common: "})
    EXPECT_NE(text("out").find(section), std::string::npos) << section;
}

TEST_F(report, counts_add_up_in_json) {
  ASSERT_EQ(ashlar("report " + sample(20000, 4) + " --json -"), 0) << text("err");
  const json j = json::parse(text("out"));
  EXPECT_EQ(j["events"], 20000);
  EXPECT_EQ(j["thread_count"], 4);
  const auto allocated = j["allocated"]["objects"].get<long long>();
  EXPECT_EQ(allocated - j["frees"].get<long long>(), j["never_freed"]["objects"].get<long long>());
  long long sizes = 0, lifetimes = 0, calls = 0;
  for (const json& row : j["sizes"]) sizes += row["objects"].get<long long>();
  for (const json& row : j["lifetimes_ns"]) lifetimes += row["objects"].get<long long>();
  for (const json& n : j["calls"]) calls += n.get<long long>();
  EXPECT_EQ(sizes, allocated);
  EXPECT_EQ(lifetimes, j["frees"].get<long long>());
  EXPECT_EQ(calls, 20000);
  EXPECT_GT(j["cross_thread_frees"], 0);
  EXPECT_LE(j["live_bytes"].size(), 512U);
}

TEST_F(report, shows_spans_and_names_of_threads) {
  const std::string trace = file("spans.trace");
  ASSERT_EQ(ashlar("record -q -o " + trace + " -- " ASHLAR_VICTIM " spans"), 0) << text("err");
  ASSERT_EQ(ashlar("report " + trace + " --html " + file("r.html") + " --json " + file("r.json")), 0) << text("err");
  const json j = json::parse(text("r.json"));
  ASSERT_EQ(j["spans"].size(), 2U);
  EXPECT_EQ(j["spans"][0]["name"], "parse");
  EXPECT_EQ(j["spans"][0]["count"], 3);
  EXPECT_EQ(j["spans"][1]["most_peak_bytes"], 91'000);
  EXPECT_GE(j["spans"][1]["longest_ns"], j["spans"][1]["p50_ns"]);
  for (const char* where : {"out", "r.html"})
    for (const char* name : {"request", "main thread", "worker"})
      EXPECT_NE(text(where).find(name), std::string::npos) << where << name;
}

TEST_F(report, a_trace_that_is_not_there_fails) {
  EXPECT_EQ(ashlar("report " + file("no.trace")), 1);
  EXPECT_EQ(text("err"), "ashlar report: " + file("no.trace") + ": no such file\n");
}

TEST_F(report, a_trace_of_no_events_is_reported_as_such) {
  const std::string trace = sample(0);
  EXPECT_EQ(ashlar("report " + trace + " --html " + file("r.html")), 0) << text("err");
  EXPECT_NE(text("out").find("0 events in "), std::string::npos) << text("out");
  EXPECT_EQ(text("out").find("nan"), std::string::npos) << text("out");
  for (const char* where : {"out", "r.html"}) {
    EXPECT_NE(text(where).find("No call sites: nothing was recorded."), std::string::npos) << text(where);
    EXPECT_EQ(text(where).find("the trace has no stacks"), std::string::npos) << text(where);
  }
  EXPECT_EQ(ashlar("report " + trace + " --json -"), 0) << text("err");
  EXPECT_EQ(json::parse(text("out"))["events"], 0);
}

TEST_F(report, an_empty_file_fails) {
  std::ofstream(file("empty.trace")).flush();
  EXPECT_EQ(ashlar("report " + file("empty.trace")), 1);
  EXPECT_EQ(text("err"), "ashlar report: " + file("empty.trace") + ": the file is empty\n");
}

TEST_F(report, something_else_is_no_trace) {
  std::ofstream(file("x.trace"))
      << "this is not a trace, and long enough to be sure of that: a hundred bytes or so of text";
  EXPECT_EQ(ashlar("report " + file("x.trace")), 1);
  EXPECT_TRUE(text("err").starts_with("ashlar report: " + file("x.trace") + ": ")) << text("err");
}

TEST_F(report, two_outputs_in_one_place_are_refused) {
  const std::string trace = sample(100), place = file("place");
  for (const std::string verb : {"report", "replay"}) {
    const std::string help = "; see ashlar " + verb + " --help\n";
    EXPECT_EQ(ashlar(verb + " " + trace + " --json " + place + " --html " + file("./place")), 2);
    EXPECT_EQ(text("err"), "ashlar " + verb + ": --json and --html would both write to " + place + help);
    EXPECT_EQ(ashlar(verb + " " + trace + " --json - --html -"), 2);
    EXPECT_EQ(text("err"), "ashlar " + verb + ": --json and --html would both write to standard output" + help);
    EXPECT_EQ(text("out"), "");
  }
  EXPECT_FALSE(std::filesystem::exists(place));
  EXPECT_EQ(ashlar("report " + trace + " --html -"), 0) << text("err");
  EXPECT_TRUE(text("out").starts_with("<!DOCTYPE html>")) << text("out").substr(0, 200);
}

TEST_F(report, help_and_mistakes) {
  EXPECT_EQ(ashlar("report --help"), 0);
  EXPECT_EQ(ashlar("report"), 2);
  EXPECT_EQ(ashlar("report a b"), 2);
}

}  // namespace
