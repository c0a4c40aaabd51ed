// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar run`: the command as installed, with stand-ins for its libraries, and real programs.
#include "cli/support/companion.hpp"
#include "cli/tests/command.hpp"

namespace {

namespace fs = std::filesystem;
using ashlar_test::has, ashlar_test::starts;
using ashlar_test::run_shell;

constexpr int not_loaded = 124;

/// The command in bin/, a library whose malloc is glibc's in lib/, under the names of the three.
class run_verb : public ashlar_test::command_test {
protected:
  run_verb() {
    fs::create_directories(file("bin"));
    fs::create_directories(file("lib"));
    fs::copy_file(ASHLAR_COMMAND, file("bin/ashlar"));
    for (const char* name : {"libashlar.so", "libashlar-checked.so", "libashlar-hardened.so"})
      fs::copy_file(ASHLAR_TRY_PRELOAD, file("lib/" + std::string(name)));
  }

  /// Returns: the exit status; the output is in `text("out")` and `text("err")`.
  int run(const std::string& arguments, const std::string& environment = "") {
    return run_shell("env -u LD_PRELOAD -u ASHLAR " + environment + " " + file("bin/ashlar") + " run " + arguments +
                     " > " + file("out") + " 2> " + file("err"));
  }

  /// Returns: whether the victim, run in this way, prints these lines.
  [[nodiscard]] testing::AssertionResult prints(const std::string& arguments, const std::vector<std::string>& lines,
                                                const std::string& environment = "") {
    const int status = run(arguments + ASHLAR_RUN_VICTIM, environment);
    for (const std::string& line : lines)
      if (status != 0 || ("\n" + text("out")).find("\n" + line + "\n") == std::string::npos)
        return testing::AssertionFailure() << status << ", no " << line << " in:\n" << text("out") << text("err");
    return testing::AssertionSuccess();
  }
};

TEST_F(run_verb, puts_its_malloc_in_front) {
  EXPECT_TRUE(prints("-- ", {"malloc: libashlar.so", "LD_PRELOAD: " + file("lib/libashlar.so"), "ASHLAR: "}));
  EXPECT_EQ(text("err"), "");
}

TEST_F(run_verb, a_program_needs_no_dashes_and_keeps_its_own) {
  ASSERT_EQ(run("--level checked sh -c 'echo \"$0 $*\"' a --level b -- c"), 0) << text("err");
  EXPECT_EQ(text("out"), "a --level b -- c\n");
}

TEST_F(run_verb, each_level_is_a_library) {
  for (const std::string level : {"checked", "hardened"})
    EXPECT_TRUE(prints("--level " + level + " -- ", {"malloc: libashlar-" + level + ".so"}));
}

TEST_F(run_verb, options_follow_those_of_the_environment) {
  EXPECT_TRUE(
      prints("--stats --option retain=64m --option decay=500 -- ", {"ASHLAR: stats=exit,retain=64m,decay=500"}));
  EXPECT_TRUE(prints("--option retain=64m ", {"ASHLAR: max=1g,retain=64m"}, "ASHLAR=max=1g"));
}

TEST_F(run_verb, prints_the_line_that_starts_the_program_without_it) {
  ASSERT_EQ(run("--option retain=64m --print -- " ASHLAR_RUN_VICTIM " 'a b'", "LD_PRELOAD=libm.so.6"), 0);
  const std::string list = file("lib/libashlar.so") + ":libm.so.6";
  const std::string line = "LD_PRELOAD=" + list + " ASHLAR=retain=64m " ASHLAR_RUN_VICTIM " 'a b'\n";
  EXPECT_EQ(text("out"), line);
  EXPECT_EQ(run_shell("exec > " + file("out") + "; " + line), 0);
  EXPECT_EQ(text("out"), "malloc: libashlar.so\nLD_PRELOAD: " + list + "\nASHLAR: retain=64m\n");
}

TEST_F(run_verb, the_programs_end_is_that_of_the_command) {
  EXPECT_EQ(run("-- " ASHLAR_RUN_VICTIM " exit 7"), 7);
  EXPECT_EQ(run("-- " ASHLAR_RUN_VICTIM " signal 6"), 128 + 6);
  EXPECT_EQ(run_shell("{ sleep 0.2; kill -TERM $$; } & exec " + file("bin/ashlar") + " run sleep 60"), 128 + 15);
}

TEST_F(run_verb, another_library_stays_behind_it) {
  const std::string other = file("lib/other.so");
  fs::copy_file(ASHLAR_TRY_PRELOAD, other);
  EXPECT_TRUE(prints("-- ", {"malloc: libashlar.so", "LD_PRELOAD: " + file("lib/libashlar.so") + ":" + other},
                     "LD_PRELOAD=" + other));
}

TEST_F(run_verb, one_inside_another_takes_the_inner_level) {
  EXPECT_TRUE(prints("--level hardened -- " + file("bin/ashlar") + " run --level checked -- ",
                     {"LD_PRELOAD: " + file("lib/libashlar-checked.so")}));
}

TEST_F(run_verb, is_found_through_a_link) {
  fs::create_directories(file("elsewhere"));
  fs::create_symlink(file("bin/ashlar"), file("elsewhere/ashlar"));
  EXPECT_EQ(run_shell(file("elsewhere/ashlar") + " run -- " ASHLAR_RUN_VICTIM " > " + file("out")), 0);
  EXPECT_TRUE(said("out", "malloc: libashlar.so\n"));
}

TEST_F(run_verb, a_missing_library_is_named) {
  fs::remove(file("lib/libashlar-hardened.so"));
  EXPECT_TRUE(failed(run("--level hardened -- true"), 1,
                     "ashlar run: libashlar-hardened.so is missing: it belongs beside ashlar or in ../lib\n"));
}

TEST_F(run_verb, a_path_that_cannot_be_preloaded_is_named) {
  fs::rename(file("lib"), file("a b"));
  fs::create_directory_symlink(file("a b"), file("lib"));
  EXPECT_EQ(run("-- true"), 1);
  EXPECT_EQ(text("err"),
            "ashlar run: " + file("a b/libashlar.so") + ": a path with blanks or colons cannot be preloaded\n");
}

TEST_F(run_verb, mistakes_get_one_clear_line) {
  for (const mistake& each :
       {mistake{"", 2, "no program given; see ashlar run --help"},
        {"--level hardend -- true", 2, "unknown level 'hardend'; did you mean 'hardened'?"},
        {"--level 3 -- true", 2, "unknown level '3'; it is fast, checked or hardened"},
        {"--levle fast -- true", 2, "unknown option --levle; did you mean '--level'?; see ashlar run --help"},
        {"--option retain -- true", 2, "--option: 'retain' is not WORD=VALUE; see ashlar run --help"},
        {"-- /no/such/program", 127, "/no/such/program: no such program"},
        {"-- .", 126, ".: is a directory"},
        {"-- /etc/passwd", 126, "/etc/passwd: Permission denied"}}) {
    EXPECT_TRUE(failed(run(each.arguments), each.status, "ashlar run: " + each.words + "\n")) << each.arguments;
  }
}

TEST_F(run_verb, a_program_that_loads_no_library_is_refused) {
  EXPECT_TRUE(failed(run("-- " ASHLAR_STATIC_VICTIM), not_loaded,
                     "ashlar run: " ASHLAR_STATIC_VICTIM
                     " is statically linked, so libashlar.so cannot be loaded into it: link it dynamically\n"));
  EXPECT_TRUE(failed(run("-- " ASHLAR_OWN_MALLOC_VICTIM), not_loaded,
                     " has a malloc of its own, whose calls do not pass libashlar.so"));
}

TEST_F(run_verb, a_program_with_a_malloc_of_a_sanitizer_is_refused) {
  std::ofstream(file("program.cpp")) << "int main() { delete new int(7); }";
  const auto is_built = [this](const std::string& compiler, const std::string& sanitizer) {
    return run_shell("{ " + compiler + " -fsanitize=" + sanitizer + " " + file("program.cpp") + " -o " +
                     file("program") + " && " + file("program") + "; } >" + file("log") + " 2>&1") == 0;
  };
  for (const std::string compiler : {ASHLAR_COMPILER, "g++"}) {
    for (const char* sanitizer : {"address", "thread", "memory"}) {
      if (!is_built(compiler, sanitizer)) continue;  // not each compiler has each, nor runs under any kernel
      EXPECT_TRUE(failed(run("-- " + file("program")), not_loaded, " is built with a sanitizer"))
          << compiler << " " << sanitizer;
      EXPECT_TRUE(failed(ashlar("record -o " + file("t.trace") + " -- " + file("program")), not_loaded,
                         "nothing was recorded: " + file("program") + " is built with a sanitizer"));
    }
    if (is_built(compiler, "undefined")) EXPECT_EQ(run("-- " + file("program")), 0) << text("err");
  }
}

TEST_F(run_verb, a_privileged_program_is_refused) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can give a program to somebody else";
  fs::copy_file(ASHLAR_RUN_VICTIM, file("privileged"));
  ASSERT_EQ(::chown(file("privileged").c_str(), 65534, 65534), 0);
  fs::permissions(file("privileged"), fs::perms::set_uid | fs::perms::owner_all | fs::perms::others_exec);
  EXPECT_TRUE(failed(run("-- " + file("privileged")), not_loaded,
                     "ashlar run: " + file("privileged") +
                         " is set-uid, set-gid or has capabilities, so libashlar.so is not loaded into it: run a "
                         "copy without them, or run as its owner\n"));
}

