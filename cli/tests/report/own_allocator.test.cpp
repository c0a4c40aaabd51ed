// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of programs with an allocator of their own: the memory of a recorded process, however it ends, and the sentence
// about it, which no other program gets.
#include "cli/report/own_allocator.hpp"
#include "cli/preload/memory_use.hpp"
#include "cli/tests/command.hpp"

namespace {

using ashlar::cli::find_own_allocator;
using ashlar_test::has;
using nlohmann::json;

constexpr std::uint64_t mib = 1 << 20;

/// Returns: the name of the runtime; "unknown" of a program that no row names; "none" if malloc has the memory.
std::string runtime_of(std::uint64_t malloc_bytes, std::uint64_t anonymous, const std::string& program,
                       const std::string& library = "") {
  std::vector<ashlar::trace::mapped_module> modules;
  if (!library.empty()) modules.emplace_back().path = library;
  const auto own = find_own_allocator({{1, malloc_bytes}, anonymous}, program, modules);
  return !own ? "none" : own->facts.runtime.empty() ? "unknown" : std::string(own->facts.runtime);
}

TEST(own_allocator, is_found_by_the_part_of_malloc_and_named_by_the_program) {
  EXPECT_EQ(runtime_of(mib, 64 * mib, "/usr/bin/planted"), "unknown");
  EXPECT_EQ(runtime_of(64 * mib, 66 * mib, "/usr/bin/planted"), "none");
  EXPECT_EQ(runtime_of(20 * mib, 64 * mib, "/usr/bin/planted"), "none");  // by fragments
  EXPECT_EQ(runtime_of(1000, 3 * mib, "/usr/bin/planted"), "none");
  EXPECT_EQ(runtime_of(1000, 0, "/usr/bin/python3"), "none");  // unknown
  EXPECT_EQ(runtime_of(2 * mib, 7 * mib, "/usr/bin/python3.11"), "CPython");
  EXPECT_EQ(runtime_of(20 * mib, 21 * mib, "/usr/bin/python3.11"), "none");  // PYTHONMALLOC=malloc
  EXPECT_EQ(runtime_of(mib, 64 * mib, "php8.2"), "PHP");
  EXPECT_EQ(runtime_of(mib, 64 * mib, "nodes"), "unknown");
  EXPECT_EQ(runtime_of(mib, 64 * mib, "/usr/bin/editor", "/lib/libpython3.11.so.1.0"), "CPython");
  EXPECT_EQ(runtime_of(64 * mib, 64 * mib, "/usr/bin/tclsh8.6"), "Tcl");  // in blocks of malloc
}

class hidden_memory : public ashlar_test::command_test {
protected:
  /// Returns: the trace of the victim's steps, which may kill it.
  std::string recorded(const std::string& victim_steps) {
    const std::string trace = file("m.trace");
    const int status = ashlar("record -q -o " + trace + " -- " ASHLAR_MEMORY_VICTIM " " + victim_steps);
    EXPECT_TRUE(status == 0 || status == 128 + 9) << text("err");
    return trace;
  }
  json reported(const std::string& trace, const std::string& verb = "report") {
    EXPECT_EQ(ashlar(verb + " " + trace + " --json " + file("r.json")), 0) << text("err");
    return json::parse(text("r.json"));
  }
};

/// Each place of the fields in what is read at once.
TEST_F(hidden_memory, of_a_process_in_many_groups_is_read_whole_from_its_status) {
  const auto memory_in = [this](const std::string& status) {
    std::ofstream(file("status")) << status;
    const auto use = ashlar::recorder::memory_in(file("status").c_str());
    return std::pair(use.peak, use.anonymous);
  };
  for (std::size_t groups = 900; groups < 1100; ++groups)
    EXPECT_EQ(memory_in("Name:\tx\nGroups:\t" + std::string(groups, '7') +
                        "\nVmPeak:\t 99 kB\nVmHWM:\t 5120 kB\nRssAnon:\t 64 kB\n"),
              std::pair(5 * mib, std::uint64_t{64} << 10))
        << groups;
  EXPECT_EQ(memory_in("Name:\tx\nVmHWM:\t  51").first, 0U) << "cut off";
  EXPECT_EQ(memory_in("").second, 0U);
}

TEST_F(hidden_memory, is_told_by_every_page) {
  const std::string trace = recorded("maps"),
                    sentence = ": this program has an allocator of its own, or keeps its data";
  const json told = reported(trace);
  EXPECT_GE(told["resident_peak_bytes"], 64 * mib);
  EXPECT_GE(told["own_allocator"]["memory_bytes"], 64 * mib);
  EXPECT_LE(told["own_allocator"]["memory_bytes"], 68 * mib);
  EXPECT_LE(told["own_allocator"]["malloc_bytes"], 1 * mib);
  EXPECT_TRUE(said("out", "malloc held 0.1 of 6"));
  EXPECT_TRUE(said("out", sentence));
  const json advised = reported(trace + " --measure none --html " + file("a.html"), "advise");
  EXPECT_EQ(advised["own_allocator"]["text"], told["own_allocator"]["text"]);
  EXPECT_TRUE(said("out", sentence));
  EXPECT_TRUE(said("out", "\nNo remedy at "));
  EXPECT_FALSE(has(text("out"), "hange nothing"));
  EXPECT_TRUE(said("a.html", "What malloc served is too small a part of this program to advise on"));
  EXPECT_TRUE(said("a.html", sentence));
}

TEST_F(hidden_memory, is_none_where_malloc_has_it_and_in_small_programs) {
  for (const char* steps : {"mallocs", "works", "uses_file", ""}) {
    const json told = reported(recorded(steps));
    EXPECT_EQ(told["own_allocator"], nullptr) << steps << told["own_allocator"];
    EXPECT_GT(told["resident_peak_bytes"], 1 * mib) << steps;
    EXPECT_EQ(reported(file("m.trace") + " --measure none", "advise")["own_allocator"], nullptr) << steps;
  }
}

TEST_F(hidden_memory, is_known_of_programs_that_give_it_back_or_are_killed) {
  for (const char* steps : {"maps sleeps gives_back", "works maps sleeps dies"}) {
    const json told = reported(recorded(steps));
    EXPECT_GE(told["resident_peak_bytes"], 64 * mib) << steps;
    EXPECT_GE(told["own_allocator"].value("memory_bytes", 0U), 60 * mib) << steps << told["own_allocator"];
  }
}

TEST_F(hidden_memory, of_a_child_is_not_what_its_parent_had) {
  const std::string trace = recorded("mallocs forks works");
  const json told = reported(trace + " --process largest");
  EXPECT_GT(told["events"], 15'000);  // the child's
  EXPECT_EQ(told["own_allocator"], nullptr) << told["own_allocator"];
}

TEST_F(hidden_memory, is_unknown_in_a_trace_of_another_writer) {
  const json told = reported(sample(1000));
  EXPECT_EQ(told["resident_peak_bytes"], nullptr);
  EXPECT_EQ(told["own_allocator"], nullptr);
  EXPECT_TRUE(said("out", "resident peak  unknown"));
}

TEST_F(hidden_memory, of_python_is_shown_by_its_switch) {
  const std::string find = "python3 -c 'import os, sys; print(os.path.realpath(sys.executable))' > " + file("python");
  if (ashlar_test::run_shell(find + " 2>&-") != 0) GTEST_SKIP() << "python3 is not installed";
  std::string python = text("python");
  python.pop_back();
  const std::string program = python + " -c 'x = [str(i) for i in range(100000)]'";
  const json hidden = reported(trace_of(program, "p.trace"));
  EXPECT_EQ(hidden["own_allocator"].value("shown_by", ""), "it with PYTHONMALLOC=malloc") << text("out");
  const json shown = reported(trace_of("env PYTHONMALLOC=malloc " + program, "p.trace"));
  EXPECT_EQ(shown["own_allocator"], nullptr) << shown["own_allocator"];
  EXPECT_GT(shown["events"], 100'000);
}

}  // namespace
