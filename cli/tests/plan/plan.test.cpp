// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// End-to-end tests of `ashlar plan`: every option, every error, and a recorded phase that a program adopts.
#include "cli/tests/command.hpp"
#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/plan/csv.hpp>
#include <ashlar/plan/validate.hpp>

namespace {

namespace fs = std::filesystem;
namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;

constexpr const char* small = "id,lower,upper,size\n7,0,2,100\n8,1,3,50\n9,2,4,100\n";

class plan_command : public ashlar_test::command_test {
protected:
  plan_command() { write("small.csv", small); }

  /// Effects: writes a problem of `count` buffers that fills `box`, and that no greedy order solves: the balanced
  /// search solves one of 150, the exact one takes minutes for one of 400.
  void write_perfect(std::size_t count, std::uint64_t seed) const {
    write("perfect.csv", plan::format_csv(planner::generate_perfect(count, box / 1024, count, 1024, seed)));
  }
  static constexpr std::uint64_t box = 512 * 1024;

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
  }

  /// Returns: the exit status of a shell command run in the directory; its output is in `text("out")`, `text("err")`.
  int shell(const std::string& command) {
    return ashlar_test::run_shell("cd " + file("") + " && (" + command + ") > out 2> err");
  }

  int run(const std::string& arguments) { return shell(ASHLAR_COMMAND " plan " + arguments); }

  /// Returns: the fault of the plan in a file; empty if it is valid.
  [[nodiscard]] std::string fault_of(const std::string& name) const {
    const plan::csv_result r = plan::parse_csv(text(name));
    if (!r.ok()) return r.error->text();
    plan::layout l;
    l.offsets = r.document.offsets;
    l.height = ~std::uint64_t{0};
    const auto broken = plan::validate(r.document.content, l);
    return broken ? std::string(plan::describe(broken->rule)) : "";
  }
};

TEST_F(plan_command, prints_height_and_bound) {
  ASSERT_EQ(run("small.csv"), 0) << text("err");
  EXPECT_EQ(text("out"), "optimal, height 150, lower bound 150\n");
  EXPECT_EQ(text("err"), "");
}

TEST_F(plan_command, writes_offsets_to_a_file_and_to_standard_output) {
  ASSERT_EQ(run("small.csv -o planned.csv"), 0) << text("err");
  EXPECT_EQ(fault_of("planned.csv"), "");
  EXPECT_EQ(text("out"), "");
  ASSERT_EQ(run("small.csv --output - --stats"), 0);
  EXPECT_EQ(text("out"), text("planned.csv"));
  EXPECT_TRUE(said("err", "lower bound 150"));
}

TEST_F(plan_command, decides_a_capacity) {
  EXPECT_EQ(run("small.csv --capacity 150"), 0);
  EXPECT_EQ(run("small.csv --capacity 149 --stats"), 1);
  EXPECT_TRUE(said("out", "infeasible, proof: load"));
  write_perfect(150, 1);
  EXPECT_EQ(run("perfect.csv --capacity 524288"), 0);
  EXPECT_TRUE(said("out", "height 524288"));
}

TEST_F(plan_command, tries_as_hard_as_requested) {
  write_perfect(150, 1);
  ASSERT_EQ(run("perfect.csv --effort fast --stats"), 0);
  EXPECT_TRUE(said("out", "nodes       0,"));
  EXPECT_TRUE(said("out", "feasible, proof: none"));
  ASSERT_EQ(run("perfect.csv --effort balanced"), 0);
  EXPECT_TRUE(said("out", "optimal, height 524288"));
  ASSERT_EQ(run("small.csv --effort exact"), 0);
  EXPECT_TRUE(failed(run("small.csv --effort heroic"), 2,
                     "ashlar plan: --effort: 'heroic' is not fast, balanced or exact; see ashlar plan --help\n"));
}