TEST_F(run_verb, a_replay_and_a_verdict_of_try_take_the_same_library) {
  const std::string command = file("bin/ashlar ");
  const std::string replay = command + "replay " + sample(2000) + " --repetitions 1 --json - --with glibc,";
  const auto has = [this](const std::string& words) { return text("out").find(words) != std::string::npos; };
  ASSERT_EQ(run_shell(replay + "libashlar.so,libashlar-checked.so > " + file("out") + " 2> " + file("err")), 0)
      << text("err");
  EXPECT_TRUE(has("\"command\":\"ashlar run\"") || has("\"command\": \"ashlar run\"")) << text("out");
  EXPECT_TRUE(has("ashlar run --level checked")) << text("out");
  EXPECT_TRUE(has(file("lib/libashlar.so"))) << text("out");
  const std::string verdict = command + "try " + sample(2000) +
                              " --runs 8 --threshold 100 --with libashlar.so -- " ASHLAR_VERIFY_VICTIM " allocate";
  const int status = run_shell(verdict + " --json " + file("j") + " > " + file("out") + " 2> " + file("err"));
  EXPECT_TRUE(status == 0 || status == 4) << status << text("err");
  fs::remove(file("lib/libashlar.so"));
  EXPECT_TRUE(failed(run_shell(verdict + " > " + file("out") + " 2> " + file("err")), 1,
                     "ashlar try: libashlar.so is missing: it belongs beside ashlar or in ../lib\n"));
  EXPECT_TRUE(failed(run_shell(replay + "libashlar.so > " + file("out") + " 2> " + file("err")), 1,
                     "ashlar replay: libashlar.so is missing: it belongs beside ashlar or in ../lib\n"));
}

