// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of recordings that are directories: the processes of wrappers, forks, builds, servers, daemons and namespaces;
// what `report` and `advise` tell of them; directories that are damaged, mixed or not theirs.
#include "cli/tree/tree.hpp"
#include "cli/tests/record/command.hpp"

namespace {

using namespace ashlar_test;
using ashlar::cli::process_tree;
using ashlar::cli::tree_process;
using nlohmann::json;

class recording_of_a_tree : public record_command {
protected:
  int record_tree(const std::string& program, const std::string& options = "") {
    return shell(ASHLAR_COMMAND " record " + options + " -o " + file("d/") + " -- " + program);
  }

  /// Returns: the recording of a program that ends with status 0.
  process_tree tree_of(const std::string& program, const std::string& options = "") {
    EXPECT_EQ(record_tree(program, options), 0) << output();
    return ashlar::cli::read_tree(file("d/"));
  }

  int verb(const std::string& name, const std::string& options = "") {
    return shell(ASHLAR_COMMAND " " + name + " " + file("d") + " " + options);
  }
  json report(const std::string& options = "") {
    EXPECT_EQ(verb("report", options + " --json " + file("r.json")), 0) << output();
    return json::parse(text("r.json"));
  }

  void write(const std::string& name, const std::string& words) {
    std::ofstream(file(name), std::ios::binary) << words;
  }
};

const tree_process* one_named(const process_tree& tree, const std::string& name) {
  for (const tree_process& p : tree.processes)
    if (p.name() == name) return &p;
  ADD_FAILURE() << "no process " << name;
  return &tree.processes.front();
}

std::size_t count_named(const process_tree& tree, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::count(tree.processes, name, &tree_process::name));
}