TEST_F(plan_command, keeps_to_its_budgets) {
  write_perfect(400, 2);
  ASSERT_EQ(run("perfect.csv --nodes 10 --stats"), 0);
  EXPECT_TRUE(said("out", "nodes       10,"));
  ASSERT_EQ(run("perfect.csv --effort exact --time 0.2 -o planned.csv --progress"), 0);
  EXPECT_EQ(fault_of("planned.csv"), "");
  EXPECT_TRUE(said("err", "height")) << "progress from the start";
  EXPECT_EQ(run("small.csv --time -1"), 2);
}

TEST_F(plan_command, aligns_to_the_base) {
  ASSERT_EQ(run("small.csv --base-alignment 64"), 0);
  EXPECT_TRUE(said("out", "height 164"));
  EXPECT_TRUE(failed(run("small.csv --base-alignment 3"), 2, "ashlar plan: the base alignment is not a power of two"));
}

TEST_F(plan_command, tells_how_a_long_solve_is_doing_on_request) {
  write_perfect(400, 2);
  ASSERT_EQ(run("perfect.csv --effort exact --time 2 --progress"), 0);
  EXPECT_TRUE(said("err", "bound 524288"));
  ASSERT_EQ(run("perfect.csv --effort exact --time 1"), 0);
  EXPECT_EQ(text("err"), "");
}

TEST_F(plan_command, returns_the_best_so_far_when_interrupted) {
  // A shell starts background commands without SIGINT: an earlier one would be lost.
  write_perfect(400, 2);
  ASSERT_EQ(shell(ASHLAR_COMMAND " plan perfect.csv --effort exact --time 60 --progress -o planned.csv & pid=$!; "
                                 "until grep -q height err; do sleep 0.1; done; kill -INT $pid; wait $pid"),
            0)
      << text("err");
  EXPECT_TRUE(said("err", "interrupted; this is the best plan so far"));
  EXPECT_EQ(fault_of("planned.csv"), "");
}

TEST_F(plan_command, validates_the_offsets_of_others) {
  write("good.csv", "id,lower,upper,size,offset\n7,0,2,100,0\n8,1,3,50,100\n9,2,4,100,0\n");
  ASSERT_EQ(run("good.csv --validate"), 0);
  EXPECT_EQ(text("out"), "valid, height 150\n");
  EXPECT_TRUE(failed(run("good.csv --validate --capacity 149"), 1,
                     "good.csv: buffer 8: the buffer ends above the height of the layout"));
  write("bad.csv", "id,lower,upper,size,offset\n7,0,2,100,0\n8,1,3,50,99\n");
  EXPECT_TRUE(failed(run("bad.csv --validate"), 1,
                     "ashlar plan: bad.csv: buffers 7 and 8: two buffers share bytes while both are live\n"));
  EXPECT_TRUE(failed(run("small.csv --validate"), 1, "small.csv: there is no column \"offset\""));
}

TEST_F(plan_command, writes_a_table_that_static_arena_takes) {
  ASSERT_EQ(run("small.csv --header plan.hpp --name frame"), 0);
  write("use.cpp", "#include \"plan.hpp\"\n#include <ashlar/resource/static_arena.hpp>\n"
                   "static_assert(frame::layout.height == 150 && frame::layout.ids[1] == 8);\n"
                   "alignas(frame::layout.alignment) std::byte memory[frame::layout.height];\n"
                   "int main() { ashlar::static_arena arena(memory, frame::layout);\n"
                   "  return arena.get(1) == memory + frame::layout.offsets[1] ? 0 : 1; }\n");
  EXPECT_EQ(shell(ASHLAR_COMPILER " -std=c++20 -I" ASHLAR_INCLUDE " use.cpp -o use && ./use"), 0) << text("err");
}

TEST_F(plan_command, writes_a_c_table) {
  ASSERT_EQ(run("small.csv --c plan.h"), 0);
  write("use.cpp", "#include \"plan.h\"\nstatic_assert(planned_count == 3 && planned_height == 150);\n"
                   "int main() { return planned_rows[2].id == 9 ? 0 : 1; }\n");
  EXPECT_EQ(shell(ASHLAR_COMPILER " -std=c++20 use.cpp -o use && ./use"), 0) << text("err");
}

