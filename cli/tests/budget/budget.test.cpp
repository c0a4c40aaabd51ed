// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of limits of allocation, from the file to the exit status.
#include <sstream>
#include <stdexcept>

#include "cli/budget/limits.hpp"
#include "cli/tests/command.hpp"

namespace {

using ashlar::cli::budget_subject;
using ashlar::cli::limit;
using ashlar_test::has, ashlar_test::ends;
using nlohmann::json;

std::vector<limit> limits_of(const std::string& text) {
  std::istringstream from(text);
  return ashlar::cli::read_limits(from, "l.json");
}

std::string refusal_of(const std::string& text) {
  try {
    static_cast<void>(limits_of(text));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(limits, are_read_with_comments) {
  const std::vector<limit> all = limits_of(R"({ // of the parser
    "spans": {"parse": {"allocations": 97}}, "threads": {"audio": {"bytes": 0}}, "program": {"peak_bytes": 5}})");
  EXPECT_EQ(all, (std::vector<limit>{{budget_subject::program, "", "peak_bytes", 5},
                                     {budget_subject::span, "parse", "allocations", 97},
                                     {budget_subject::thread, "audio", "bytes", 0}}));
}

TEST(limits, that_are_not_understood_are_refused) {
  EXPECT_EQ(refusal_of("{"),
            "l.json: parse error at line 1, column 2: syntax error while parsing object key - unexpected "
            "end of input; expected string literal");
  EXPECT_EQ(refusal_of("[]"), "l.json: an object of spans, threads and program is expected");
  EXPECT_EQ(refusal_of("{}"), "l.json: there is no limit in it");
  EXPECT_EQ(refusal_of(R"({"program": {"bytes": 1, "bytes": 2}})"), "l.json: 'bytes' stands twice in one object");
  EXPECT_EQ(refusal_of(R"({"spans": {"a": {"count": 1}, "a": {"count": 2}}})"),
            "l.json: 'a' stands twice in one object");
  EXPECT_EQ(refusal_of(R"({"spans": {}})"), "l.json: there is no limit in it");
  EXPECT_EQ(refusal_of(R"({"spams": {}})"), "l.json: unknown part 'spams'; did you mean 'spans'?");
  EXPECT_EQ(refusal_of(R"({"spans": 1})"), "l.json: spans: an object of names is expected");
  EXPECT_EQ(refusal_of(R"({"spans": {"a": 1}})"), "l.json: span a: an object of limits is expected");
  EXPECT_EQ(refusal_of(R"({"spans": {"a": {"allocation": 1}}})"),
            "l.json: span a: unknown figure 'allocation'; did you mean 'allocations'?; known are count, allocations, "
            "bytes, peak_bytes, p50_ns, p99_ns, p99_9_ns");
  EXPECT_EQ(refusal_of(R"({"program": {"p99_ns": 1}})"),
            "l.json: program: unknown figure 'p99_ns'; known are allocations, bytes, "
            "peak_bytes, never_freed_bytes");
  for (const char* number : {"-1", "1.5", "\"1\"", "null", "1e3"})
    EXPECT_EQ(refusal_of(R"({"program": {"bytes": )" + std::string(number) + "}}"),
              "l.json: program: bytes: a whole number of at least 0 is expected")
        << number;
}

class budget : public ashlar_test::command_test {
protected:
  int held_to(const std::string& limits, const std::string& arguments) {
    std::ofstream(file("limits.json")) << limits;
    return ashlar("budget " + file("limits.json") + " " + arguments);
  }
};

constexpr const char* spans = "-- " ASHLAR_VICTIM " spans";

TEST_F(budget, a_run_within_its_limits_passes) {
  EXPECT_EQ(held_to(R"({"spans": {"request": {"allocations": 5, "count": 4, "peak_bytes": 91000, "p99_ns": 60000000000},
                                  "parse": {"allocations": 1, "bytes": 1000}},
                        "threads": {"worker": {"allocations": 7}}})",
                    spans),
            0)
      << text("out") << text("err");
  EXPECT_FALSE(has(text("out"), "OVER"));
}

TEST_F(budget, each_figure_above_its_limit_fails) {
  for (const char* limits : {R"({"spans": {"request": {"allocations": 4}}})", R"({"spans": {"request": {"count": 3}}})",
                             R"({"spans": {"request": {"peak_bytes": 90999}}})",
                             R"({"spans": {"parse": {"bytes": 999}}})", R"({"spans": {"parse": {"p50_ns": 0}}})",
                             R"({"threads": {"worker": {"allocations": 4}}})", R"({"program": {"bytes": 270000}})"}) {
    EXPECT_EQ(held_to(limits, spans), 3) << limits << text("out") << text("err");
    EXPECT_TRUE(has(text("out"), "OVER"));
  }
}

