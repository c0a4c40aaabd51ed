// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar record`: real processes, exact counts, and programs that run unchanged.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "cli/tests/record/command.hpp"

namespace {

using namespace ashlar_test;

class record : public record_command {};

TEST_F(record, every_form_is_distinguished) {
  ASSERT_EQ(record_victim("forms"), 0) << output();
  const recording r(file());
  const std::map<std::uint64_t, operation> got{
      {10'001, operation::malloc_},        {10'002, operation::calloc_},        {10'048, operation::aligned_alloc_},
      {10'004, operation::aligned_alloc_}, {10'005, operation::aligned_alloc_}, {10'006, operation::aligned_alloc_},
      {10'008, operation::realloc_},       {10'010, operation::new_},           {10'011, operation::new_array_},
      {10'012, operation::new_},           {10'013, operation::new_array_},     {10'014, operation::new_},
      {10'015, operation::new_array_},     {10'016, operation::new_},           {10'017, operation::new_array_},
      {10'018, operation::new_},           {10'019, operation::new_array_},     {10'020, operation::new_}};
  for (const auto& [size, op] : got) {
    EXPECT_EQ(r.count(op, size), 1U) << size;
    const auto end = r.end_of(size);
    ASSERT_TRUE(end) << size;
    EXPECT_EQ(end->op, op == operation::new_         ? operation::delete_
                       : op == operation::new_array_ ? operation::delete_array_
                                                     : operation::free_)
        << size;
    const bool sized = size >= 10'018 && size <= 10'020;
    EXPECT_EQ(end->size, sized ? size : 0) << size;
  }
  EXPECT_TRUE(r.complete);
}

TEST_F(record, pages_are_aligned_to_pages) {
  ASSERT_EQ(record_victim("pages"), 0) << output();
  const recording r(file());
  EXPECT_EQ(r.count(operation::aligned_alloc_, 10'007), 1U);
  EXPECT_EQ(r.end_of(10'007)->op, operation::free_);
}

TEST_F(record, alignments_are_kept) {
  ASSERT_EQ(record_victim("forms"), 0) << output();
  const recording r(file());
  const std::map<std::uint64_t, std::uint64_t> expected{{10'001, 0},   {10'048, 64},  {10'004, 128}, {10'005, 256},
                                                        {10'014, 512}, {10'017, 512}, {10'020, 32}};
  for (const event& e : r.events) {
    const auto found = expected.find(e.size);
    if (!is_allocation(e.op) || found == expected.end()) continue;
    EXPECT_EQ(e.alignment, found->second) << e.size;
  }
}

TEST_F(record, reallocs_form_a_chain) {
  ASSERT_EQ(record_victim("reallocs"), 0) << output();
  const recording r(file());
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
  ASSERT_EQ(record_victim("threads"), 0) << output();
  const recording r(file());
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
  ASSERT_EQ(record_victim("cancelled"), 0) << output();
  const recording r(file());
  EXPECT_EQ(r.count_ended(90'001), 20'000U);
  EXPECT_EQ(r.count_ended(90'002), 20'000U);
}

TEST_F(record, thread_specific_destructors_may_allocate_in_every_round) {
  ASSERT_EQ(record_victim("keys"), 0) << output();
  const recording r(file());
  EXPECT_EQ(r.count(operation::malloc_, 31'001), 4U);
  EXPECT_EQ(r.count_ended(31'001), 4U);
}

TEST_F(record, a_forked_child_has_its_own_file) {
  ASSERT_EQ(record_victim("forks"), 0) << output();
  const recording parent(file());
  ASSERT_EQ(other_traces().size(), 1U);
  const recording child(other_traces()[0]);
  EXPECT_EQ(parent.count(operation::malloc_, 40'001), 10U);
  EXPECT_EQ(parent.count(operation::malloc_, 40'002), 0U);
  EXPECT_EQ(child.count(operation::malloc_, 40'001), 0U);
  EXPECT_EQ(child.count(operation::malloc_, 40'002), 20U);
  EXPECT_TRUE(parent.complete && child.complete);
  EXPECT_NE(output().find("1 more process in "), std::string::npos) << output();
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
  EXPECT_TRUE(says("orphan")) << output();
}

TEST_F(record, a_wrapper_leaves_the_name_to_the_program_it_becomes) {
  ASSERT_EQ(record_victim("becomes"), 0) << output();
  const recording r(file());
  EXPECT_EQ(r.count(operation::malloc_, 42'001), 0U);
  EXPECT_EQ(r.count(operation::malloc_, 10'001), 1U);
  EXPECT_TRUE(other_traces().empty());
}

TEST_F(record, passes_the_exit_status_on_where_the_end_of_children_is_ignored) {
  EXPECT_EQ(shell("trap '' CHLD; exec " ASHLAR_COMMAND " record -q -o " + file() + " -- sh -c 'exit 9'"), 9)
      << output();
}

TEST_F(record, a_killed_program_leaves_whole_chunks) {
  ASSERT_EQ(record_victim("killed"), 128 + 9) << output();
  const recording r(file());
  EXPECT_FALSE(r.complete);
  EXPECT_GT(r.count(operation::malloc_, 50'001), 100'000U - 4096U);
}

TEST_F(record, programs_notice_nothing) {
  for (const char* mode : {"keeps_errno", "runs_out", "asks_loader"}) {
    EXPECT_EQ(record_victim(mode), 0) << mode << output();
    EXPECT_TRUE(recording(file()).complete);
  }
}

TEST_F(record, a_program_may_close_every_descriptor) {
  const std::string own = file("own");
  ASSERT_EQ(
      shell("VICTIM_FILE=" + own + " " ASHLAR_COMMAND " record -o " + file() + " -- " ASHLAR_VICTIM " closes_all"), 0)
      << output();
  EXPECT_EQ(fs::file_size(own), 4U);
  EXPECT_EQ(recording(file()).count(operation::malloc_, 60'001), 20'000U);
}

TEST_F(record, marks_get_through) {
  ASSERT_EQ(record_victim("marks"), 0) << output();
  const recording r(file());
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
  EXPECT_EQ(shell(ASHLAR_COMMAND " record --stacks 8 -o " + file() + " -- " ASHLAR_NO_TABLES_VICTIM), 0) << output();
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
  ASSERT_EQ(shell(ASHLAR_COMMAND " record -o " + file() + " -- " ASHLAR_EARLY_VICTIM), 0) << output();
  trace_reader r(file());
  std::size_t with = 0, without = 0;
  while (auto e = r.next())
    if (is_allocation(e->op)) ++(e->stack != 0 ? with : without);
  EXPECT_GE(with, 1'000U);
  EXPECT_EQ(without, 0U);
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0);
  EXPECT_TRUE(says("early_block")) << output();
}

TEST_F(record, call_sites_are_recorded_unless_they_are_declined) {
  ASSERT_EQ(record_victim("stacks"), 0) << output();
  EXPECT_EQ(trace_reader(file()).info().stack_depth, 8U);
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0);
  EXPECT_NE(output().find("one_caller"), std::string::npos) << output();
  ASSERT_EQ(record_victim("stacks", "--stacks 0"), 0) << output();
  EXPECT_EQ(trace_reader(file()).info().stack_depth, 0U);
}

TEST_F(record, works_beside_a_dlsym_that_allocates) {
  EXPECT_EQ(shell("LD_PRELOAD=" ASHLAR_GREEDY_DLSYM " " ASHLAR_COMMAND " record -o " + file() +
                  " -- " ASHLAR_VICTIM " forms"),
            0)
      << output();
  EXPECT_EQ(recording(file()).count(operation::malloc_, 10'001), 1U);
}

TEST_F(record, works_over_other_allocators) {
  for (const char* library : {"libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"}) {
    if (shell(std::string("LD_PRELOAD=") + library + " true") != 0 || !output().empty()) continue;
    EXPECT_EQ(shell(std::string("LD_PRELOAD=") + library + " " ASHLAR_COMMAND " record -o " + file() +
                    " -- " ASHLAR_VICTIM " forms"),
              0)
        << library << output();
    const recording r(file());
    EXPECT_EQ(r.count(operation::new_, 10'010), 1U) << library;
    EXPECT_EQ(r.end_of(10'011)->op, operation::delete_array_) << library;
  }
}

TEST_F(record, ordinary_programs_run_under_it) {
  EXPECT_EQ(shell(ASHLAR_COMMAND " record -q -o " + file() + " -- sh -c 'echo hello; exit 7'"), 7);
  EXPECT_EQ(output(), "hello\n");
  EXPECT_EQ(shell("echo text | " ASHLAR_COMMAND " record -q -o " + file() + " -- cat"), 0);
  EXPECT_EQ(output(), "text\n");
  EXPECT_EQ(shell(ASHLAR_COMMAND " record -q -o " + file() + " -- ls /"), 0);
  EXPECT_TRUE(recording(file()).complete);
}

TEST_F(record, the_summary_is_one_line) {
  ASSERT_EQ(record_victim("threads"), 0);
  const std::string said = output();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find(" events, 5 threads, "), std::string::npos) << said;
  ASSERT_EQ(record_victim("forms", "--quiet"), 0);
  EXPECT_EQ(output(), "");
}

TEST_F(record, mistakes_get_one_clear_line) {
  EXPECT_EQ(shell(ASHLAR_COMMAND " record -o " + file() + " -- /no/such/program"), 127);
  EXPECT_EQ(output(), "ashlar record: /no/such/program: no such program\n");
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_EQ(shell(ASHLAR_COMMAND " record -o " + file() + " -- /etc/passwd"), 126);
  EXPECT_EQ(shell(ASHLAR_COMMAND " record -o /no/such/t.trace -- true"), 1);
  EXPECT_EQ(output(), "ashlar record: /no/such/t.trace: No such file or directory\n");
  EXPECT_EQ(shell(ASHLAR_COMMAND " record"), 2);
  EXPECT_EQ(shell(ASHLAR_COMMAND " record --nonsense -- true"), 2);
  EXPECT_EQ(shell(ASHLAR_COMMAND " record --stacks 500 -- true"), 2);
  EXPECT_EQ(shell(ASHLAR_COMMAND " nonsense"), 2);
  EXPECT_EQ(output(), "ashlar: unknown verb 'nonsense'; 'ashlar --help' lists them\n");
  const std::string alone = file("ashlar");
  fs::copy_file(ASHLAR_COMMAND, alone);
  EXPECT_EQ(shell(alone + " record -o " + file() + " -- true"), 1);
  EXPECT_EQ(output(), "ashlar record: libashlar-record.so is missing: it belongs beside ashlar or in ../lib\n");
}

TEST_F(record, names_may_hold_the_process_id) {
  EXPECT_EQ(shell(ASHLAR_COMMAND " record -q -o " + file("x.%p.trace") + " -- " ASHLAR_VICTIM " forks"), 0) << output();
  std::size_t found = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(file()).parent_path()))
    found += entry.path().filename().string().starts_with("x.") ? 1U : 0U;
  EXPECT_EQ(found, 2U);
}

TEST_F(record, an_old_trace_is_replaced) {
  ASSERT_EQ(record_victim("threads"), 0);
  ASSERT_EQ(record_victim("forms"), 0);
  EXPECT_EQ(recording(file()).count(operation::malloc_, 30'001), 0U);
}

}  // namespace
