// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The note on a run, and the watch on memory: a trace without room for a note, or a torn one, stays as it is.
#include <csignal>
#include <ctime>
#include <thread>

#include <sys/resource.h>

#include "cli/advise/repetition.hpp"
#include "cli/preload/status.hpp"
#include "cli/record/recording.hpp"
#include "cli/record/run_note.hpp"
#include "cli/tests/command.hpp"

namespace {

using namespace ashlar::cli;

class run_note_of_a_trace : public ashlar_test::command_test {};

TEST_F(run_note_of_a_trace, has_what_it_was_given) {
  const std::string trace = sample(1000);
  EXPECT_FALSE(note_of(trace));
  append_note(trace, note_surroundings({"a", "b c"}));
  const auto note = note_of(trace);
  ASSERT_TRUE(note);
  EXPECT_EQ(note->command_sum, sum_of_command({"a", "b c"}));
  EXPECT_NE(note->command_sum, sum_of_command({"a", "b", "c"}));
  EXPECT_EQ(note->directory, std::filesystem::current_path());
}

TEST_F(run_note_of_a_trace, tells_another_environment_apart_but_not_what_shells_and_ashlar_set) {
  const std::uint64_t before = sum_of_environment();
  for (const char* name : {"ASHLAR_RECORD_FILE", "OLDPWD", "SHLVL"}) {
    const char* const value = std::getenv(name);
    const std::string kept = value == nullptr ? "" : value;
    ::setenv(name, "/another", 1);
    EXPECT_EQ(sum_of_environment(), before) << name;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, kept.c_str(), 1);
  }
  for (const char* name : {"ANOTHER", "LD_PRELOAD"}) {
    ::setenv(name, "1", 1);
    EXPECT_NE(sum_of_environment(), before) << name;
    ::unsetenv(name);
  }
}

TEST_F(run_note_of_a_trace, has_the_words_of_the_interpreter_of_a_script) {
  const std::string script = file("script"), outer = file("outer");
  std::ofstream(script) << "#! /bin/sh -e -u \n";
  std::ofstream(outer) << "#!" << script << "\n";
  const std::vector<std::string> words = {"/bin/sh", "-e -u", script, "a b"};
  EXPECT_EQ(note_surroundings({script, "a b"}).command_sum, sum_of_command(words));
  EXPECT_EQ(note_surroundings({outer}).command_sum, sum_of_command({"/bin/sh", "-e -u", script, outer}));
}

TEST(same_work, of_few_events_is_half_of_them_at_least) {
  EXPECT_TRUE(is_same_work(60, 60));
  EXPECT_TRUE(is_same_work(31, 60));
  EXPECT_FALSE(is_same_work(2, 60));
  EXPECT_TRUE(is_same_work(0, 0));
  EXPECT_TRUE(is_same_work(1'000, 1'100));
  EXPECT_FALSE(is_same_work(899, 1'000));
  EXPECT_TRUE(is_same_work(9'001, 10'000));
}

TEST_F(run_note_of_a_trace, is_left_out_where_it_has_no_room_or_the_trace_is_torn) {
  const std::string trace = sample(1000);
  const auto whole = std::filesystem::file_size(trace);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signalled = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{whole + 100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  append_note(trace, note_surroundings({"a"}));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, signalled);
  EXPECT_EQ(std::filesystem::file_size(trace), whole);
  EXPECT_EQ(ashlar("report " + trace), 0) << text("err");
  std::filesystem::resize_file(trace, whole - 3);
  append_note(trace, note_surroundings({"a"}));
  EXPECT_EQ(std::filesystem::file_size(trace), whole - 3);
}

TEST_F(run_note_of_a_trace, that_lacks_a_member_is_none) {
  const std::string trace = sample(1000), text = R"({"status": null})";
  append_chunk(trace, {.kind = ashlar::detail::trace_io::chunk_kind::run, .count = 1}, std::as_bytes(std::span(text)));
  EXPECT_FALSE(note_of(trace));
}

TEST(program_in, is_the_word_itself_without_a_directory_or_a_path) {
  EXPECT_EQ(program_in("", "./sort"), "./sort");
  EXPECT_EQ(program_in("/a", "sort"), "sort");
  EXPECT_EQ(program_in("/a", "./sort"), "/a/sort");
}

using namespace std::chrono_literals;

std::chrono::nanoseconds processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

TEST(memory_watch, takes_less_than_a_hundredth_of_a_processor_for_24_processes) {
  const auto page = std::make_unique<ashlar::recorder::recording_status>();
  for (std::uint64_t i = 0; i < 24; ++i) {
    page->unfinished[i].start_ns = i + 1;
    page->unfinished[i].id = ::getpid();
  }
  ashlar::cli::memory_watch watch(page.get());
  const auto start = std::chrono::steady_clock::now();
  const auto before = processor_time();
  while (std::chrono::steady_clock::now() - start < 1s) std::this_thread::sleep_for(watch.look());
  EXPECT_LT(processor_time() - before, (std::chrono::steady_clock::now() - start) / 100);
}

}  // namespace
