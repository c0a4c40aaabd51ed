// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of `ashlar record` when a program cannot be recorded, or not to its end: its messages, and what traces it
// leaves.
#include <cerrno>
#include <cstring>
#include <memory>

#include <ashlar/detail/trace/index.hpp>

#include "cli/preload/live.hpp"
#include "cli/record/recording.hpp"
#include "cli/tests/record/command.hpp"

namespace {

namespace io = ashlar::detail::trace_io;
namespace recorder = ashlar::recorder;
using namespace ashlar_test;
using ashlar::cli::find_losses;
using ashlar::cli::record_status;
using ashlar::cli::recording_summary;

class record_outcome : public record_command {};

TEST_F(record_outcome, programs_notice_nothing_when_the_disk_is_full) {
  for (const char* mode : {"forms", "threads", "keeps_errno", "forks"}) {
    EXPECT_TRUE(failed(shell(ASHLAR_COMMAND " record -o /dev/full -- " ASHLAR_VICTIM " " + std::string(mode)),
                       not_whole, "the trace is incomplete: /dev/full: the disk was full"))
        << mode;
    EXPECT_TRUE(says("; the program's own exit status is 0\n")) << mode;
  }
  EXPECT_TRUE(failed(record_victim("killed", "", "ulimit -f 1; "), not_whole,
                     file() + ": writing failed: File too large; the program's own exit status is 137\n"));
  EXPECT_EQ(record_victim("threads", "-q", "ulimit -f 1; "), not_whole) << output();
  EXPECT_TRUE(
      failed(record_victim("forbids_files"), not_whole, "File too large; the program's own exit status is 0\n"));
}

TEST_F(record_outcome, a_full_disk_leaves_whole_chunks_and_is_reported) {
  EXPECT_EQ(record_victim("fork_storm", "", "ulimit -f 8; "), not_whole) << output();
  trace_reader r(file());
  while (r.next()) {
  }
  EXPECT_FALSE(r.error()) << r.error()->message;
  EXPECT_EQ(r.info().write_error, EFBIG);
  EXPECT_FALSE(r.info().complete);
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0);
  EXPECT_TRUE(says("The recording ended before the program: writing failed: File too large."));
  EXPECT_FALSE(says("killed"));
}

TEST_F(record_outcome, events_that_memory_was_missing_for_are_reported) {
  int reports = 0;
  for (int kib = 8'000; kib <= 32'000; kib += 2'000) {
    const int status = record_victim("forms", "", "ulimit -d " + std::to_string(kib) + "; ");
    if (status == 0) {
      EXPECT_EQ(recording(file()).count(operation::malloc_, 10'001), 1U) << kib;
      continue;
    }
    EXPECT_TRUE(failed(status, not_whole, "no memory for the recorder; the program's own exit status is 0\n")) << kib;
    ++reports;
  }
  EXPECT_GT(reports, 0);
}

TEST_F(record_outcome, a_file_size_limit_is_an_error_of_every_verb) {
  ASSERT_EQ(record_victim("threads"), 0) << output();
  const std::string limited = "ulimit -f 8; TMPDIR=" + fs::path(file()).parent_path().string() + " " ASHLAR_COMMAND " ";
  EXPECT_TRUE(failed(shell(limited + "replay " + file() + " --with glibc --repetitions 1"), 1, "/ashlar-"));
  EXPECT_TRUE(says("File too large"));
  EXPECT_TRUE(failed(shell(limited + "report " + file() + " --html " + file("r.html") + " > /dev/null"), 1,
                     file("r.html") + ": File too large"));
}

TEST_F(record_outcome, a_child_without_a_trace_is_reported) {
  fs::create_directories(file("d"));
  EXPECT_TRUE(failed(shell("cd " + file("d") + " && " ASHLAR_COMMAND " record -o t.trace -- sh -c 'rm -r " + file("d") +
                           "; /bin/ls / > /dev/null'"),
                     not_whole, "No such file or directory"));
}

TEST_F(record_outcome, a_program_that_cuts_its_own_trace_is_reported) {
  ASSERT_EQ(record_victim("cuts_all"), not_whole) << output();
  EXPECT_TRUE(says(file() + ": the program cut its own trace short; the program's own exit status is 0\n"));
  trace_reader r(file());
  EXPECT_FALSE(r.next());
  EXPECT_FALSE(r.error());
  EXPECT_EQ(r.info().write_error, ashlar::detail::trace_io::cut_by_program);
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0);
  EXPECT_TRUE(says("the program cut its own trace short"));
}

TEST_F(record_outcome, a_program_that_allocates_nothing_has_a_trace_of_nothing) {
  ASSERT_EQ(record_program(ASHLAR_PLAIN_VICTIM), 0) << output();
  EXPECT_TRUE(says("0 events"));
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0) << output();
  EXPECT_TRUE(says("0 events in "));
}