TEST_F(plan_command, names_stand_where_ids_do) {
  write("named.csv", "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\n0/in<8>,0,9,4\nint,5,9,4\n");
  ASSERT_EQ(run("named.csv -o planned.csv --svg plan.svg --header plan.hpp --c plan.h"), 0) << text("err");
  EXPECT_EQ(fault_of("planned.csv"), "");
  for (const char* row : {"\nb1,0,3,4,1,", "\nb2,3,9,4,1,", "\n0/in<8>,0,9,4,1,", "\nint,5,9,4,1,"})
    EXPECT_TRUE(said("planned.csv", row));
  EXPECT_TRUE(said("plan.svg", "<title>buffer 0/in&lt;8&gt;: 4 bytes at "));
  ASSERT_EQ(run("planned.csv --validate"), 0) << text("err");
  write("use.cpp",
        "#include \"plan.hpp\"\n#include \"plan.h\"\n"
        "namespace b = planned::buffer;\n"
        "static_assert(b::b1 == 0 && b::b2 == 1 && b::_0_in_8 == 2 && b::int_ == 3);\n"
        "static_assert(planned_buffer_b2 == 1 && planned_buffer_0_in_8 == 2 && planned_buffer_int_ == 3);\n"
        "int main() { return planned_rows[planned_buffer_b2].offset == planned::layout.offsets[b::b2] ? 0 : 1; }\n");
  EXPECT_EQ(shell(ASHLAR_COMPILER " -std=c++20 use.cpp -o use && ./use"), 0) << text("err");
}

// Compilers define macros of these names unless they keep to the standard.
TEST_F(plan_command, names_are_no_macros_of_compilers) {
  write("named.csv", "id,lower,upper,size\nlinux,0,3,4\n/unix/,3,9,4\ni386,0,9,4\nLinux,0,9,4\n");
  ASSERT_EQ(run("named.csv --header plan.hpp --c plan.h"), 0) << text("err");
  write("use.cpp", "#include \"plan.hpp\"\n#include \"plan.h\"\nnamespace b = planned::buffer;\n"
                   "static_assert(b::linux_ == 0 && b::unix_ == 1 && b::i386_ == 2 && b::Linux == 3);\n"
                   "static_assert(planned_buffer_linux_ == 0 && planned_buffer_unix_ == 1);\nint main() {}\n");
  EXPECT_EQ(shell(ASHLAR_COMPILER " -std=gnu++20 use.cpp -o use && ./use"), 0) << text("err");
  EXPECT_TRUE(failed(run("named.csv --header plan.hpp --name linux"), 2,
                     "ashlar plan: --name: linux is a keyword or a macro of some compiler\n"));
  EXPECT_EQ(run("named.csv --header plan.hpp --name class"), 2);
}

TEST_F(plan_command, names_that_clash_as_identifiers_are_reported) {
  write("clash.csv", "id,lower,upper,size\nconv/1,0,3,4\nconv.1,3,9,4\n");
  ASSERT_EQ(run("clash.csv -o -"), 0) << text("err");
  EXPECT_TRUE(failed(run("clash.csv --header plan.hpp"), 1,
                     "ashlar plan: \"conv/1\" and \"conv.1\" both become conv_1 in the tables: rename one\n"));
  write("clash.csv", "id,lower,upper,size\nx,0,3,4\n+,3,9,4\n");
  EXPECT_TRUE(failed(run("clash.csv --c plan.h"), 1, "ashlar plan: cannot make an identifier of \"+\"\n"));
}

TEST_F(plan_command, draws_a_rectangle_a_buffer_and_marks_the_peak) {
  ASSERT_EQ(run("small.csv --svg plan.svg --html plan.html"), 0);
  EXPECT_TRUE(said("plan.svg", "<title>buffer 8: 50 bytes at 100, live [1, 3)</title>"));
  EXPECT_TRUE(said("plan.svg", "peak: moment 1"));
  EXPECT_TRUE(said("plan.svg", "lower bound 150"));
  EXPECT_TRUE(said("plan.html", "<!doctype html>"));
  EXPECT_TRUE(said("plan.html", "</svg>"));
  ASSERT_EQ(run("small.csv --html -"), 0);
  EXPECT_TRUE(said("out", "</html>"));
}