TEST_F(recording_of_a_tree, a_wrapper_is_one_process_and_its_programs_are_others) {
  const process_tree tree = tree_of("sh -c '" ASHLAR_TREE_VICTIM "; true'");
  EXPECT_TRUE(says("2 processes in "));
  EXPECT_TRUE(says("largest: record_tree (1 of 2), "));
  ASSERT_EQ(tree.processes.size(), 2U);
  EXPECT_EQ(tree.notes, std::vector<std::string>());
  const tree_process &first = tree.processes[0], &second = tree.processes[1];
  EXPECT_EQ(first.file, "0001.trace");
  EXPECT_EQ(second.file, "0002.trace");
  EXPECT_EQ(first.ppid, 0U);
  EXPECT_EQ(second.ppid, first.pid);
  EXPECT_EQ(first.status, std::optional(0));
  EXPECT_EQ(second.name(), "record_tree");
  EXPECT_FALSE(second.build_id.empty());
  EXPECT_GE(second.events, 1500U);
  EXPECT_GE(second.bytes, 75'000U);
  EXPECT_LT(second.peak_bytes, second.bytes);
  EXPECT_TRUE(second.complete);
  EXPECT_LE(first.start_ns, second.start_ns);
  EXPECT_LE(second.start_ns, second.end_ns);
}

TEST_F(recording_of_a_tree, an_exec_keeps_the_process) {
  const process_tree tree = tree_of(ASHLAR_TREE_VICTIM " exec");
  ASSERT_EQ(tree.processes.size(), 1U);
  EXPECT_EQ(tree.processes[0].cmd, ASHLAR_TREE_VICTIM);
  EXPECT_EQ(tree.processes[0].status, std::optional(0));
}

TEST_F(recording_of_a_tree, workers_of_a_server_are_whole_whichever_signal_ends_them) {
  if (!keeps_live_files()) GTEST_SKIP() << "on this file system a kill loses events";
  for (const char* mode : {"terminated", "killed"}) {
    fs::remove_all(file("d"));
    const process_tree tree = tree_of(std::string(ASHLAR_TREE_VICTIM " ") + mode);
    ASSERT_EQ(tree.processes.size(), 5U) << mode;
    for (std::size_t i = 1; i < 5; ++i) {
      EXPECT_EQ(recording(tree.path_of(tree.processes[i])).count(operation::malloc_, 100), 750U) << mode;
      EXPECT_EQ(tree.processes[i].ppid, tree.processes[0].pid);
    }
  }
}

TEST_F(recording_of_a_tree, a_daemon_is_read_when_it_has_ended) {
  const process_tree tree = tree_of("sh -c '" ASHLAR_TREE_VICTIM " daemon; sleep 0.5'");
  EXPECT_GE(count_named(tree, "record_tree"), 2U);
  const auto& daemon = ashlar::cli::choose_process(tree, "record_tree");
  EXPECT_GE(daemon.events, 1500U);
  EXPECT_EQ(daemon.status, std::optional(7 << 8));  // its parent had ended: record is told
  EXPECT_EQ(report()["processes"][daemon.number - 1]["exit"]["code"], 7);
}

TEST_F(recording_of_a_tree, one_that_runs_on_keeps_its_name_and_is_read_later) {
  if (!keeps_live_files()) GTEST_SKIP() << "nothing of it is in a file yet";
  ASSERT_EQ(record_tree("sh -c 'sleep 1 & " ASHLAR_TREE_VICTIM "; true'"), 0) << output();
  EXPECT_EQ(count_named(ashlar::cli::read_tree(file("d")), "record_tree"), 1U);
  sleep(2);
  const process_tree tree = ashlar::cli::read_tree(file("d"));
  EXPECT_EQ(count_named(tree, "sleep"), 1U);
}

TEST_F(recording_of_a_tree, namespaces_of_process_ids_read_well) {
  if (run_shell("unshare -Urpf true 2> /dev/null") != 0) GTEST_SKIP() << "no namespaces here";
  const std::string contained = "unshare -Urpf " ASHLAR_TREE_VICTIM;
  const process_tree tree = tree_of("sh -c '" + contained + "; " + contained + "'");
  EXPECT_EQ(count_named(tree, "record_tree"), 2U);
  for (const tree_process& p : tree.processes)
    if (p.name() == "record_tree") EXPECT_GE(p.events, 1500U) << p.file;
}

TEST_F(recording_of_a_tree, a_build_by_ninja_is_a_table) {
  if (run_shell("command -v ninja > /dev/null") != 0) GTEST_SKIP() << "no ninja here";
  fs::create_directory(file("b"));
  write("b/build.ninja",
        "rule work\n  command = " ASHLAR_TREE_VICTIM " && touch $out\nbuild one: work\nbuild two: work\n");
  const process_tree tree = tree_of("ninja -C " + file("b"));
  EXPECT_EQ(count_named(tree, "ninja"), 1U);
  EXPECT_EQ(count_named(tree, "record_tree"), 2U);
  EXPECT_TRUE(says("(2 of ") || says("largest: ninja"));
}

TEST_F(recording_of_a_tree, a_server_of_forks_in_python_is_a_tree) {
  const std::string python = "/usr/bin/python3";  // a script in front of it would be many processes
  if (!fs::exists(python)) GTEST_SKIP() << "no python3 here";
  write("pool.py", "import multiprocessing as m, os\n"
                   "def work(n): return [bytes(1000 + n) for _ in range(300)] and os.getpid()\n"
                   "if __name__ == '__main__':\n"
                   "  m.set_start_method('forkserver')\n"
                   "  with m.Pool(2) as pool: pool.map(work, range(8))\n");
  const process_tree tree = tree_of(python + " " + file("pool.py"));
  EXPECT_GE(tree.processes.size(), 4U);  // the program, its fork server and two workers
  for (const tree_process& p : tree.processes) EXPECT_TRUE(p.complete) << p.cmd;
}

TEST_F(recording_of_a_tree, report_and_advice_are_on_the_one_that_is_asked_for) {
  const process_tree tree = tree_of("sh -c '" ASHLAR_MEMORY_VICTIM " works; " ASHLAR_TREE_VICTIM "; true'");
  const json all = report();
  EXPECT_TRUE(says("(1 of 3), "));
  EXPECT_EQ(all["version"], 1);
  EXPECT_EQ(all["processes"].size(), 3U);
  EXPECT_EQ(all["executables"].size(), 3U);
  EXPECT_EQ(all["events"], tree.events);
  const std::string number = std::to_string(one_named(tree, "record_tree")->number);
  for (const std::string& wish : {std::string("record_tree"), number}) {
    EXPECT_EQ(report("--process " + wish)["program"], ASHLAR_TREE_VICTIM) << wish;
    EXPECT_EQ(verb("advise", "--process " + wish + " --json " + file("a.json")), 0) << output();
    EXPECT_EQ(json::parse(text("a.json"))["program"], ASHLAR_TREE_VICTIM) << wish;
  }
  EXPECT_TRUE(starts(report("--process root")["program"], "sh -c "));
  EXPECT_TRUE(failed(verb("report", "--process other"), 1, "no process other is in this recording: 1 ("));
  EXPECT_TRUE(failed(verb("report", "--html " + file("r.html")), 2, "is for one process of a directory"));
}

TEST_F(recording_of_a_tree, one_of_its_processes_is_exported_and_compared) {
  const process_tree tree = tree_of("sh -c '" ASHLAR_TREE_VICTIM "; true'");
  ASSERT_EQ(verb("export", "--format folded --value alloc_objects"), 0) << output();
  EXPECT_TRUE(says("/d: process 2 of 2, record_tree (--process)"));
  EXPECT_EQ(verb("export", "--format folded --process root"), 0) << output();
  EXPECT_EQ(verb("diff", file("d") + " --process record_tree --fail-above bytes=0%"), 0) << output();
  EXPECT_TRUE(says("d/0002.trace"));
  EXPECT_TRUE(failed(verb("export", "--format folded --process other"), 1, "no process other is in this recording"));
}

TEST_F(recording_of_a_tree, many_processes_are_a_table_of_the_largest) {
  tree_of("sh -c 'i=0; while [ $i -lt 45 ]; do " ASHLAR_PLAIN_VICTIM "; i=$((i + 1)); done; " ASHLAR_TREE_VICTIM
          "; true'");
  ASSERT_EQ(verb("report"), 0) << output();
  EXPECT_TRUE(says("and 7 more processes of fewer events; --json lists all"));
  EXPECT_TRUE(says("record_tree"));
}

TEST_F(recording_of_a_tree, it_is_read_though_record_was_killed) {
  if (!keeps_live_files()) GTEST_SKIP() << "on this file system a kill loses events";
  EXPECT_EQ(record_tree("sh -c '" ASHLAR_TREE_VICTIM "; kill -9 $PPID; sleep 0.2'"), 128 + 9);
  sleep(1);
  const json all = report();
  EXPECT_TRUE(says("index.jsonl is absent: rebuilt from the traces."));
  EXPECT_GE(all["processes"].size(), 2U);
  EXPECT_GE(all["events"], 1500);
  EXPECT_EQ(all["processes"][0]["ppid"], 0);
}

TEST_F(recording_of_a_tree, processes_are_added_up) {
  const process_tree tree = tree_of("sh -c '" ASHLAR_TREE_VICTIM "; " ASHLAR_TREE_VICTIM "; " ASHLAR_MEMORY_VICTIM "'");
  const tree_process& one = *one_named(tree, "record_tree");
  const json single = report("--process record_tree");
  const json both = report("--merge --process " + std::to_string(one.number));
  EXPECT_TRUE(ends(both["program"], ": 2 processes of record_tree together"));
  EXPECT_EQ(both["calls"]["malloc"], 2 * single["calls"]["malloc"].get<int>());
  EXPECT_EQ(both["allocated"]["bytes"], 2 * one.bytes);
  EXPECT_EQ(both["peak"]["bytes"], one.peak_bytes);
  EXPECT_EQ(both["thread_count"], 2);
  const auto site = [](const json& r) { return r["call_sites_by_objects"][0]; };
  EXPECT_EQ(site(both)["calls"], site(single)["calls"]);  // though each process has it at another address
  EXPECT_EQ(site(both)["allocated"]["objects"], 2 * site(single)["allocated"]["objects"].get<int>());
  const json all = report("--merge");
  EXPECT_TRUE(ends(all["program"], ": 4 processes together"));
  std::uint64_t bytes = 0;
  for (const tree_process& p : tree.processes) bytes += p.bytes;
  EXPECT_EQ(all["allocated"]["bytes"], bytes);
  EXPECT_EQ(all["events"], tree.events);
  EXPECT_TRUE(failed(shell(ASHLAR_COMMAND " report --merge " + tree.path_of(one)), 2, "--merge is for a directory"));
}

TEST_F(recording_of_a_tree, advice_is_by_build_and_names_what_it_leaves_out) {
  ASSERT_EQ(record_tree("sh -c '" ASHLAR_TREE_VICTIM "; " ASHLAR_TREE_VICTIM "; true'"), 0) << output();
  ASSERT_EQ(verb("advise", "--json " + file("a.json")), 0) << output();
  const json advised = json::parse(text("a.json"));
  ASSERT_EQ(advised["programs"].size(), 1U);
  EXPECT_EQ(advised["programs"][0]["traces"].size(), 2U);
  EXPECT_TRUE(says("record_tree: 2 of 3 processes, "));
  EXPECT_TRUE(has(advised["notes"].dump(), "less than 5 % of the events: "));
  EXPECT_TRUE(failed(verb("advise", "--measure run"), 2, "--measure is for one process of a directory"));
}

TEST_F(recording_of_a_tree, only_programs_of_a_name_are_recorded) {
  const std::string both = "sh -c '" ASHLAR_TREE_VICTIM " terminated; " ASHLAR_MEMORY_VICTIM "; true'";
  const process_tree tree = tree_of(both, "--only 'rec*_tre?' --only absent");
  EXPECT_EQ(count_named(tree, "record_tree"), tree.processes.size());
  EXPECT_EQ(tree.processes.size(), keeps_live_files() ? 5U : 1U);
  fs::remove_all(file("d"));
  EXPECT_TRUE(failed(record_tree(both, "--only tree --only 'tree*' --only '?record_tree'"), nothing_recorded,
                     "no program of --only tree, tree*, ?record_tree loaded the recorder"));
}

TEST_F(recording_of_a_tree, children_may_be_left_out) {
  const process_tree tree = tree_of(ASHLAR_TREE_VICTIM " terminated", "--no-children");
  ASSERT_EQ(tree.processes.size(), 1U);
  EXPECT_EQ(tree.processes[0].name(), "record_tree");
  fs::remove_all(file("d"));
  EXPECT_EQ(tree_of("sh -c '" ASHLAR_TREE_VICTIM "; true'", "--no-children").processes[0].name(),
            fs::canonical("/bin/sh").filename());
}

TEST_F(recording_of_a_tree, traces_have_a_size_at_most) {
  const std::string often = "sh -c 'for i in 1 2 3 4 5 6 7 8; do " ASHLAR_MEMORY_VICTIM " works; done'";
  EXPECT_TRUE(failed(record_tree(often, "--max-size 20k"), not_whole, "/d/: --max-size was reached"));
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(file("d")))
    if (entry.path().extension() == ".trace") bytes += entry.file_size();
  EXPECT_LE(bytes, 40'000U);  // the memory of processes, and the note on the run, are appended afterwards
  EXPECT_GT(bytes, 5'000U);
  EXPECT_GT(report()["events"], 0);
  fs::remove_all(file("d"));
  EXPECT_EQ(record_tree(ASHLAR_TREE_VICTIM, "--max-size 2G"), 0) << output();
  EXPECT_TRUE(failed(record_tree("true", "--max-size 2X"), 2, "'2X' is no size such as 500M or 2G"));
}

TEST_F(recording_of_a_tree, the_peak_of_the_tree_is_of_processes_at_one_time) {
  process_tree tree;
  const auto add = [&](std::uint64_t start, std::uint64_t end, std::uint64_t peak) {
    tree_process p;
    p.start_ns = start;
    p.end_ns = end;
    p.peak_bytes = peak;
    tree.processes.push_back(p);
  };
  add(0, 100, 10);
  add(10, 20, 5);
  add(20, 30, 7);  // the one before has ended
  add(200, 300, 16);
  EXPECT_EQ(peak_of(tree), 17U);
}

TEST_F(recording_of_a_tree, an_index_is_rebuilt_where_it_is_gone_or_contradicts) {
  ASSERT_EQ(record_tree("sh -c '" ASHLAR_TREE_VICTIM "; true'"), 0) << output();
  const json before = report();
  EXPECT_EQ(before["notes"], json::array());
  const std::string index = text("d/index.jsonl");
  fs::remove(file("d/index.jsonl"));
  json after = report();
  EXPECT_TRUE(says("index.jsonl is absent: rebuilt from the traces."));
  EXPECT_EQ(after["processes"][0]["exit"], nullptr);  // no trace tells it
  after["processes"][0]["exit"] = before["processes"][0]["exit"];
  EXPECT_EQ(after["processes"], before["processes"]);
  write("d/index.jsonl", "not a line\n" + index);
  EXPECT_EQ(report()["processes"], before["processes"]);
  EXPECT_TRUE(says("index.jsonl, line 1: no process; 1 line left out."));
  json second = json::parse(index.substr(index.find('\n') + 1));
  second["events"] = 1;
  write("d/index.jsonl", index.substr(0, index.find('\n') + 1) + second.dump() + "\n");
  EXPECT_EQ(report()["processes"], before["processes"]);
  EXPECT_TRUE(says("index.jsonl contradicts 0002.trace: rebuilt from the traces."));
}

TEST_F(recording_of_a_tree, what_is_there_of_a_damaged_directory_is_read) {
  ASSERT_EQ(record_tree("sh -c '" ASHLAR_TREE_VICTIM "; true'"), 0) << output();
  write("d/foreign.trace", "no trace at all");
  fs::copy_file(trace_of(ASHLAR_TREE_VICTIM), file("d/other.trace"));
  EXPECT_EQ(report()["processes"].size(), 2U);
  EXPECT_TRUE(says("left out: foreign.trace."));
  EXPECT_TRUE(says("Of another recording, left out: other.trace."));
  fs::copy_file(file("d/other.trace"), file("d/0009.trace"));  // more events than the recording of the index has
  EXPECT_EQ(report()["processes"].size(), 2U);
  EXPECT_TRUE(says("Of another recording, left out: 0009.trace, other.trace."));
  fs::resize_file(file("d/0001.trace"), fs::file_size(file("d/0001.trace")) - 5);
  EXPECT_FALSE(report()["processes"].empty());
  fs::remove(file("d/0002.trace"));
  fs::remove(file("d/other.trace"));
  EXPECT_EQ(report()["processes"].size(), 1U);
  EXPECT_TRUE(says("index.jsonl names 0002.trace, which is gone."));
}

TEST_F(recording_of_a_tree, no_output_replaces_one_of_its_traces) {
  ASSERT_EQ(record_tree("sh -c '" ASHLAR_TREE_VICTIM "; true'"), 0) << output();
  const std::string first = file("d/0001.trace"), before = text("d/0001.trace");
  const std::pair<const char*, const char*> writers[] = {
      {"export", "--format csv -o "}, {"report", "--json "}, {"advise", "--json "}};
  for (const auto& [name, option] : writers)
    EXPECT_TRUE(failed(verb(name, option + first), 1, first + " is a trace: nothing was written")) << name;
  EXPECT_EQ(text("d/0001.trace"), before);
}

TEST_F(recording_of_a_tree, a_directory_without_a_recording_is_refused_and_one_with_a_recording_is_kept) {
  fs::create_directory(file("d"));
  EXPECT_TRUE(failed(verb("report"), 1, "has no trace"));
  ASSERT_EQ(record_tree(ASHLAR_TREE_VICTIM), 0) << output();  // an existing directory
  EXPECT_TRUE(failed(record_tree(ASHLAR_TREE_VICTIM), 1, "has a recording: name another directory, or remove it"));
  write("plain", "");
  EXPECT_TRUE(failed(shell(ASHLAR_COMMAND " record -o " + file("plain/") + " -- true"), 1, "cannot be made"));
  EXPECT_TRUE(failed(shell(ASHLAR_COMMAND " report " + file("none/")), 1, "has no trace"));
  EXPECT_TRUE(failed(shell(ASHLAR_COMMAND " record -o " + file("%p/") + " -- true"), 2, "has no %p"));
  EXPECT_TRUE(failed(record_tree(ASHLAR_TREE_VICTIM, "--only ''"), 2, "a program has a name"));
  fs::remove(file("d/index.jsonl"));
  ASSERT_EQ(run_shell("mkfifo " + file("d/index.jsonl")), 0);
  EXPECT_EQ(report()["processes"].size(), 1U);
}

}  // namespace
