// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of the messages of `ashlar record` when a program could not be recorded, or not to its end.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "cli/tests/record/command.hpp"

namespace {

using namespace ashlar_test;

class record_outcome : public record_command {};

TEST_F(record_outcome, programs_notice_nothing_when_the_disk_is_full) {
  for (const char* mode : {"forms", "threads", "keeps_errno", "forks"}) {
    EXPECT_EQ(shell(ASHLAR_COMMAND " record -o /dev/full -- " ASHLAR_VICTIM " " + std::string(mode)), not_whole)
        << mode;
    EXPECT_TRUE(says("the trace is incomplete: /dev/full: the disk was full")) << mode << output();
    EXPECT_TRUE(says("; the program's own exit status is 0\n")) << mode << output();
  }
  EXPECT_EQ(shell("ulimit -f 1; " ASHLAR_COMMAND " record -o " + file() + " -- " ASHLAR_VICTIM " killed"), not_whole);
  EXPECT_TRUE(says(file() + ": writing failed: File too large; the program's own exit status is 137\n")) << output();
  EXPECT_EQ(shell("ulimit -f 1; " ASHLAR_COMMAND " record -q -o " + file() + " -- " ASHLAR_VICTIM " threads"),
            not_whole)
      << output();
}

TEST_F(record_outcome, a_full_disk_leaves_whole_chunks_and_is_reported) {
  EXPECT_EQ(shell("ulimit -f 8; " ASHLAR_COMMAND " record -o " + file() + " -- " ASHLAR_VICTIM " fork_storm"),
            not_whole)
      << output();
  trace_reader r(file());
  while (r.next()) {
  }
  EXPECT_FALSE(r.error()) << r.error()->message;
  EXPECT_EQ(r.info().write_error, EFBIG);
  EXPECT_FALSE(r.info().complete);
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0);
  EXPECT_TRUE(says("The recording ended before the program: writing failed: File too large.")) << output();
  EXPECT_FALSE(says("killed")) << output();
}

TEST_F(record_outcome, a_file_size_limit_is_an_error_of_every_verb) {
  ASSERT_EQ(record_victim("threads"), 0) << output();
  const std::string limited = "ulimit -f 8; TMPDIR=" + fs::path(file()).parent_path().string() + " " ASHLAR_COMMAND " ";
  EXPECT_EQ(shell(limited + "replay " + file() + " --with glibc --repetitions 1"), 1) << output();
  EXPECT_TRUE(says("/ashlar-")) << output();
  EXPECT_TRUE(says("File too large")) << output();
  EXPECT_EQ(shell(limited + "report " + file() + " --html " + file("r.html") + " > /dev/null"), 1) << output();
  EXPECT_TRUE(says(file("r.html") + ": File too large")) << output();
}

TEST_F(record_outcome, a_child_without_a_trace_is_reported) {
  fs::create_directories(file("d"));
  EXPECT_EQ(shell("cd " + file("d") + " && " ASHLAR_COMMAND " record -o t.trace -- sh -c 'rm -r " + file("d") +
                  "; /bin/ls / > /dev/null'"),
            not_whole);
  EXPECT_TRUE(says("No such file or directory")) << output();
}

TEST_F(record_outcome, a_program_that_cuts_its_own_trace_is_reported) {
  ASSERT_EQ(record_victim("cuts_all"), not_whole) << output();
  EXPECT_TRUE(says(file() + ": the program cut its own trace short; the program's own exit status is 0\n")) << output();
  trace_reader r(file());
  EXPECT_FALSE(r.next());
  EXPECT_FALSE(r.error());
  EXPECT_EQ(r.info().write_error, ashlar::detail::trace_io::cut_by_program);
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0);
  EXPECT_TRUE(says("the program cut its own trace short")) << output();
}

TEST_F(record_outcome, a_program_that_allocates_nothing_has_a_trace_of_nothing) {
  ASSERT_EQ(shell(ASHLAR_COMMAND " record -o " + file() + " -- " ASHLAR_PLAIN_VICTIM), 0) << output();
  EXPECT_TRUE(says("0 events")) << output();
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + file()), 0) << output();
  EXPECT_TRUE(says("0 events in ")) << output();
}

TEST_F(record_outcome, the_reason_against_a_recording_is_reported) {
  const auto record = [this](const std::string& program) {
    return shell(ASHLAR_COMMAND " record -o " + file() + " -- " + program);
  };
  EXPECT_EQ(record(ASHLAR_STATIC_VICTIM " 9"), nothing_recorded) << output();
  EXPECT_EQ(output(), "ashlar record: nothing was recorded: " ASHLAR_STATIC_VICTIM
                      " is statically linked, so the recorder cannot be loaded into it: link it dynamically; the "
                      "program's own exit status is 0\n");
  EXPECT_EQ(record(ASHLAR_OWN_MALLOC_VICTIM " 9"), nothing_recorded) << output();
  EXPECT_TRUE(says("has a malloc of its own")) << output();
  std::ofstream(file("script")) << "#! " ASHLAR_STATIC_VICTIM "\n";
  fs::permissions(file("script"), fs::perms::owner_all);
  EXPECT_EQ(record(file("script")), nothing_recorded) << output();
  EXPECT_TRUE(says("is statically linked")) << output();
  EXPECT_EQ(record("sh -c 'kill -9 $$'"), nothing_recorded) << output();
  EXPECT_TRUE(says("killed before any thread had filled a buffer")) << output();
}

TEST_F(record_outcome, a_program_over_another_c_library_is_recorded) {
  if (std::string(ASHLAR_MUSL_VICTIM).empty()) GTEST_SKIP() << "musl-gcc is not installed (Debian: musl-tools)";
  ASSERT_EQ(shell(ASHLAR_COMMAND " record -o " + file() + " -- " ASHLAR_MUSL_VICTIM " 20000"), 0) << output();
  const recording r(file());
  EXPECT_EQ(r.count(operation::malloc_, 77), 20'000U);
  EXPECT_EQ(r.count_ended(77), 20'000U);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(shell(ASHLAR_COMMAND " record --stacks 8 -o " + file() + " -- " ASHLAR_MUSL_VICTIM " 20000"), 0)
      << output();
  EXPECT_EQ(recording(file()).count(operation::malloc_, 77), 20'000U);
}

}  // namespace