TEST_F(record_outcome, the_reason_against_a_recording_is_reported) {
  EXPECT_TRUE(failed(record_program(ASHLAR_STATIC_VICTIM " 9"), nothing_recorded,
                     "ashlar record: nothing was recorded: " ASHLAR_STATIC_VICTIM
                     " is statically linked, so the recorder cannot be loaded into it: link it dynamically; the "
                     "program's own exit status is 0\n"));
  EXPECT_TRUE(failed(record_program(ASHLAR_OWN_MALLOC_VICTIM " 9"), nothing_recorded, "has a malloc of its own"));
  std::ofstream(file("script")) << "#! " ASHLAR_STATIC_VICTIM "\n";
  fs::permissions(file("script"), fs::perms::owner_all);
  EXPECT_TRUE(failed(record_program(file("script")), nothing_recorded, "is statically linked"));
  EXPECT_TRUE(failed(record_program("sh -c 'kill -9 $$'", "", no_live_file), nothing_recorded,
                     "before any thread had filled a buffer"));
}

TEST_F(record_outcome, a_program_over_another_c_library_is_recorded) {
  if (std::string(ASHLAR_MUSL_VICTIM).empty()) GTEST_SKIP() << "musl-gcc is not installed (Debian: musl-tools)";
  ASSERT_EQ(record_program(ASHLAR_MUSL_VICTIM " 20000"), 0) << output();
  const recording r(file());
  EXPECT_EQ(r.count(operation::malloc_, 77), 20'000U);
  EXPECT_EQ(r.count_ended(77), 20'000U);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(record_program(ASHLAR_MUSL_VICTIM " 20000", "--stacks 8"), 0) << output();
  EXPECT_EQ(recording(file()).count(operation::malloc_, 77), 20'000U);
}

// Processes that end without writing, where nothing but memory could keep their events: the summary names each, and the
// status tells.
class record_losses : public record_command {};

TEST_F(record_losses, of_workers_ended_by_signals_are_named) {
  for (const std::string way : {"term", "kill"}) {
    EXPECT_TRUE(
        failed(record_victim("workers " + way, "", no_live_file), not_whole, "the recording is incomplete: process "));
    const std::string all = output();
    std::size_t named = 0;
    for (std::size_t at = all.find("has no trace"); at != all.npos; at = all.find("has no trace", at + 1)) ++named;
    EXPECT_EQ(named, 4U) << all;
    EXPECT_TRUE(says("up to 4,096 events; the program's own exit status is 0"));
  }
}

TEST_F(record_losses, workers_that_end_in_order_lack_nothing_and_are_counted) {
  for (const std::string way : {"exit", "exec", "execveat"}) {
    EXPECT_EQ(record_victim("workers " + way), 0) << output();
    EXPECT_FALSE(says("incomplete"));
    const std::string events =
        way == "exit" ? "3,00" : "0 events";  // before a chunk an exec leaves the name to /bin/true
    EXPECT_TRUE(says("; 4 more traces in " + file() + ".*: " + events));
  }
}

TEST_F(record_losses, a_trace_of_a_program_with_a_dash_is_no_option) {
  fs::copy_file(ASHLAR_VICTIM, file("-v"));
  const std::string there = "cd " + fs::path(file()).parent_path().string() + " && " ASHLAR_COMMAND;
  EXPECT_EQ(shell(there + " record -- ./-v forms"), 0) << output();
  EXPECT_TRUE(says("./-v.trace"));
}

TEST_F(record_losses, traces_named_by_process_ids_are_found_too) {
  EXPECT_EQ(shell(ASHLAR_COMMAND " record -o " + file("x-%p.trace") + " -- " ASHLAR_VICTIM " workers exit"), 0);
  EXPECT_TRUE(says("; 4 more traces in " + file("x-*.trace") + ": 3,00"));
  const std::string killed = "sh -c '" ASHLAR_VICTIM " SIGKILL; " ASHLAR_VICTIM " forms'";
  EXPECT_TRUE(failed(shell(no_live_file + ASHLAR_COMMAND " record -o " + file("y-%p.trace") + " -- " + killed),
                     not_whole, "system call of its own: " + file("y-")));
  EXPECT_FALSE(says("has no trace"));
}

TEST_F(record_losses, of_the_killed_program_itself_leave_its_status) {
  ASSERT_EQ(record_victim("SIGKILL", "-q --stacks 0", no_live_file), 128 + 9);
  EXPECT_TRUE(says("was killed or ended by a system call of its own: " + file() + " lacks up to 4,096 events\n"));
}

TEST_F(record_losses, of_a_program_are_not_made_up_for_by_the_one_before_its_exec) {
  ASSERT_EQ(record_program("sh -c '" + no_live_file + "exec " ASHLAR_VICTIM " SIGKILL'", "-q --stacks 0"), 128 + 9);
  EXPECT_TRUE(says(file() + " lacks up to 4,096 events\n"));
}

// A file beside the trace keeps what the trace lacks.
class record_survival : public record_command {
protected:
  void SetUp() override {
    if (!keeps_live_files()) GTEST_SKIP() << "here a kill loses what is not in the trace: set TMPDIR";
  }
};

TEST_F(record_survival, workers_that_are_killed_lose_nothing) {
  for (const std::string way : {"term", "kill"}) {
    EXPECT_EQ(record_victim("workers " + way), 0) << output();
    EXPECT_FALSE(says("incomplete"));
    const std::vector<std::string> workers = other_traces();
    EXPECT_EQ(workers.size(), 4U);
    for (const std::string& worker : workers) {
      const recording r(worker);
      EXPECT_TRUE(r.complete);
      EXPECT_GE(r.events.size(), 3000U);
      fs::remove(worker);
    }
  }
}

TEST_F(record_survival, a_kill_at_any_moment_loses_at_most_the_event_of_that_moment) {
  for (int moment = 0; moment < 12; ++moment) {
    std::ofstream(file("count")) << std::string(sizeof(std::uint64_t), '\0');
    const std::string arguments = "counts " + file("count") + " " + std::to_string(500 + 1777 * moment);
    EXPECT_EQ(record_victim(arguments, moment % 2 == 0 ? "" : "--stacks 0"), 128 + 9) << output();
    std::uint64_t counted = 0;
    std::ifstream(file("count"), std::ios::binary).read(reinterpret_cast<char*>(&counted), sizeof counted);
    const recording r(file());
    const std::size_t recorded = r.count(operation::malloc_, 77);
    EXPECT_TRUE(recorded == counted || recorded == counted + 1) << recorded << " of " << counted;
    EXPECT_TRUE(r.complete);
  }
}

TEST_F(record_survival, a_thread_of_a_child_that_nobody_tells_of_leaves_the_records_of_its_parent_alone) {
  EXPECT_EQ(record_victim("clone_with_threads", "--stacks 0"), 128 + 9) << output();
  EXPECT_EQ(recording(file()).count(operation::malloc_, 50'003), 2 * 20'000U);
}

TEST_F(record_survival, stacks_and_modules_of_a_killed_program_have_names) {
  ASSERT_EQ(record_victim("workers kill"), 0) << output();
  ASSERT_EQ(shell(ASHLAR_COMMAND " report " + other_traces().front()), 0);
  EXPECT_TRUE(says("main ← __libc_start_call_main"));
}

TEST_F(record_survival, what_a_killed_record_has_left_is_taken_by_the_next_reader) {
  const std::string record = ASHLAR_COMMAND " record -o " + file() + " -- " ASHLAR_VICTIM " counts ";
  std::ofstream(file("count")) << std::string(sizeof(std::uint64_t), '\0');
  ASSERT_EQ(shell("setsid " + record + file("count") + " 200000 & sleep 0.1; kill -9 $!; sleep 0.3"), 0) << output();
  fs::create_directory(file("moved"));
  for (const std::string name : {"t.trace", "t.trace.live"}) fs::rename(file(name), file("moved/" + name));
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file("moved/t.trace")), 0) << output();
  EXPECT_FALSE(says("killed or is still running"));
  EXPECT_FALSE(fs::exists(file("moved/t.trace.live")));
}

// A kill at the end of the first write finds a process that has noted no trace.
TEST_F(record_survival, a_trace_with_nothing_but_its_header_is_continued) {
  ASSERT_EQ(record_victim("forms"), 0) << output();
  ashlar::trace::byte_source source(file());
  const io::file_header h = io::chunk_index(source).header();
  const std::string header = text("t.trace").substr(0, io::file_header_bytes + h.text_bytes + 8);
  const auto head = std::make_unique<recorder::live_head>();
  head->magic = recorder::live_magic;
  head->process = h.process;
  head->page_bytes = 4096;
  head->session = h.session;
  head->header_bytes = static_cast<std::uint32_t>(header.size());
  std::memcpy(head->header, header.data(), header.size());
  std::ofstream(file(), std::ios::binary) << header;
  std::ofstream(file("t.trace.live"), std::ios::binary)
      .write(reinterpret_cast<const char*>(head.get()), sizeof(recorder::live_head));
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0) << output();
  EXPECT_FALSE(fs::exists(file("t.trace.live")));
  EXPECT_FALSE(fs::exists(file("t.trace.2")));
  EXPECT_TRUE(recording(file()).complete);
}

TEST_F(record_survival, a_file_that_is_none_of_ours_or_of_an_older_recording_harms_no_trace) {
  ASSERT_EQ(record_victim("forms"), 0) << output();
  const std::string whole = text("t.trace");
  std::ofstream(file("t.trace.live")) << "words";
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0) << output();
  EXPECT_EQ(text("t.trace"), whole);
  EXPECT_EQ(text("t.trace.live"), "words");
  EXPECT_EQ(record_victim("SIGKILL"), 128 + 9) << output();
  EXPECT_TRUE(recording(file()).complete);
}

