// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar export`: the values of each text format add up to the figures of `ashlar report`, in any
// trace. Viewers open the formats in readers.py.
#include <cstring>
#include <numeric>
#include <random>
#include <sstream>

#include "cli/export/formats.hpp"
#include "cli/report/trace.hpp"
#include "cli/tests/command.hpp"
#include "tests/support/hostile_trace.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar_test::has, ashlar_test::matches;
namespace fs = std::filesystem;
using namespace ashlar::cli;
using nlohmann::json;
using values = std::map<std::string, std::uint64_t>;

constexpr const char* all_formats[] = {"pprof",    "folded", "speedscope", "dhat",   "heaptrack",
                                       "perfetto", "jsonl",  "csv",        "parquet"};

class export_verb : public ashlar_test::command_test {
protected:
  std::string exported(const std::string& trace, const std::string& format) {
    EXPECT_EQ(ashlar("export " + trace + " --format " + format), 0) << text("err");
    return text("out");
  }

  /// Returns: what the values of all stacks have to add up to.
  values sums_of(const std::string& trace) {
    EXPECT_EQ(ashlar("report " + trace + " --json " + file("r.json")), 0) << text("err");
    const json j = json::parse(text("r.json"));
    values sums;
    for (const auto& [name, member] :
         {std::pair("alloc", "allocated"), std::pair("inuse", "never_freed"), std::pair("peak", "peak")}) {
      sums[std::string(name) + "_objects"] = j[member]["objects"];
      sums[std::string(name) + "_space"] = j[member]["bytes"];
    }
    return sums;
  }

  /// Returns: the traces of a program with stacks, of threads without, and of nothing.
  std::vector<std::string> traces() {
    fs::copy_file(sample(20000, 4), file("threads.trace"));
    return {trace_of(ASHLAR_ADVISE_ANALYSE), file("threads.trace"), sample(0)};
  }
};

TEST_F(export_verb, folded_stacks_add_up) {
  for (const std::string& trace : traces())
    for (const std::string value : {"peak_space", "alloc_objects"}) {
      std::istringstream lines(exported(trace, "folded --value " + value));
      std::uint64_t found = 0;
      for (std::string line; std::getline(lines, line);) found += std::stoull(line.substr(line.rfind(' ')));
      EXPECT_EQ(found, sums_of(trace)[value]) << trace << value;
    }
}

TEST_F(export_verb, profiles_of_speedscope_add_up) {
  for (const std::string& trace : traces()) {
    const json j = json::parse(exported(trace, "speedscope"));
    const values sums = sums_of(trace);
    for (const json& profile : j["profiles"]) {
      const auto weights = profile["weights"].get<std::vector<std::uint64_t>>();
      const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
      EXPECT_EQ(sum, profile["endValue"]);
      EXPECT_EQ(weights.size(), profile["samples"].size());
      if (const auto wanted = sums.find(profile["name"]); wanted != sums.end()) EXPECT_EQ(sum, wanted->second);
    }
    EXPECT_EQ(j["profiles"][j["activeProfileIndex"].get<std::size_t>()]["name"], "peak_space");
  }
}

TEST_F(export_verb, points_of_dhat_add_up) {
  const std::map<std::string, std::string> members = {{"alloc_space", "tb"}, {"alloc_objects", "tbk"},
                                                      {"peak_space", "gb"},  {"peak_objects", "gbk"},
                                                      {"inuse_space", "eb"}, {"inuse_objects", "ebk"}};
  for (const std::string& trace : traces()) {
    const json j = json::parse(exported(trace, "dhat"));
    for (const auto& [name, wanted] : sums_of(trace)) {
      std::uint64_t sum = 0;
      for (const json& point : j["pps"]) sum += point[members.at(name)].get<std::uint64_t>();
      EXPECT_EQ(sum, wanted) << trace << name;
    }
    for (const json& point : j["pps"]) {
      EXPECT_GE(point["mb"], point["gb"]);
      for (const json& frame : point["fs"]) EXPECT_LT(frame, j["ftbl"].size());
    }
  }
}

