// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that each verb, ended by any signal at any moment, leaves no temporary file and no part of an output.
#include <array>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sys/prctl.h>

#include "cli/tests/command.hpp"

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class interrupted : public ashlar_test::command_test {
protected:
  interrupted() {
    fs::create_directory(file("temporary"));
    fs::create_directory(file("outputs"));
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // of what the verbs leave behind
  }

  /// Effects: starts the verb in a group of its own, and sends the signal after the delay to it or to the group.
  /// Returns: whether it has left a process so long after its end.
  bool end(const std::string& arguments, int signal, std::chrono::microseconds delay, bool whole_group,
           std::chrono::milliseconds after) const {
    const std::string line = "exec " ASHLAR_COMMAND " " + arguments + " > /dev/null 2>&1";
    const pid_t child = ::fork();
    if (child == 0) {
      ::setsid();
      ::setenv("TMPDIR", file("temporary").c_str(), 1);
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    std::this_thread::sleep_for(delay);
    ::kill(whole_group ? -child : child, signal);
    ::waitpid(child, nullptr, 0);
    bool has_left = true;
    for (; has_left && after > 0ms; after -= 10ms) {
      while (::waitpid(-child, nullptr, WNOHANG) > 0) continue;
      has_left = ::kill(-child, 0) == 0;
      if (has_left) std::this_thread::sleep_for(10ms);
    }
    ::kill(-child, SIGKILL);  // a recorded program outlives a killed recorder
    return has_left;
  }

  [[nodiscard]] std::string names_in(const std::string& folder) const {
    std::string names;
    for (const auto& entry : fs::directory_iterator(file(folder))) names += entry.path().filename().string() + " ";
    return names;
  }

  /// Returns: what is left among the temporary files a moment after the end.
  [[nodiscard]] std::string left() const {
    for (int tries = 0; tries < 1000 && !names_in("temporary").empty(); ++tries) std::this_thread::sleep_for(10ms);
    return names_in("temporary");
  }

  /// Effects: removes the outputs. Returns: those that are not whole, since their ends are missing.
  [[nodiscard]] std::string cut() const {
    std::string found;
    for (const auto& entry : fs::directory_iterator(file("outputs"))) {
      std::ifstream from(entry.path());
      const std::string text{std::istreambuf_iterator<char>(from), {}};
      const std::string name = entry.path().filename().string();
      const bool is_whole = name == "j"   ? text.ends_with("}\n")
                            : name == "h" ? text.find("</html>") != std::string::npos
                                          : name == "p" && !text.empty();
      if (!is_whole) found += name + " ";
      fs::remove(entry.path());
    }
    return found;
  }
};

constexpr std::array ending_signals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL, SIGPIPE};

TEST_F(interrupted, verbs_leave_nothing_whichever_signal_ends_them) {
  const std::string trace = sample(20000, 2), outputs = " --json " + file("outputs/j") + " --html " + file("outputs/h");
  std::ofstream(file("limits.json")) << R"({"program": {"allocations": 1000000000}})";
  const std::string victim = " -- " ASHLAR_VERIFY_VICTIM " allocate";
  const std::vector<std::string> verbs = {
      "report " + trace + outputs,
      "diff " + trace + " " + trace + outputs,
      "advise --measure none " + trace + outputs + " -o " + file("outputs/p"),
      "advise " + trace + outputs + " --measure run --rounds 2" + victim,
      "replay " + trace + outputs + " --with glibc --repetitions 2",
      "try " + trace + " --runs 8 --with " ASHLAR_TRY_PRELOAD + victim,
      "verify --json " + file("outputs/j") + " --against " ASHLAR_TRY_PRELOAD + victim,
      "budget " + file("limits.json") + " --json " + file("outputs/j") + " -- " ASHLAR_VICTIM " spans",
      "budget --write " + file("outputs/j") + " -- sh -c 'ls / ; sleep 0.01 ; ls /'",
      "plan --trace " + trace + " -o " + file("outputs/p") + " --html " + file("outputs/h"),
  };
  const char* const stress = std::getenv("ASHLAR_STRESS");
  const int moments = stress == nullptr ? 1 : 5 * std::atoi(stress);
  std::minstd_rand random(std::random_device{}());
  for (const std::string& verb : verbs)
    for (const int signal : ending_signals)
      for (int i = 0; i < moments; ++i) {
        const std::chrono::microseconds delay(std::uniform_int_distribution<int>(0, 150'000)(random));
        const bool whole_group = random() % 2 == 0;
        static_cast<void>(end(verb, signal, delay, whole_group, 1s));
        const std::string when = verb + " by " + ::strsignal(signal) + " after " + std::to_string(delay.count()) +
                                 " us" + (whole_group ? ", with its group" : "");
        EXPECT_EQ(left(), "") << when;
        EXPECT_EQ(cut(), "") << when;
      }
}

TEST_F(interrupted, a_recorded_program_ends_by_a_request_from_its_first_moment_on) {
  for (int i = 0; i < 100; ++i) {
    const auto start = std::chrono::steady_clock::now();
    static_cast<void>(end("record -o " + file("t") + " -- sleep 3", SIGTERM, i * 200us, false, 0ms));
    ASSERT_LT(std::chrono::steady_clock::now() - start, 3s) << "after " << i * 200 << " us";
  }
}

// What a verb has started of the command itself does not go on.
TEST_F(interrupted, replays_end_with_the_verb) {
  const std::string trace = sample(50000, 2);
  for (const std::string& verb : {"replay " + trace + " --with glibc --repetitions 50",
                                  "try " + trace + " --runs 8 --with " ASHLAR_TRY_PRELOAD " -- " ASHLAR_VERIFY_VICTIM})
    for (const int signal : {SIGTERM, SIGKILL})
      for (const std::chrono::milliseconds delay : {100ms, 200ms, 300ms})
        EXPECT_FALSE(end(verb, signal, delay, false, 10s)) << verb << " by " << ::strsignal(signal);
}

}  // namespace