TEST_F(record_survival, a_program_that_becomes_another_leaves_no_file) {
  for (const std::string way : {"exec", "kill", "exit"}) {
    EXPECT_EQ(record_victim("workers " + way), 0) << output();
    for (const auto& entry : fs::directory_iterator(file(""))) EXPECT_FALSE(has(entry.path().string(), ".live"));
  }
}

TEST(losses, are_sentences_for_any_number) {
  recording_summary sum;
  sum.has_trace = true;
  sum.others = {{.path = "t.8", .process = 8, .events = 1}};
  const auto text = [&](const std::vector<record_status::unfinished>& all) {
    return find_losses(all, {.process = 7, .status = 137}, "t", sum).text;
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({{.process = 7, .threads = 1}}),
            "process 7 was killed or ended by a system call of its own: t lacks up to 4,096 events");
  EXPECT_EQ(text({{.process = 8, .threads = 3, .is_running = true}}),
            "process 8 is still running: t.8 lacks up to 4,096 events of each of its 3 threads");
  EXPECT_EQ(text({{.process = 9, .threads = 0, .is_running = true}}),
            "process 9 is still running, and has no trace: it lacks up to 4,096 events");
  std::vector<record_status::unfinished> many(5, {.process = 9, .threads = 1, .is_running = true});
  EXPECT_FALSE(find_losses(many, {.process = 7}, "t", sum).is_untold);
  EXPECT_TRUE(ends(text(many), "; likewise 1 more process"));
  many.push_back({.process = 9, .threads = 1});
  EXPECT_TRUE(ends(text(many), "; likewise 2 more processes"));
  EXPECT_TRUE(find_losses(many, {.process = 7}, "t", sum).is_untold);
  EXPECT_FALSE(find_losses({{.process = 7, .threads = 1}}, {.process = 7, .status = 137}, "t", sum).is_untold);
  EXPECT_TRUE(find_losses({{.process = 7, .threads = 1}}, {.process = 7, .status = 0}, "t", sum).is_untold);
}