/// The library itself, found from the build tree.
class run_library : public ashlar_test::command_test {
protected:
  void SetUp() override {
    if (!ASHLAR_HAS_MALLOC) GTEST_SKIP() << "this build has no libashlar.so";
  }
};

TEST_F(run_library, serves_programs_at_each_level) {
  for (const std::string level : {"fast", "checked", "hardened"}) {
    ASSERT_EQ(ashlar("run --level " + level + " -- " ASHLAR_RUN_VICTIM), 0) << text("err");
    EXPECT_EQ(text("err"), "");
    const std::string file = level == "fast" ? "libashlar.so" : "libashlar-" + level + ".so";
    EXPECT_TRUE(starts(text("out"), "malloc: " + file));
    EXPECT_EQ(ashlar("run --level " + level + " -- sh -c 'seq 1000 | sort -rn | head -n 1'"), 0) << text("err");
    EXPECT_EQ(text("out"), "1000\n");
  }
}

TEST_F(run_library, prints_statistics_at_the_end) {
  ASSERT_EQ(ashlar("run --stats -- " ASHLAR_RUN_VICTIM), 0);
  EXPECT_TRUE(said("err", "live"));
}

TEST_F(run_library, a_program_over_musl_runs_under_it) {
  if (std::string(ASHLAR_MUSL_VICTIM).empty()) GTEST_SKIP() << "musl-gcc is not installed (Debian: musl-tools)";
  for (const char* const level : {"fast", "checked", "hardened"}) {
    EXPECT_EQ(ashlar("run --stats --level " + std::string(level) + " -- " ASHLAR_MUSL_VICTIM " 9"), 0);
    EXPECT_TRUE(said("err", " (record_musl): "));
  }
}

TEST_F(run_library, a_program_over_musl_is_not_routed) {
  if (std::string(ASHLAR_MUSL_VICTIM).empty()) GTEST_SKIP() << "musl-gcc is not installed (Debian: musl-tools)";
  std::ofstream(file("p")) << "{\"plan\":1,\"program\":\"" ASHLAR_MUSL_VICTIM "\",\"modules\":{}}\n";
  for (const std::string verb : {"run", "verify"}) {
    EXPECT_NE(ashlar(verb + " --plan " + file("p") + " -- " ASHLAR_MUSL_VICTIM " 9"), 0);
    EXPECT_TRUE(said("err", " is linked with musl, and libashlar-route.so needs glibc: link it with glibc"));
  }
}

TEST_F(run_library, an_option_that_it_does_not_know_is_one_line) {
  ASSERT_EQ(ashlar("run --option retian=1m --option retain=1m -- " ASHLAR_RUN_VICTIM), 0);
  EXPECT_EQ(text("err"), "ashlar: ASHLAR: unknown option 'retian'\n");
}

TEST_F(run_library, is_a_candidate_of_a_replay) {
  ASSERT_EQ(ashlar("replay " + sample(20000, 3) + " --with glibc,libashlar.so --repetitions 1"), 0) << text("err");
  EXPECT_TRUE(said("out", "\nlibashlar.so "));
}

TEST(run_preload_list, keeps_the_recorder_in_front) {
  using ashlar::cli::preload_list;
  EXPECT_EQ(preload_list("/l/libashlar.so", nullptr), "/l/libashlar.so");
  EXPECT_EQ(preload_list("/l/libashlar.so", ""), "/l/libashlar.so");
  EXPECT_EQ(preload_list("/l/libashlar.so", "/a.so:/r/libashlar-record.so /b.so"),
            "/r/libashlar-record.so:/l/libashlar.so:/a.so:/b.so");
  EXPECT_EQ(preload_list("/l/libashlar.so", "/m/libashlar-checked.so::/a.so"), "/l/libashlar.so:/a.so");
  EXPECT_EQ(preload_list("/l/libmimalloc.so", "/l/libashlar.so"), "/l/libmimalloc.so:/l/libashlar.so");
}

}  // namespace
