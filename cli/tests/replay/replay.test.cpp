// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar replay`: tables, files, and one clear line for every error.
#include <dlfcn.h>
#include <zstd.h>

#include "cli/tests/command.hpp"
#include <ashlar/trace/writer.hpp>

namespace {

using ashlar_test::has, ashlar_test::starts;
using nlohmann::json;

class replay : public ashlar_test::command_test {
protected:
  /// Returns: the path of a trace with successive threads, whose blocks the first thread frees.
  [[nodiscard]] std::string threads_sample(std::uint32_t threads) const {
    namespace trace = ashlar::trace;
    trace::writer<> out(trace::file_sink(file("threads.trace").c_str()), {.command_line = {"threads"}});
    std::uint64_t object = 1;
    EXPECT_TRUE(out.append({.size = 100, .object = object}));
    for (std::uint32_t thread = 1; thread <= threads; ++thread) {
      for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(out.append({.time_ns = object, .thread = thread, .size = 100, .object = ++object}));
      EXPECT_TRUE(out.append({.time_ns = object, .thread = thread, .op = trace::operation::thread_end}));
      for (std::uint64_t i = 0; i < 100; ++i)
        EXPECT_TRUE(out.append({.time_ns = object, .op = trace::operation::free_, .object = object - i}));
    }
    EXPECT_TRUE(out.close());
    return file("threads.trace");
  }
};

TEST_F(replay, prints_a_table_that_fits_100_columns_and_a_verdict) {
  ASSERT_EQ(ashlar("replay " + sample(20000) + " --with glibc,ashlar,local_heap,heap --repetitions 2"), 0)
      << text("err");
  expect_100_columns();
  const std::string all = text("out");
  EXPECT_TRUE(starts(all, "sample program: 20,000 operations on 1 thread, 2 repetitions\n"));
  for (const char* row :
       {"\nglibc ", "\nashlar ", "\nlocal_heap ", "\nheap ", "\nnull (replay loop) ", " were live at the peak, "})
    EXPECT_TRUE(has(all, row)) << row;
  EXPECT_FALSE(has(all, "waited"));
  EXPECT_EQ(text("err"), "") << "progress is for terminals";
}

TEST_F(replay, writes_every_figure_as_json) {
  ASSERT_EQ(ashlar("replay " + sample(6000, 3) + " --with glibc,ashlar --repetitions 3 --json -"), 0) << text("err");
  const json j = json::parse(text("out"));
  EXPECT_EQ(j["counts"]["operations"], 6000);
  EXPECT_EQ(j["counts"]["threads"], 3);
  EXPECT_EQ(j["counts"]["impossible"], 0);
  EXPECT_EQ(j["baseline"], "glibc");
  EXPECT_FALSE(j["verdict"].get<std::string>().empty());
  ASSERT_EQ(j["findings"].size(), 1U);
  EXPECT_TRUE(starts(j["findings"][0], "ashlar: ")) << j["findings"];
  for (const char* dimension : {"time", "p99_9", "peak_rss", "end_rss"})
    EXPECT_GT(j["allocators"][1]["against_baseline"][dimension]["ratio"], 0) << dimension;
  ASSERT_EQ(j["allocators"].size(), 4U);
  for (const json& row : j["allocators"]) {
    EXPECT_FALSE(row.contains("failure")) << row;
    const json& ns = row["ns_per_operation"];
    EXPECT_GT(ns["min"], 0);
    EXPECT_LE(ns["min"], ns["median"]);
    EXPECT_LE(ns["median"], ns["max"]);
    EXPECT_LE(row["latency_ns"]["all"]["p99"]["median"], row["latency_ns"]["all"]["max"]["median"]);
    EXPECT_EQ(row["failed_requests"], 0);
  }
  EXPECT_GT(j["allocators"][0]["peak_rss_bytes"]["median"], 100000);
}

TEST_F(replay, a_heap_of_one_thread_is_measured_like_the_others) {
  ASSERT_EQ(ashlar("replay " + sample(20000) + " --with local_heap --repetitions 1 --json -"), 0) << text("err");
  const json j = json::parse(text("out"));
  const json& row = j["allocators"][0];
  EXPECT_EQ(row["kind"], "local_heap");
  EXPECT_EQ(row["failed_requests"], 0);
  EXPECT_GT(row["ns_per_operation"]["median"], 0);
  EXPECT_GT(j["counts"]["peak_live_bytes"], j["counts"]["live_bytes"]);
  EXPECT_GE(row["peak_held_bytes"]["median"], row["end_rss_bytes"]["median"]);
  EXPECT_GT(row["peak_rss_bytes"]["median"], 100000);
  EXPECT_TRUE(j["left_out"].empty());
}

TEST_F(replay, a_heap_of_one_thread_is_left_out_where_threads_share_blocks) {
  ASSERT_EQ(ashlar("replay " + sample(2000, 3) + " --with glibc,local_heap --repetitions 1"), 0) << text("err");
  EXPECT_FALSE(has(text("out"), "\nlocal_heap "));
  EXPECT_TRUE(said("out", "local_heap was left out: it is a heap of one thread, and "));
  EXPECT_EQ(ashlar("replay " + sample(2000, 3) + " --with local_heap --repetitions 1"), 1);
}

TEST_F(replay, a_heap_for_any_thread_serves_threads_that_share_blocks) {
  ASSERT_EQ(ashlar("replay " + sample(8000, 3) + " --with glibc,heap,tiered_heap --repetitions 1 --json " + file("j")),
            0)
      << text("err");
  for (const char* part : {"\nallocator           cpu ns/op  waits  waited\n", "\n· heap is compiled into the replay",
                           "freed or moved by a thread that did not allocate them", "all threads share it",
                           "\n· tiered_heap is compiled into the replay", "does not contain the plan"})
    EXPECT_TRUE(said("out", part));
  const json j = json::parse(text("j"));
  for (const std::size_t which : {1u, 2u}) {
    const json& row = j["allocators"][which];
    EXPECT_EQ(row["kind"], which == 1 ? "heap" : "tiered_heap");
    EXPECT_EQ(row["failed_requests"], 0);
    EXPECT_FALSE(row.contains("failure")) << row;
    EXPECT_GT(row["peak_rss_bytes"]["median"], 100000);
    EXPECT_GE(row["waited_share"]["median"], 0);
    EXPECT_LE(row["waited_share"]["median"], 1);
  }
  EXPECT_GT(j["counts"]["crossing"], 1000);
}

TEST_F(replay, threads_end_where_they_ended) {
  const std::string trace = threads_sample(60);
  ASSERT_EQ(ashlar("replay " + trace + " --with glibc,heap,tiered_heap,ashlar --repetitions 1 --json -"), 0)
      << text("err");
  const json j = json::parse(text("out"));
  EXPECT_EQ(j["counts"]["threads"], 2);
  EXPECT_EQ(j["counts"]["threads_ended"], 60);
  EXPECT_EQ(j["counts"]["operations"], 1 + 60 * 200);
  for (const json& row : j["allocators"]) EXPECT_FALSE(row.contains("failure")) << row;
}

TEST_F(replay, a_note_of_one_object_speaks_of_one) {
  ASSERT_EQ(ashlar("replay " + threads_sample(1) + " --with glibc --repetitions 1"), 0) << text("err");
  EXPECT_TRUE(said("out", "· 1 object was never freed by the program: it is allocated in the replay"));
}

TEST_F(replay, a_library_that_is_no_allocator_fails_and_the_others_go_on) {
  Dl_info zstd{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(&ZSTD_versionNumber), &zstd), 0);
  const std::string library = std::filesystem::canonical(zstd.dli_fname).string();
  EXPECT_EQ(ashlar("replay " + sample(1000) + " --repetitions 1 --with glibc," + library), 1);
  const std::string name = std::filesystem::path(library).filename().string();
  EXPECT_EQ(text("err"), "ashlar replay: " + name + ": " + library + " does not take over malloc\n");
  EXPECT_TRUE(said("out", "\nglibc "));
}

