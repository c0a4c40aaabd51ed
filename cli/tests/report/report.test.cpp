// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar report`, and of the thread that reads ahead: each event is given once, and the end is
// found, for any number of them.
#include <cstdint>
#include <stdexcept>

#include "cli/report/read_ahead.hpp"
#include "cli/tests/command.hpp"

namespace {

using ashlar_test::has, ashlar_test::starts;
using nlohmann::json;

class report : public ashlar_test::command_test {};

TEST_F(report, prints_sections_that_fit_100_columns) {
  ASSERT_EQ(ashlar("report " + sample(20000, 2)), 0) << text("err");
  expect_100_columns();
  for (const char* section : {"sample program\n", "\nlive bytes over time\n", "\nsize ", "\nlifetime ",
                              "\nlifetime in bytes allocated ", "\nthread ", "most common: "})
    EXPECT_TRUE(said("out", section));
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
  const std::string trace = trace_of(ASHLAR_VICTIM " spans");
  ASSERT_EQ(ashlar("report " + trace + " --html " + file("r.html") + " --json " + file("r.json")), 0) << text("err");
  const json j = json::parse(text("r.json"));
  ASSERT_EQ(j["spans"].size(), 2U);
  EXPECT_EQ(j["spans"][0]["name"], "parse");
  EXPECT_EQ(j["spans"][0]["count"], 3);
  EXPECT_EQ(j["spans"][1]["most_peak_bytes"], 91'000);
  EXPECT_GE(j["spans"][1]["longest_ns"], j["spans"][1]["p50_ns"]);
  for (const char* where : {"out", "r.html"})
    for (const char* name : {"request", "main thread", "worker"}) EXPECT_TRUE(has(text(where), name)) << where << name;
}

TEST_F(report, a_trace_of_no_events_is_reported_as_such) {
  const std::string trace = sample(0);
  EXPECT_EQ(ashlar("report " + trace + " --html " + file("r.html")), 0) << text("err");
  EXPECT_TRUE(said("out", "0 events in "));
  EXPECT_TRUE(said("out", "  calls          none\n"));
  for (const char* absent : {"nan", "lifetime", "thread  from"}) EXPECT_FALSE(has(text("out"), absent)) << absent;
  for (const char* where : {"out", "r.html"}) {
    EXPECT_TRUE(has(text(where), "No call sites: nothing was recorded."));
    EXPECT_FALSE(has(text(where), "the trace has no stacks"));
  }
  EXPECT_EQ(ashlar("report " + trace + " --json -"), 0) << text("err");
  EXPECT_EQ(json::parse(text("out"))["events"], 0);
}

TEST_F(report, what_is_no_trace_fails) {
  const std::string none = file("no.trace"), empty = file("empty.trace"), text_file = file("x.trace");
  std::ofstream(empty).flush();
  std::ofstream(text_file) << "this is not a trace, and long enough to be sure of that: a hundred bytes or so of text";
  expect_mistakes("report", {{none, 1, none + ": no such file\n"},
                             {empty, 1, empty + ": the file is empty\n"},
                             {text_file, 1, text_file + ": "}});
}

TEST_F(report, two_outputs_in_one_place_are_refused) {
  const std::string trace = sample(100), place = file("place");
  for (const std::string verb : {"report", "replay", "advise"}) {
    const std::string help = "; see ashlar " + verb + " --help\n";
    EXPECT_EQ(ashlar(verb + " " + trace + " --json " + place + " --html " + file("./place")), 2);
    EXPECT_EQ(text("err"), "ashlar " + verb + ": --json and --html would both write to " + place + help);
    EXPECT_EQ(ashlar(verb + " " + trace + " --json - --html -"), 2);
    EXPECT_EQ(text("err"), "ashlar " + verb + ": --json and --html would both write to standard output" + help);
    EXPECT_EQ(text("out"), "");
  }
  EXPECT_FALSE(std::filesystem::exists(place));
  EXPECT_EQ(ashlar("report " + trace + " --html -"), 0) << text("err");
  EXPECT_TRUE(starts(text("out"), "<!DOCTYPE html>")) << text("out").substr(0, 200);
}

using ashlar::cli::read_ahead;
using ashlar::trace::event;

/// Numbers its events, and may fail in place of the last.
struct counting_reader {
  std::uint64_t events;
  bool fails = false;
  std::uint64_t done = 0;

  bool next(event& e) {
    if (done == events) return fails ? throw std::runtime_error("no more") : false;
    e.time_ns = ++done;
    return true;
  }
};

std::uint64_t read_in_order(read_ahead<counting_reader>& ahead) {
  std::uint64_t seen = 0;
  while (const event* const e = ahead.next()) EXPECT_EQ(e->time_ns, ++seen);
  return seen;
}

TEST(read_ahead, gives_each_event_once_and_in_order) {
  for (const std::uint64_t events : {0U, 1U, 2047U, 2048U, 2049U, 4096U, 4097U, 100'000U}) {
    counting_reader reader{events};
    read_ahead ahead(reader);
    EXPECT_EQ(read_in_order(ahead), events);
    EXPECT_EQ(ahead.next(), nullptr);
  }
}

TEST(read_ahead, throws_what_the_reader_has_thrown_behind_its_events) {
  for (const std::uint64_t events : {0U, 5U, 4096U, 4100U}) {
    counting_reader reader{events, true};
    read_ahead ahead(reader);
    for (std::uint64_t i = 1; i <= events; ++i) EXPECT_EQ(ahead.next()->time_ns, i);
    EXPECT_THROW(read_in_order(ahead), std::runtime_error);
    EXPECT_EQ(ahead.next(), nullptr);
  }
}

TEST(read_ahead, ends_wherever_it_is_abandoned) {
  for (const int read : {0, 1, 2048, 5000}) {
    counting_reader reader{1'000'000};
    read_ahead ahead(reader);
    for (int i = 0; i < read; ++i) EXPECT_NE(ahead.next(), nullptr);
  }
}

}  // namespace