TEST_F(budget, a_limit_that_holds_for_nothing_fails) {
  EXPECT_EQ(held_to(R"({"spans": {"pares": {"allocations": 9}}})", "--json " + file("j") + " " + spans), 3)
      << text("err");
  const json row = json::parse(text("j"))["limits"][0];
  EXPECT_EQ(row["name"], "pares");
  EXPECT_EQ(row["found"], nullptr);
  EXPECT_EQ(row["kept"], false);
}

TEST_F(budget, processes_that_the_program_starts_are_told_not_counted) {
  EXPECT_EQ(held_to(R"({"program": {"bytes": 100000000}})", "-- sh -c 'ls / ; ls /'"), 0) << text("err");
  EXPECT_EQ(text("err"), "ashlar budget: what the processes do that sh started (2) counts for no limit\n");
}

TEST_F(budget, holds_a_trace_to_limits) {
  const std::string trace = sample(1000);
  EXPECT_EQ(held_to(R"({"program": {"allocations": 1000}})", "--trace " + trace), 0) << text("err");
  EXPECT_EQ(held_to(R"({"program": {"allocations": 0}})", "--trace " + trace), 3) << text("err");
}

TEST_F(budget, a_run_writes_the_limits_that_it_keeps) {
  const std::string limits = file("made.json"), again = file("again.json");
  EXPECT_EQ(ashlar("budget --write " + limits + " " + spans), 0) << text("err");
  EXPECT_TRUE(has(text("out"), " limits, written to " + limits + "\n"));
  const json made = json::parse(text("made.json"));
  EXPECT_EQ(made["spans"]["request"], json::parse(R"({"allocations": 5, "bytes": 91000, "count": 4,
                                                      "peak_bytes": 91000})"))
      << made;
  EXPECT_TRUE(made["threads"]["worker"].contains("peak_bytes")) << made;
  EXPECT_TRUE(made["program"].contains("never_freed_bytes")) << made;
  EXPECT_EQ(ashlar("budget " + limits + " " + spans), 0) << text("out") << text("err");
  EXPECT_EQ(ashlar("budget --write " + again + " " + spans), 0) << text("err");
  EXPECT_EQ(text("again.json"), text("made.json"));
}

/// The main thread has no name, and the two workers have one.
TEST_F(budget, threads_without_limits_of_their_own_are_told) {
  const std::string trace = file("t.trace");
  ASSERT_EQ(ashlar("record -q -o " + trace + " -- " ASHLAR_VICTIM " names"), 0) << text("err");
  const std::string unnamed = "1 thread without a name, of which there are no limits: os::name_thread or "
                              "pthread_setname_np names a thread\n",
                    shared =
                        "2 threads of the name \\x1b[31mred\\n, each of which is held to the limits of the worst\n";
  EXPECT_EQ(ashlar("budget --write - --trace " + trace), 0);
  EXPECT_EQ(text("err"), "ashlar budget: " + unnamed + "ashlar budget: " + shared);
  const json made = json::parse(text("out"));
  EXPECT_EQ(made["threads"].size(), 1U) << made;
  EXPECT_GE(made["threads"]["\x1b[31mred\n"]["allocations"], 20) << made << "of the worst";
  EXPECT_EQ(ashlar("budget --write " + file("made.json") + " --trace " + trace), 0);
  EXPECT_TRUE(ends(text("out"), "· " + shared));
  EXPECT_EQ(text("err"), "");
  for (const std::string& verb : {std::string("report "), "budget " + file("made.json") + " --trace "}) {
    EXPECT_EQ(ashlar(verb + trace), 0) << text("err");
    EXPECT_TRUE(has(text("out"), "\\x1b[31mred\\n"));
    EXPECT_FALSE(has(text("out"), "\x1b"));
  }
}

TEST_F(budget, standard_output_belongs_to_the_program) {
  const std::string refusal =
      "ashlar budget: PROGRAM has standard output: '-' is for --trace; see ashlar budget --help\n";
  EXPECT_EQ(ashlar("budget --write - -- /bin/echo mixed"), 2);
  EXPECT_EQ(text("err"), refusal);
  EXPECT_EQ(text("out"), "");
  EXPECT_EQ(held_to(R"({"program": {"bytes": 1000000000}})", "--json - -- /bin/echo mixed"), 2);
  EXPECT_EQ(text("err"), refusal);
  EXPECT_EQ(text("out"), "");
}