TEST_F(export_verb, rows_of_tables_add_up) {
  for (const std::string& trace : traces())
    for (const std::string rows : {"stacks", "sites"}) {
      values sums;
      std::istringstream lines(exported(trace, "jsonl --rows " + rows));
      for (std::string line; std::getline(lines, line);) {
        const json row = json::parse(line);
        for (const auto& [name, value] : row.items())
          if (value.is_number()) sums[name] += value.get<std::uint64_t>();
      }
      for (const auto& [name, wanted] : sums_of(trace)) EXPECT_EQ(sums[name], wanted) << trace << rows << name;
    }
}

TEST_F(export_verb, the_cells_of_csv_are_the_members_of_jsonl) {
  const std::string trace = trace_of(ASHLAR_ADVISE_ANALYSE);
  std::istringstream csv(exported(trace, "csv")), jsonl(exported(trace, "jsonl"));
  std::string header, line;
  std::getline(csv, header);
  EXPECT_TRUE(has(header, "program,build_id,process,"));
  while (std::getline(jsonl, line)) {
    std::string cells, row;
    std::istringstream names(header);
    for (std::string name; std::getline(names, name, ',');) {
      const json cell = json::parse(line)[name];
      std::string shown = cell.is_string() ? cell.get<std::string>() : cell.dump();
      if (shown.find(',') != shown.npos) shown = '"' + shown + '"';
      cells += (cells.empty() ? "" : ",") + shown;
    }
    std::getline(csv, row);
    EXPECT_EQ(row, cells);
  }
}

TEST_F(export_verb, every_format_takes_a_trace_without_stacks_or_events) {
  for (const int events : {0, 20000})
    for (const std::string format : all_formats) {
      const std::string trace = sample(events, 4);
      EXPECT_EQ(ashlar("export " + trace + " --format " + format + " -o " + file("a")), 0) << format << text("err");
      EXPECT_EQ(text("out") + text("err"), "");
    }
  EXPECT_EQ(text("a").substr(0, 4), "PAR1");
}

TEST_F(export_verb, two_runs_of_a_program_have_one_order) {
  const auto order = [&] {
    json stacks = json::array(), j = json::parse(exported(trace_of(ASHLAR_ADVISE_ANALYSE), "speedscope"));
    for (const json& calls : j["profiles"][0]["samples"])
      for (const json& call : calls) stacks.push_back(j["shared"]["frames"][call.get<std::size_t>()]["name"]);
    return stacks;
  };
  EXPECT_EQ(order(), order());
}

TEST_F(export_verb, what_is_freed_at_once_is_temporary) {
  std::ofstream(file("p.cpp")) << R"(#include <cstdlib>
    void* volatile kept[2];
    int main() {
      for (int i = 0; i < 50; ++i) free(kept[0] = malloc(1000));
      for (int i = 0; i < 50; ++i) {
        kept[0] = malloc(2000);
        kept[1] = malloc(3000);
        free(kept[0]), free(kept[1]);
      }
    })";
  const std::string build = std::string(ASHLAR_COMPILER) + " -g -fno-builtin " + file("p.cpp") + " -o " + file("p");
  ASSERT_EQ(ashlar_test::run_shell(build), 0);
  std::istringstream rows(exported(trace_of(file("p")), "jsonl"));
  values temporary;
  for (std::string line; std::getline(rows, line);) {
    const json row = json::parse(line);
    if (row["function"] == "main") temporary[std::to_string(row["line"].get<int>())] = row["temporary_objects"];
  }
  EXPECT_EQ(temporary, (values{{"4", 50}, {"6", 0}, {"7", 0}}));
}