TEST_F(replay, a_damaged_trace_fails_where_it_is_damaged_and_its_start_is_replayed_if_asked_for) {
  const std::string trace = sample(50000);
  std::filesystem::resize_file(trace, std::filesystem::file_size(trace) / 2);
  EXPECT_TRUE(failed(ashlar("replay " + trace + " --with glibc --repetitions 1"), 1, " at byte "));
  EXPECT_EQ(ashlar("replay " + trace + " --with glibc --repetitions 1 --damaged --json -"), 0) << text("err");
  const json j = json::parse(text("out"));
  EXPECT_GT(j["counts"]["operations"], 10000);
  EXPECT_LT(j["counts"]["operations"], 50000);
}

TEST_F(replay, mistakes) {
  const std::string trace = sample(10), none = file("no.trace"), empty = file("empty.trace");
  std::filesystem::rename(sample(0), empty);
  std::filesystem::rename(sample(10), trace);
  expect_mistakes("replay",
                  {{"", 2, ""},
                   {trace + " --repetitions 0", 2, ""},
                   {trace + " --with glibc --all", 2, ""},
                   {trace + " --with glibc,nonesuch", 2, "there is no allocator 'nonesuch'; known are glibc, "},
                   {trace + " --with ./nonesuch.so", 1, "./nonesuch.so: No such file or directory\n"},
                   {none + " --with glibc", 1, none + ": no such file\n"},
                   {empty + " --with glibc", 1, empty + ": nothing to replay: no allocation in it\n"},
                   {trace + " --with glibc --repetitions 1 --json /nonesuch/r.json", 1,
                    "/nonesuch/r.json: No such file or directory\n"}});
}

}  // namespace