TEST_F(plan_command, draws_a_buffer_with_a_gap_in_two_pieces) {
  write("gap.csv", "id,lower,upper,size,gaps\n1,0,9,10,3-5\n2,3,5,10,\n");
  ASSERT_EQ(run("gap.csv --svg -"), 0);
  const std::string svg = text("out");
  EXPECT_NE(svg.find("<title>buffer 1:"), svg.rfind("<title>buffer 1:"));
  EXPECT_EQ(svg.find("<title>buffer 2:"), svg.rfind("<title>buffer 2:"));
}

TEST_F(plan_command, plans_nothing) {
  write("none.csv", "id,lower,upper,size\n");
  ASSERT_EQ(run("none.csv --header plan.hpp --c plan.h --svg plan.svg -o planned.csv --stats"), 0) << text("err");
  EXPECT_TRUE(said("out", "height      0"));
}

TEST_F(plan_command, prints_figures) {
  ASSERT_EQ(run("small.csv --stats"), 0);
  for (const char* part :
       {"buffers     3", "height      150", "optimal, proof: load", "peak        moment 1, 2 buffers"})
    EXPECT_TRUE(said("out", part));
}

TEST_F(plan_command, names_what_is_malformed) {
  write("bad.csv", "id,lower,upper,size\n1,0,1,1e9\n");
  EXPECT_TRUE(failed(run("bad.csv -o planned.csv"), 1,
                     "ashlar plan: bad.csv: line 2, column 7, buffer 1: \"1e9\" is not a whole number\n"));
  EXPECT_FALSE(fs::exists(file("planned.csv"))) << "no partial plan";
  EXPECT_TRUE(failed(run("missing.csv"), 1, "ashlar plan: missing.csv: no such file\n"));
  EXPECT_TRUE(failed(run("small.csv -o /nowhere/planned.csv"), 1,
                     "ashlar plan: /nowhere/planned.csv: No such file or directory\n"));
}

TEST_F(plan_command, an_output_replaces_no_input_and_no_other_output) {
  const std::string before = text("small.csv");
  for (const char* option : {"-o", "--header", "--c", "--svg", "--html"}) {
    EXPECT_TRUE(failed(run(std::string("small.csv ") + option + " ./small.csv"), 1,
                       "ashlar plan: ./small.csv is the input itself: nothing was written\n"))
        << option;
    EXPECT_EQ(text("small.csv"), before) << option;
  }
  EXPECT_TRUE(
      failed(run("small.csv --svg same --html ./same"), 2, "ashlar plan: --svg and --html would both write to same\n"));
  EXPECT_TRUE(
      failed(run("small.csv -o - --c -"), 2, "ashlar plan: --output and --c would both write to standard output\n"));
  EXPECT_FALSE(fs::exists(file("same")));
}

TEST_F(plan_command, refuses_options_that_make_no_sense) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "give either a CSV file or --from-trace"},
      {"small.csv --from-trace t.trace", "give either a CSV file or --from-trace"},
      {"small.csv --between 1 2", "--between and --window need --from-trace"},
      {"--from-trace t.trace --between 1 2 --window 0 1", "give either --between or --window"},
      {"--from-trace t.trace --window 1 1", "--window takes two times in seconds, the earlier first"},
      {"--from-trace t.trace --validate", "--validate needs a CSV file"},
      {"small.csv --name 2d", "--name takes an identifier"},
      {"small.csv --capacity lots", "--capacity"},
      {"small.csv --time nan", "--time takes a number of seconds"},
      {"small.csv --nonsense", "--nonsense"}};
  for (const auto& [arguments, message] : wrong) {
    EXPECT_TRUE(failed(run(arguments), 2, message)) << arguments;
  }
}

class plan_recording : public plan_command {
protected:
  plan_recording() { EXPECT_EQ(shell(ASHLAR_COMMAND " record -o t.trace --quiet -- " ASHLAR_PLAN_VICTIM), 0); }
};