TEST_F(export_verb, names_have_their_template_arguments_and_files_their_folders) {
  std::ofstream(file("p.cpp")) << R"(#include <map>
    template <class Key> struct table { std::map<Key, long> all; };
    template <class T> __attribute__((noinline)) void fill(T& t) { t.all[{}] = 1; }
    int main() { table<std::pair<int, long double>> t; fill(t); })";
  const std::string build = std::string(ASHLAR_COMPILER) + " -g p.cpp -o p";
  ASSERT_EQ(ashlar_test::run_shell("cd " + file("") + " && " + build), 0);
  const std::string trace = trace_of(file("p"));
  const json j = json::parse(exported(trace, "speedscope"));
  bool is_named = false;
  for (const json& frame : j["shared"]["frames"])
    is_named |= frame["name"] == "fill<table<std::pair<int, long double>>>" && frame["file"] == file("p.cpp");
  EXPECT_TRUE(is_named) << j["shared"]["frames"].dump(1);
  EXPECT_TRUE(has(exported(trace, "dhat"), file("p.cpp") + ":3)"));
  ASSERT_EQ(ashlar("report " + trace), 0) << text("err");
  EXPECT_FALSE(has(text("out"), file("p.cpp:")));
}

TEST_F(export_verb, what_is_no_trace_or_no_format_is_refused) {
  const std::string trace = sample(100), none = file("none");
  const std::string in = " --format csv";
  std::ofstream(file("text"))
      << "this is not a trace, and long enough to be sure of that: a hundred bytes or so of text";
  expect_mistakes("export", {{none + in, 1, none + ": no such file\n"},
                             {file("text") + in, 1, file("text") + ": "},
                             {trace + in + " -o " + trace, 1, trace + " is the trace itself: nothing was written\n"},
                             {trace + in + " -o " + none + "/x", 1, none + "/x: No such file or directory\n"},
                             {trace + in + " -o ''", 2, "--output: the name of the file is empty"},
                             {trace, 2, "--format is required; see ashlar export --help\n"},
                             {trace + " --format xml", 2, "--format: 'xml' is none of pprof, folded, "},
                             {trace + in + " --value time", 2, "--value: 'time' is none of alloc_objects, "},
                             {trace + in + " --rows all", 2, "--rows: 'all' is neither stacks nor sites"},
                             {trace + in + " --process x", 2, "--process: "}});
  EXPECT_FALSE(fs::exists(none));
}

TEST_F(export_verb, any_bytes_in_a_trace_end_in_a_file_or_an_error) {
  const std::string trace = trace_of(ASHLAR_VICTIM " spans"), image = text("t.trace");
  std::mt19937 random(1);
  const std::size_t rounds = ashlar_test::stress_rounds(20);
  std::size_t written = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::byte> bytes(image.size());
    std::memcpy(bytes.data(), image.data(), image.size());
    for (unsigned changes = 1 + random() % 5; changes != 0; --changes)
      bytes[random() % bytes.size()] = std::byte(random());
    ashlar_test::mend_trace(bytes);
    std::ofstream(trace, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    try {
      trace_input input(trace, true);
      const stack_profile profile = read_profile(input);
      for (const auto file : {pprof_file, folded_file, speedscope_file, dhat_file, heaptrack_file, perfetto_file,
                              jsonl_file, csv_file, parquet_file})
        written += file(profile, {trace, true, &stack_values[5], false}).empty() ? 0 : 1;
    } catch (const std::runtime_error& error) {
      EXPECT_TRUE(has(error.what(), trace));
    }
  }
  EXPECT_GT(written, rounds);
}

TEST_F(export_verb, a_damaged_trace_is_exported_on_demand_and_damage_is_named) {
  const std::string trace = sample(20000), cut = file("cut.trace");
  fs::copy_file(trace, cut);
  fs::resize_file(cut, fs::file_size(trace) * 2 / 3);
  for (const std::string format : all_formats) {
    EXPECT_TRUE(failed(ashlar("export " + cut + " --format " + format), 1, "--damaged")) << format;
    EXPECT_EQ(text("out"), "");
    EXPECT_EQ(ashlar("export --damaged " + cut + " --format " + format), 0) << text("err");
    EXPECT_TRUE(matches(text("err"), "^ashlar export: The trace is damaged: ")) << format;
    EXPECT_NE(text("out"), "");
  }
}

}  // namespace