TEST_F(budget, limits_of_a_trace_hold_it_to_its_counts) {
  const std::string trace = sample(1000), limits = file("made.json");
  EXPECT_EQ(ashlar("budget --write - --trace " + trace), 0) << text("err");
  json made = json::parse(text("out"));
  std::ofstream(limits) << made;
  EXPECT_EQ(ashlar("budget " + limits + " --trace " + trace), 0) << text("out");
  for (const auto& [figure, most] : made["program"].items()) {
    json less = made;
    less["program"][figure] = most.get<std::uint64_t>() - 1;
    std::ofstream(limits) << less;
    EXPECT_EQ(ashlar("budget " + limits + " --trace " + trace), 3) << figure << text("out");
  }
}

TEST(limits, a_file_of_them_is_read_again) {
  const std::vector<limit> all = {{budget_subject::program, "", "peak_bytes", 5},
                                  {budget_subject::span, "a \"b\"", "allocations", 97},
                                  {budget_subject::span, "parse", "count", std::uint64_t{1} << 63},
                                  {budget_subject::thread, "audio", "bytes", 0}};
  EXPECT_EQ(limits_of(ashlar::cli::limits_file(all)), all);
  EXPECT_THROW(static_cast<void>(ashlar::cli::limits_file({{budget_subject::span, "\xff", "count", 1}})),
               std::runtime_error);
}

TEST_F(budget, limits_that_cannot_be_written_are_an_error) {
  const std::string trace = sample(100);
  EXPECT_TRUE(failed(ashlar("budget --write /nonesuch/f --trace " + trace), 1,
                     "ashlar budget: /nonesuch/f: No such file or directory\n"));
  EXPECT_EQ(ashlar("budget --write " + trace + " --trace " + trace), 1);
  EXPECT_TRUE(failed(ashlar("budget --write f --json g --trace " + trace), 2,
                     "ashlar budget: --json is of no use with --write; see ashlar budget --help\n"));
  EXPECT_EQ(ashlar("budget --write f l.json --trace " + trace), 2);
  EXPECT_EQ(text("err"),
            "ashlar budget: either LIMITS or --write FILE is needed, and not both; see ashlar budget --help\n");
  EXPECT_EQ(ashlar("budget --write " + file("none.json") + " -- false"), 1);
  EXPECT_EQ(text("none.json"), "");
}

TEST_F(budget, outputs_are_checked_before_the_run_and_replace_no_input) {
  const std::string trace = sample(100), limits = file("limits.json"), fine = R"({"program": {"bytes": 1000000000}})";
  EXPECT_TRUE(failed(held_to(fine, "--json " + trace + " --trace " + trace), 1,
                     "ashlar budget: " + trace + " is the trace itself: nothing was written\n"));
  EXPECT_TRUE(failed(held_to(fine, "--json " + limits + " --trace " + trace), 1,
                     "ashlar budget: " + limits + " is the file of limits itself: nothing was written\n"));
  EXPECT_EQ(text("limits.json"), fine);
  EXPECT_EQ(held_to(fine, "--trace " + trace), 0) << text("err");
  EXPECT_TRUE(failed(held_to(fine, "--json /nonesuch/j -- touch " + file("ran")), 1,
                     "ashlar budget: /nonesuch/j: No such file or directory\n"));
  EXPECT_FALSE(std::ifstream(file("ran")).is_open());
}

TEST_F(budget, what_cannot_be_held_to_limits_is_an_error) {
  const std::string fine = R"({"program": {"bytes": 1000000000}})";
  EXPECT_EQ(held_to(fine, ""), 2);
  EXPECT_EQ(held_to(fine, "--trace x -- true"), 2);
  EXPECT_EQ(held_to(fine, "--trace " + file("no.trace")), 1);
  EXPECT_EQ(held_to("{", "-- true"), 1);
  EXPECT_EQ(ashlar("budget " + file("no.json") + " -- true"), 1);
  EXPECT_EQ(held_to(fine, "-- false"), 1);
  EXPECT_TRUE(has(text("err"), "false ended with status 1"));
  EXPECT_EQ(held_to(fine, "-- " + file("no-program")), 127);
  EXPECT_EQ(held_to(fine, "-- " ASHLAR_STATIC_VICTIM), 124) << text("err");
}

}  // namespace