// Programs that die in every way: they end as they do alone, and leave a readable trace.
constexpr std::size_t blocks = 20'000;
constexpr std::uint64_t block_bytes = 50'003;

class record_deaths : public record_command, public testing::WithParamInterface<const char*> {};

TEST_P(record_deaths, end_as_without_it_and_leave_a_whole_trace) {
  const std::string program = ASHLAR_VICTIM " " + std::string(GetParam());
  const int alone = shell("ulimit -c 0; " + program + "; exit $?");
  EXPECT_EQ(record_program(program, "--stacks 0", "ulimit -c 0; "), alone) << output();
  const recording trace(file());
  if (!keeps_live_files()) return;  // a kill loses what is not in the trace
  EXPECT_GE(trace.count(operation::malloc_, block_bytes), blocks);
  EXPECT_TRUE(trace.complete);
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0) << output();
}

const auto name_of_way = [](const auto& info) { return std::string(info.param); };
INSTANTIATE_TEST_SUITE_P(each, record_deaths,
                         testing::Values("returns", "exit", "_exit", "quick_exit", "exit_in_atexit",
                                         "exit_in_static_destructor", "exit_in_signal_handler", "exit_in_thread",
                                         "exit_beside_thread", "_exit_beside_thread", "main_thread_ends_first",
                                         "fork_and_child_exit", "fork_and_child_abort", "vfork_and_exec", "daemon",
                                         "closes_all_and_exits", "no_more_files", "abort", "terminate", "exception",
                                         "SIGKILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTERM", "SIGINT",
                                         "SIGPIPE", "stack_overflow", "limit_of_time", "clone_and_SIGKILL"),
                         name_of_way);

}  // namespace
