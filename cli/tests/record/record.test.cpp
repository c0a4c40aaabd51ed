// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar record`: real processes, exact counts, and programs that run unchanged.
#include <sys/resource.h>

#include "cli/tests/record/command.hpp"

namespace {

using namespace ashlar_test;

class record : public record_command {};

TEST_F(record, every_form_is_distinguished) {
  const recording r = recorded("forms");
  using enum operation;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::map<std::uint64_t, std::pair<operation, std::uint64_t>> forms{
      // with their alignments
      {10'001, {malloc_, 0}},          {10'002, {calloc_, 0}},
      {10'048, {aligned_alloc_, 64}},  {10'004, {aligned_alloc_, 128}},
      {10'005, {aligned_alloc_, 256}}, {10'006, {aligned_alloc_, page}},
      {10'008, {realloc_, 0}},         {10'010, {new_, 0}},
      {10'011, {new_array_, 0}},       {10'012, {new_, 0}},
      {10'013, {new_array_, 0}},       {10'014, {new_, 512}},
      {10'015, {new_array_, 512}},     {10'016, {new_, 512}},
      {10'017, {new_array_, 512}},     {10'018, {new_, 0}},
      {10'019, {new_array_, 0}},       {10'020, {new_, 32}}};
  for (const auto& [size, form] : forms) {
    const auto& [op, alignment] = form;
    EXPECT_EQ(r.count(op, size), 1U) << size;
    for (const event& e : r.events)
      if (is_allocation(e.op) && e.size == size) EXPECT_EQ(e.alignment, alignment) << size;
    const auto end = r.end_of(size);
    ASSERT_TRUE(end) << size;
    EXPECT_EQ(end->op, op == new_ ? delete_ : op == new_array_ ? delete_array_ : free_) << size;
    const bool sized = size >= 10'018 && size <= 10'020;
    EXPECT_EQ(end->size, sized ? size : 0) << size;
  }
  EXPECT_TRUE(r.complete);
}

TEST_F(record, pages_are_aligned_to_pages) {
  const recording r = recorded("pages");
  EXPECT_EQ(r.count(operation::aligned_alloc_, 10'007), 1U);
  EXPECT_EQ(r.end_of(10'007)->op, operation::free_);
}

TEST_F(record, reallocs_form_a_chain) {
  const recording r = recorded("reallocs");
  std::uint64_t last = 0;
  for (std::uint64_t size = 20'001; size <= 20'100; ++size) {
    const auto e = std::find_if(r.events.begin(), r.events.end(),
                                [&](const event& x) { return x.op == operation::realloc_ && x.size == size; });
    ASSERT_NE(e, r.events.end()) << size;
    EXPECT_EQ(e->old_object, last);
    last = e->object;
  }
  const auto failed = std::find_if(r.events.begin(), r.events.end(), [&](const event& e) {
    return e.op == operation::realloc_ && e.old_object == last && e.object == 0;
  });
  EXPECT_NE(failed, r.events.end());
  EXPECT_TRUE(std::any_of(failed, r.events.end(),
                          [&](const event& e) { return e.op == operation::free_ && e.object == last; }));
}

TEST_F(record, threads_lose_nothing_not_even_in_their_last_destructors) {
  const recording r = recorded("threads");
  EXPECT_EQ(r.count(operation::malloc_, 30'001), 40'000U);
  EXPECT_EQ(r.count_ended(30'001), 40'000U);
  EXPECT_EQ(r.count_ended(30'002), 4U);
  EXPECT_EQ(r.count_ended(30'003), 4U);
  EXPECT_EQ(r.count_ended(30'004), 4U);
  EXPECT_EQ(
      std::count_if(r.events.begin(), r.events.end(), [](const event& e) { return e.op == operation::thread_end; }), 4);
  std::set<std::uint32_t> seen;
  for (const event& e : r.events) seen.insert(e.thread);
  EXPECT_EQ(seen.size(), 5U);
}

TEST_F(record, a_cancelled_thread_loses_nothing) {
  const recording r = recorded("cancelled");
  EXPECT_EQ(r.count_ended(90'001), 20'000U);
  EXPECT_EQ(r.count_ended(90'002), 20'000U);
}

TEST_F(record, thread_specific_destructors_may_allocate_in_every_round) {
  const recording r = recorded("keys");
  EXPECT_EQ(r.count(operation::malloc_, 31'001), 4U);
  EXPECT_EQ(r.count_ended(31'001), 4U);
}

TEST_F(record, a_forked_child_has_its_own_file) {
  const recording parent = recorded("forks");
  ASSERT_EQ(other_traces().size(), 1U);
  const recording child(other_traces()[0]);
  EXPECT_EQ(parent.count(operation::malloc_, 40'001), 10U);
  EXPECT_EQ(parent.count(operation::malloc_, 40'002), 0U);
  EXPECT_EQ(child.count(operation::malloc_, 40'001), 0U);
  EXPECT_EQ(child.count(operation::malloc_, 40'002), 20U);
  EXPECT_TRUE(parent.complete && child.complete);
  EXPECT_TRUE(has(output(), "1 more trace in "));
}

TEST_F(record, children_of_a_busy_program_work) {
  ASSERT_EQ(record_victim("fork_storm"), 0) << output();
  const auto children = other_traces();
  EXPECT_EQ(children.size(), 20U);
  for (const auto& path : children) EXPECT_EQ(recording(path).count_ended(41'002), 100U);
  const recording parent(file());
  EXPECT_EQ(parent.count(operation::malloc_, 41'001), parent.count_ended(41'001));
}

/// The loader's lock stays locked in the child; the recorder works without it, and the child's stacks have names.
TEST_F(record, a_child_of_a_program_whose_thread_is_in_the_loader_works) {
  ASSERT_EQ(record_victim("forks_beside_loader"), 0) << output();
  ASSERT_EQ(other_traces().size(), 1U);
  const std::string path = other_traces()[0];
  const recording child(path);
  EXPECT_EQ(child.count_ended(43'002), 100U);
  EXPECT_TRUE(child.complete);
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + path), 0);
  EXPECT_TRUE(says("orphan"));
}

TEST_F(record, a_wrapper_leaves_the_name_to_the_program_it_becomes) {
  const recording r = recorded("becomes");
  EXPECT_EQ(r.count(operation::malloc_, 42'001), 0U);
  EXPECT_EQ(r.count(operation::malloc_, 10'001), 1U);
  EXPECT_TRUE(other_traces().empty());
}

TEST_F(record, passes_the_exit_status_on_where_the_end_of_children_is_ignored) {
  EXPECT_EQ(record_program("sh -c 'exit 9'", "-q", "trap '' CHLD; exec "), 9) << output();
}

TEST_F(record, programs_notice_nothing) {
  for (const char* mode : {"keeps_errno", "runs_out", "asks_loader"}) {
    EXPECT_EQ(record_victim(mode), 0) << mode << output();
    EXPECT_TRUE(recording(file()).complete);
  }
}

TEST_F(record, a_program_may_close_every_descriptor) {
  const std::string own = file("own");
  ASSERT_EQ(record_victim("closes_all", "", "VICTIM_FILE=" + own + " "), 0) << output();
  EXPECT_EQ(fs::file_size(own), 4U);
  EXPECT_EQ(recording(file()).count(operation::malloc_, 60'001), 20'000U);
}

TEST_F(record, marks_get_through) {
  const recording r = recorded("marks");
  for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_EQ(r.count(operation::mark, i), 1U);
}

TEST_F(record, spans_and_names_of_threads_get_through) {
  ASSERT_EQ(record_victim("spans"), 0) << output();
  trace_reader r(file());
  std::map<std::uint32_t, std::vector<std::string>> open;
  std::map<std::string, int> begun;
  std::map<std::uint32_t, std::string> threads;
  while (auto e = r.next()) {
    if (e->op == operation::span_begin) open[e->thread].emplace_back(r.names()[e->size]);
    if (e->op == operation::span_begin) ++begun[open[e->thread].back()];
    if (e->op == operation::span_end) open[e->thread].pop_back();
    if (e->op == operation::thread_name) threads[e->thread] = r.names()[e->size];
    if (e->size == 1'000) {
      EXPECT_EQ(open[e->thread], (std::vector<std::string>{"request", "parse"}));
    }
  }
  EXPECT_FALSE(r.error());
  EXPECT_EQ(begun, (std::map<std::string, int>{{"request", 4}, {"parse", 3}}));
  EXPECT_EQ(threads, (std::map<std::uint32_t, std::string>{{0, "main thread"}, {1, "worker"}}));
  EXPECT_TRUE(open[0].empty() && open[1].empty());
}

TEST_F(record, stacks_need_no_lock_of_the_thread) {
  ASSERT_EQ(record_victim("asks_for_its_stack", "--stacks 8"), 0) << output();
  EXPECT_EQ(recording(file()).count(operation::malloc_, 90'003), 1U);
}

TEST_F(record, a_program_without_unwind_tables_is_recorded) {
  EXPECT_EQ(record_program(ASHLAR_NO_TABLES_VICTIM, "--stacks 8"), 0) << output();
  EXPECT_TRUE(recording(file()).complete);
}

TEST_F(record, stacks_tell_callers_apart) {
  ASSERT_EQ(record_victim("stacks", "--stacks 8"), 0) << output();
  trace_reader r(file());
  std::set<std::uint32_t> one, other;
  while (auto e = r.next()) {
    if (e->size == 80'001) one.insert(e->stack);
    if (e->size == 80'002) other.insert(e->stack);
  }
  ASSERT_FALSE(r.error());
  ASSERT_EQ(one.size(), 1U);
  ASSERT_EQ(other.size(), 1U);
  EXPECT_NE(*one.begin(), *other.begin());
  const auto frames = r.stacks()[*one.begin()];
  ASSERT_GE(frames.size(), 3U);
  EXPECT_LE(frames.size(), 8U);
  const auto* module = ashlar::trace::find_module(r.modules(), frames[0]);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(fs::path(module->path).filename(), fs::path(ASHLAR_VICTIM).filename());
  EXPECT_EQ(r.info().stack_depth, 8U);
}

TEST_F(record, blocks_of_the_constructors_of_libraries_have_stacks) {
  ASSERT_EQ(record_program(ASHLAR_EARLY_VICTIM), 0) << output();
  trace_reader r(file());
  std::size_t with = 0, without = 0;
  while (auto e = r.next())
    if (is_allocation(e->op)) ++(e->stack != 0 ? with : without);
  EXPECT_GE(with, 1'000U);
  EXPECT_EQ(without, 0U);
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0);
  EXPECT_TRUE(says("early_block"));
}

TEST_F(record, call_sites_are_recorded_unless_they_are_declined) {
  ASSERT_EQ(record_victim("stacks"), 0) << output();
  EXPECT_EQ(trace_reader(file()).info().stack_depth, 8U);
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0);
  EXPECT_TRUE(has(output(), "one_caller"));
  ASSERT_EQ(record_victim("stacks", "--stacks 0"), 0) << output();
  EXPECT_EQ(trace_reader(file()).info().stack_depth, 0U);
}

TEST_F(record, works_beside_a_dlsym_that_allocates) {
  EXPECT_EQ(record_victim("forms", "", "LD_PRELOAD=" ASHLAR_GREEDY_DLSYM " "), 0) << output();
  EXPECT_EQ(recording(file()).count(operation::malloc_, 10'001), 1U);
}

TEST_F(record, works_over_other_allocators) {
  for (const char* library : {"libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"}) {
    if (shell(std::string("LD_PRELOAD=") + library + " true") != 0 || !output().empty()) continue;
    EXPECT_EQ(record_victim("forms", "", std::string("LD_PRELOAD=") + library + " "), 0) << library << output();
    const recording r(file());
    EXPECT_EQ(r.count(operation::new_, 10'010), 1U) << library;
    EXPECT_EQ(r.end_of(10'011)->op, operation::delete_array_) << library;
  }
}

TEST_F(record, ordinary_programs_run_under_it) {
  EXPECT_EQ(record_program("sh -c 'echo hello; exit 7'", "-q"), 7);
  EXPECT_EQ(output(), "hello\n");
  EXPECT_EQ(record_program("cat", "-q", "echo text | "), 0);
  EXPECT_EQ(output(), "text\n");
  EXPECT_EQ(record_program("ls /", "-q"), 0);
  EXPECT_TRUE(recording(file()).complete);
}

TEST_F(record, the_summary_is_one_line) {
  ASSERT_EQ(record_victim("threads"), 0);
  const std::string said = output();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_TRUE(has(said, " events, 5 threads, "));
  ASSERT_EQ(record_victim("forms", "--quiet"), 0);
  EXPECT_EQ(output(), "");
}

TEST_F(record, mistakes_get_one_clear_line) {
  EXPECT_TRUE(failed(record_program("/no/such/program"), 127, "ashlar record: /no/such/program: no such program\n"));
  EXPECT_FALSE(fs::exists(file()));
  ASSERT_EQ(record_program("true"), 0);
  EXPECT_EQ(record_program("/etc/passwd"), 126);
  EXPECT_EQ(record_program("no_such_program"), 127);
  EXPECT_TRUE(recording(file()).complete) << "an older trace stays";
  EXPECT_TRUE(failed(record_program("."), 126, "ashlar record: .: is a directory\n"));
  EXPECT_TRUE(failed(shell(ASHLAR_COMMAND " record -o /no/such/t.trace -- true"), 1,
                     "ashlar record: /no/such/t.trace: No such file or directory\n"));
  EXPECT_TRUE(
      failed(shell("mkfifo " + file("pipe") + "; timeout 20 " ASHLAR_COMMAND " record -o " + file("pipe") + " -- true"),
             1, ": is a pipe, and a trace is not written from front to back: name a file\n"));
  EXPECT_EQ(shell(ASHLAR_COMMAND " record"), 2);
  EXPECT_EQ(shell(ASHLAR_COMMAND " record --nonsense -- true"), 2);
  EXPECT_EQ(shell(ASHLAR_COMMAND " record --stacks 500 -- true"), 2);
  const std::string alone = file("ashlar");
  fs::copy_file(ASHLAR_COMMAND, alone);
  EXPECT_TRUE(failed(shell(alone + " record -o " + file() + " -- true"), 1,
                     "ashlar record: libashlar-record.so is missing: it belongs beside ashlar or in ../lib\n"));
}

TEST_F(record, an_old_trace_is_replaced) {
  ASSERT_EQ(record_victim("threads"), 0);
  ASSERT_EQ(record_victim("forms"), 0);
  EXPECT_EQ(recording(file()).count(operation::malloc_, 30'001), 0U);
}

// Thousands of threads: the recorder costs each of them little, and none waits by turns.
class record_many_threads : public record_command {
protected:
  /// Returns: the seconds that processors spent on a shell command.
  double seconds_of(const std::string& command) {
    const double before = seconds_of_children();
    EXPECT_EQ(shell(command), 0) << output();
    return seconds_of_children() - before;
  }

  /// A program of threads that only start, allocate and end: at most three times the time that it takes alone. The
  /// addition is the start and the end of the command. The least of some rounds counts, and of more where other
  /// programs have the machine.
  void expect_little_cost(const std::string& mode, std::size_t allocations, int rounds) {
    double alone = 1e9, recorded = 1e9;
    const auto is_little = [&] { return recorded <= 3 * alone + 0.4; };
    for (int round = 0; round < rounds || (round < rounds + 4 && !is_little()); ++round) {
      alone = std::min(alone, seconds_of(ASHLAR_VICTIM " " + mode));
      recorded = std::min(recorded, seconds_of("timeout 60 " ASHLAR_COMMAND " record -q -o " + file() +
                                               " -- " ASHLAR_VICTIM " " + mode));
    }
    EXPECT_TRUE(is_little()) << recorded << " s, alone " << alone << " s";
    EXPECT_EQ(recording(file()).count(operation::malloc_, 32'001), allocations);
  }

private:
  static double seconds_of_children() {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
  }
};

TEST_F(record_many_threads, a_thousand_threads_cost_little) { expect_little_cost("thousand_threads", 100'000, 3); }
TEST_F(record_many_threads, five_thousand_threads_cost_little) {
  expect_little_cost("five_thousand_threads", 500'000, 1);
}

// Programs that unload libraries: each stack has the names of its own time.
class record_unloading : public record_command {
protected:
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
  constexpr int other_addresses = 77;
  const int status = record_program(ASHLAR_PLUGINS_VICTIM " " ASHLAR_PLUGIN_ONE " " ASHLAR_PLUGIN_TWO
                                                          " " ASHLAR_PLUGIN_ONE " " ASHLAR_PLUGIN_THREE,
                                    "-q");
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
  EXPECT_EQ(shell(ASHLAR_COMMAND " advise --measure none " + file() + " --json -"), 0) << output();
  for (const char* const site : {"\"plugin_one\"", "\"plugin_two\"", "\"plugin_three\""})  // not the file
    EXPECT_TRUE(says(site)) << site;
}

TEST_F(record_unloading, plugins_that_are_bound_deeply_are_recorded_unless_the_program_needs_that) {
  const std::string deep = ASHLAR_PLUGINS_VICTIM " deep " ASHLAR_PLUGIN_ONE;
  ASSERT_EQ(record_program(deep, "-q"), 0) << output();
  EXPECT_EQ(objects_of("plugin_one"), 1'000U);
  ASSERT_EQ(record_program(deep, "-q", "ASHLAR=deepbind=1 "), 0) << output();
  EXPECT_EQ(objects_of("plugin_one"), 0U);
}

}  // namespace
