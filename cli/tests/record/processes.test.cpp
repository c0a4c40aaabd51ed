// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the choice among the processes of a recording: the largest, unless another is asked for; files of other
// recordings are none of them.
#include "cli/record/processes.hpp"
#include "cli/tests/record/command.hpp"

namespace {

using namespace ashlar_test;
using nlohmann::json;

class recording_of_processes : public record_command {
protected:
  /// Returns: the report, or advice, on the recording.
  json told(const std::string& options = "", const std::string& verb = "report") {
    const std::string unmeasured = verb == "advise" ? " --measure none " : " ";
    EXPECT_EQ(shell(ASHLAR_COMMAND " " + verb + unmeasured + file() + " " + options + " --json " + file("r.json")), 0)
        << output();
    return json::parse(text("r.json"));
  }
};

constexpr const char* by_a_shell = "sh -c '" ASHLAR_MEMORY_VICTIM " works; " ASHLAR_MEMORY_VICTIM "'";

TEST_F(recording_of_processes, the_largest_is_advised_and_the_page_says_so) {
  ASSERT_EQ(record_program(by_a_shell), 0) << output();
  EXPECT_TRUE(says("; the largest is process "));
  for (const char* verb : {"report", "advise"}) {
    const json all = told("", verb);
    EXPECT_TRUE(says("Of 3 traces of the recording this is the largest: process "));
    ASSERT_EQ(all["processes"].size(), 3U);
    EXPECT_TRUE(all["processes"][0]["is_taken"]);
    EXPECT_FALSE(all["processes"][0]["is_first"]);
    EXPECT_GT(all["processes"][0]["events"], 15'000);
    EXPECT_EQ(all["program"], ASHLAR_MEMORY_VICTIM " works");
  }
}

TEST_F(recording_of_processes, the_header_of_the_chosen_one_is_read_once) {
  ASSERT_EQ(record_program(by_a_shell), 0) << output();
  const ashlar::cli::process_choice choice = ashlar::cli::choose_process(file(), "");
  fs::remove(choice.taken.path);
  EXPECT_GT(ashlar::cli::processes_json(choice)[0]["events"], 15'000);
}

TEST_F(recording_of_processes, a_title_names_the_program_without_its_folder) {
  fs::create_directory(file("a b"));
  fs::copy_file(ASHLAR_MEMORY_VICTIM, file("a b/works"));
  ASSERT_EQ(record_program("'" + file("a b/works") + "' mallocs"), 0) << output();
  const std::string title = title_of(ashlar::cli::read_process_trace(file()));
  EXPECT_TRUE(has(title, " (works mallocs), "));
}

TEST_F(recording_of_processes, another_is_advised_if_it_is_asked_for) {
  ASSERT_EQ(record_program(by_a_shell), 0) << output();
  for (const char* verb : {"report", "advise"}) {
    EXPECT_TRUE(starts(told("--process root", verb)["program"], "sh -c ")) << verb;
    EXPECT_TRUE(says("this is the one asked for: "));
    const json smallest = told("", verb)["processes"][2];
    const std::string process = std::to_string(smallest["process"].get<int>());
    EXPECT_EQ(told("--process " + process, verb)["program"], smallest["program"]);
    EXPECT_TRUE(failed(shell(ASHLAR_COMMAND " " + std::string(verb) + " " + file() + " --process 1"), 1,
                       file() + ": no process 1 is in this recording: "));
    EXPECT_TRUE(failed(shell(ASHLAR_COMMAND " " + std::string(verb) + " " + file() + " --process some"), 2,
                       "'some' is none of largest, root, a process id"));
  }
  const std::string child = other_traces().front();
  EXPECT_EQ(shell(ASHLAR_COMMAND " report " + child + " --json " + file("r.json")), 0);
  EXPECT_EQ(json::parse(text("r.json"))["processes"], nullptr);  // the name of a process is that process
  EXPECT_TRUE(failed(shell(ASHLAR_COMMAND " report " + child + " --process root"), 1, "names one process"));
  EXPECT_TRUE(
      failed(shell(ASHLAR_COMMAND " advise --process root " + file() + " " + child), 2, "--process is for one TRACE"));
}

TEST_F(recording_of_processes, the_first_may_be_the_largest) {
  ASSERT_EQ(record_program(ASHLAR_MEMORY_VICTIM " works forks"), 0) << output();
  EXPECT_FALSE(says("the largest is"));
  EXPECT_TRUE(told()["processes"][0]["is_first"]);
  EXPECT_TRUE(says("the first one, and the largest"));
  ASSERT_EQ(record_program(ASHLAR_MEMORY_VICTIM " forks works"), 0) << output();
  EXPECT_FALSE(told()["processes"][0]["is_first"]);
}

TEST_F(recording_of_processes, files_of_an_older_one_are_none_of_them) {
  ASSERT_EQ(record_program(by_a_shell), 0) << output();
  for (const std::string& older : other_traces()) fs::rename(older, older + "9");
  ASSERT_EQ(record_program("sh -c '" ASHLAR_MEMORY_VICTIM " mallocs; true'"), 0) << output();
  EXPECT_TRUE(says("; 1 more trace in "));
  EXPECT_EQ(told()["processes"].size(), 2U);
  EXPECT_EQ(told()["program"], ASHLAR_MEMORY_VICTIM " mallocs");
  for (const std::string& one : other_traces()) fs::rename(one, one + "8");
  ASSERT_EQ(record_program(ASHLAR_MEMORY_VICTIM), 0) << output();
  EXPECT_EQ(told()["processes"], nullptr);
  EXPECT_EQ(told()["choice"], nullptr);
}

TEST_F(recording_of_processes, a_killed_child_is_one_of_them) {
  ASSERT_EQ(record_program("sh -c '" ASHLAR_MEMORY_VICTIM " works dies; true'", "", no_live_file), not_whole)
      << output();
  EXPECT_EQ(told()["program"], ASHLAR_MEMORY_VICTIM " works dies");
  EXPECT_TRUE(says("The program was killed"));
}

TEST_F(recording_of_processes, an_empty_file_of_the_first_one_stands_for_them) {
  ASSERT_EQ(record_program(by_a_shell), 0) << output();
  for (const std::string& name : other_traces()) fs::rename(name, name + "9");
  EXPECT_EQ(record_program("sh -c '" ASHLAR_MEMORY_VICTIM "; kill -9 $$'", "", no_live_file), 128 + 9) << output();
  EXPECT_EQ(fs::file_size(file()), 0U);
  EXPECT_EQ(told()["program"], ASHLAR_MEMORY_VICTIM);
  EXPECT_TRUE(says(fs::path(file()).filename().string() + ", empty: killed before it wrote"));
  EXPECT_EQ(record_program("sh -c 'kill -9 $$'", "", no_live_file), nothing_recorded) << output();
  EXPECT_TRUE(failed(shell(ASHLAR_COMMAND " report " + file()), 1, "the file is empty"));
}

}  // namespace