TEST_F(plan_recording, plans_a_phase_between_marks_and_compares_it_with_heaps) {
  ASSERT_EQ(run("--from-trace t.trace --between 1 2 -o planned.csv"), 0) << text("err");
  EXPECT_TRUE(said("err", "5 buffers, 1 live to the end of the phase, 1 free of an older object left out"));
  // The reallocated block lives together with its successor, and so do the last two: 90,000 + 200,000.
  EXPECT_TRUE(said("out", "lower bound 290000"));
  EXPECT_TRUE(said("out", "malloc (glibc"));
  EXPECT_TRUE(said("out", "TLSF (tlsf_resource)"));
  EXPECT_EQ(fault_of("planned.csv"), "");
}

// The memory that malloc takes from the system cannot be measured in such a small phase.
TEST_F(plan_recording, reports_a_phase_that_fits_into_the_first_pages_of_malloc) {
  ASSERT_EQ(shell(ASHLAR_COMMAND " record -o small.trace --quiet -- sh -c :"), 0);
  ASSERT_EQ(run("--from-trace small.trace"), 0) << text("err");
  EXPECT_TRUE(said("out", ": the phase fits into the 1"));
}

TEST_F(plan_recording, an_output_does_not_replace_the_trace) {
  const std::string before = text("t.trace");
  EXPECT_TRUE(failed(run("--from-trace t.trace -o t.trace"), 1,
                     "ashlar plan: t.trace is the trace itself: nothing was written\n"));
  EXPECT_EQ(text("t.trace"), before);
}

TEST_F(plan_recording, plans_all_of_it_or_a_window_of_time) {
  ASSERT_EQ(run("--from-trace t.trace -o all.csv"), 0) << text("err");
  EXPECT_TRUE(said("all.csv", ",300000,"));
  EXPECT_TRUE(said("all.csv", ",123456,"));
  ASSERT_EQ(run("--from-trace t.trace --window 0 100 -o window.csv"), 0) << text("err");
  EXPECT_EQ(text("window.csv"), text("all.csv"));
  EXPECT_TRUE(failed(run("--from-trace t.trace --window 100 200"), 1, "nothing is allocated in the phase"));
}

TEST_F(plan_recording, names_missing_marks) {
  EXPECT_TRUE(failed(run("--from-trace t.trace --between 2 1"), 1,
                     "ashlar plan: t.trace: the marks 2 and 1 must both occur, in this order\n"));
  write("torn.trace", text("t.trace").substr(0, 100));
  EXPECT_TRUE(failed(run("--from-trace torn.trace"), 1, "ashlar plan: torn.trace: "));
  EXPECT_EQ(run("--from-trace none.trace"), 1);
}

TEST_F(plan_recording, gives_the_program_a_table_to_follow) {
  ASSERT_EQ(run("--from-trace t.trace --between 1 2 --header plan.hpp"), 0) << text("err");
  write("use.cpp", R"(#include "plan.hpp"
#include <ashlar/resource/static_arena_guard.hpp>
alignas(planned::layout.alignment) std::byte memory[planned::layout.height];
int frame(ashlar::static_arena_guard<planned::table>& arena, std::size_t first) {
  arena.begin();
  void* const a = arena.allocate(first, 16);
  void* const b = arena.allocate(50'000, 16);
  arena.deallocate(a, first, 16);
  void* c = arena.allocate(90'000, 16);
  arena.deallocate(b, 50'000, 16);
  void* const larger = arena.allocate(200'000, 16);
  arena.deallocate(c, 90'000, 16);
  void* const outlives = arena.allocate(7'000, 16);
  arena.deallocate(larger, 200'000, 16);
  arena.deallocate(outlives, 7'000, 16);
  return arena.diverged();
}
int main() {
  ashlar::static_arena_guard<planned::table> arena(memory, sizeof memory, planned::layout, planned::steps);
  return frame(arena, 100'000) == 0 && frame(arena, 100'000) == 0 && frame(arena, 100'001) == 1 ? 0 : 1;
}
)");
  EXPECT_EQ(shell(ASHLAR_COMPILER " -std=c++20 -I" ASHLAR_INCLUDE " use.cpp -o use && ./use"), 0) << text("err");
}

}  // namespace
