// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the traces of one recording in a directory, numbers them, and reads the events of those that no index tells of.
#include "cli/tree/tree.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/detail/trace/index.hpp>
#include <ashlar/study/summariser.hpp>

#include "cli/preload/live.hpp"
#include "cli/record/leftovers.hpp"
#include "cli/record/processes.hpp"
#include "cli/report/trace.hpp"
#include "cli/support/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* index_name = "index.jsonl";
constexpr const char* running_pattern = "p%p.trace";

std::string in_directory(const std::string& directory, const std::string& name) {
  return (fs::path(directory) / name).string();
}

/// Returns: whether a name is "X.trace", or "X.trace.N".
bool is_trace_name(const std::string& name) {
  const std::size_t at = name.rfind(".trace");
  return at != name.npos && at != 0 && name.find_first_not_of("0123456789.", at + 6) == name.npos;
}

std::vector<std::string> trace_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (is_trace_name(entry.path().filename().string()) && entry.is_regular_file(error))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// The first process began before what it has started; the clock of the wall may jump between them.
bool starts_before(const process_trace& a, const process_trace& b) {
  if (a.is_first != b.is_first) return a.is_first;
  return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.process < b.process;
}

std::string joined_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  const std::vector<std::string> listed(names.begin(),
                                        names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size())));
  return joined(listed, ", ") + (names.size() > most ? fmt::format(" and {} more", grouped(names.size() - most)) : "");
}

using index_lines = std::map<std::string, tree_process>;

/// Effects: notes an index that is absent or no index.
index_lines read_index(const std::string& directory, std::vector<std::string>& notes) {
  index_lines found;
  const std::string path = in_directory(directory, index_name);
  std::error_code error;
  std::ifstream from;
  if (fs::is_regular_file(path, error)) from.open(path);
  if (!from.is_open()) notes.push_back(fmt::format("{} is absent: rebuilt from the traces.", index_name));
  std::size_t bad = 0, first_bad = 0, n = 0;
  for (std::string line; std::getline(from, line);) {
    ++n;
    std::optional<tree_process> p = parse_index_line(line);
    if (p) found.insert_or_assign(p->file, std::move(*p));
    else if (bad++ == 0) first_bad = n;
  }
  if (bad != 0)
    notes.push_back(fmt::format("{}, line {}: no process; {} left out.", index_name, first_bad, counted(bad, "line")));
  return found;
}

bool agrees(const tree_process& p, const process_trace& t) {
  return p.pid == t.process && p.start_ns == t.start_unix_ns && p.events == t.events && p.peak_bytes <= p.bytes;
}

/// Returns: the number of the recording that the index tells of; without one, of that with the most events.
std::uint64_t main_session(const std::vector<process_trace>& all, const index_lines& index) {
  std::map<std::uint64_t, std::pair<std::size_t, std::uint64_t>> votes;
  for (const process_trace& t : all) {
    const auto told = index.find(fs::path(t.path).filename().string());
    auto& [traces, events] = votes[t.session];
    traces += told != index.end() && agrees(told->second, t) ? 1 : 0;
    events += t.events + 1;
  }
  const auto most = std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; });
  return most == votes.end() ? 0 : most->first;
}

/// Returns: the traces of a recording by start; 0: of the main one. Effects: notes the other files.
std::vector<process_trace> traces_of(const std::string& directory, std::uint64_t session, const index_lines& index,
                                     std::vector<std::string>& notes) {
  std::vector<process_trace> all;
  std::vector<std::string> foreign, others;
  for (const std::string& name : trace_names(directory)) {
    process_trace t = read_process_trace(in_directory(directory, name));
    if (t.process == 0) foreign.push_back(name);
    else all.push_back(std::move(t));
  }
  if (session == 0) session = main_session(all, index);
  std::erase_if(all, [&](const process_trace& t) {
    if (t.session != session) others.push_back(fs::path(t.path).filename().string());
    return t.session != session;
  });
  if (!foreign.empty()) notes.push_back("No trace, or one without a header, left out: " + joined_names(foreign) + ".");
  if (!others.empty()) notes.push_back("Of another recording, left out: " + joined_names(others) + ".");
  std::ranges::sort(all, starts_before);
  return all;
}

/// Returns: the names of traces to which processes may still write, or whose live files are not appended yet.
std::set<std::string> unfinished_names(const std::string& directory) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (const std::size_t at = name.find(recorder::live_suffix); at != name.npos) names.insert(name.substr(0, at));
  }
  return names;
}

std::string numbered_name(std::size_t number) { return fmt::format("{:04}.trace", number); }

/// Returns: the number in a name, or 0.
std::size_t number_in(const std::string& name) {
  const std::size_t digits = name.find_first_not_of("0123456789");
  return digits == 0 || digits > 9 || name.substr(digits) != ".trace" ? 0 : std::stoul(name.substr(0, digits));
}

/// Effects: of each ended process the trace gets its number as its name.
void number_traces(const std::string& directory, std::vector<process_trace>& traces) {
  const std::set<std::string> unfinished = unfinished_names(directory);
  std::error_code error;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const std::string name = in_directory(directory, numbered_name(i + 1));
    if (unfinished.contains(fs::path(traces[i].path).filename().string()) || fs::exists(name, error)) continue;
    fs::rename(traces[i].path, name, error);
    if (!error) traces[i].path = name;
  }
}

/// Reads all events of a trace.
tree_process measured(const process_trace& t) {
  trace_input input(t.path, true);
  const study::trace_summary sum = study::summarise(input);
  const trace::trace_info& info = input.info();
  return {.pid = t.process,
          .ppid = info.parent,
          .start_ns = info.start_unix_ns,
          .end_ns = info.start_unix_ns + sum.duration_ns,
          .argv0 = info.command_line.empty() ? "" : info.command_line.front(),
          .cmd = input.program(),
          .exe = input.program_file(),
          .build_id = input.build_id(),
          .file = fs::path(t.path).filename().string(),
          .events = t.events,
          .bytes = sum.allocated.bytes,
          .peak_bytes = sum.peak.bytes,
          .complete = info.complete && !info.damage && info.write_error == 0,
          .lost = info.dropped};
}

/// Effects: numbers processes, whose files have numbers but while they run.
void set_numbers(std::vector<tree_process>& all) {
  std::size_t last = 0;
  for (tree_process& p : all) p.number = last = number_in(p.file) > last ? number_in(p.file) : last + 1;
}

process_tree tree_of(const std::string& directory, std::vector<tree_process> all, std::vector<std::string> notes) {
  set_numbers(all);
  process_tree tree{.directory = directory, .processes = std::move(all), .notes = std::move(notes)};
  for (const tree_process& p : tree.processes) tree.events += p.events;
  return tree;
}

/// Of the traces of one id the last is that of the program that ended.
void set_exits(std::vector<tree_process>& all, const child_result& result) {
  std::map<std::uint32_t, tree_process*> last;
  for (tree_process& p : all) last[p.pid] = &p;
  for (const auto& [pid, status] : result.ended)
    if (const auto found = last.find(static_cast<std::uint32_t>(pid)); found != last.end())
      found->second->status = status;
}

void write_index(const process_tree& tree) {
  std::string text;
  for (const tree_process& p : tree.processes)
    text += index_json(p).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  write_text(in_directory(tree.directory, index_name), text);
}

/// Effects: notes contradictions, each kind once.
std::vector<tree_process> processes_of(const std::vector<process_trace>& traces, index_lines& index,
                                       std::vector<std::string>& notes) {
  const bool has_index = !index.empty();
  std::vector<tree_process> all;
  std::vector<std::string> rebuilt;
  for (const process_trace& t : traces) {
    const std::string name = fs::path(t.path).filename().string();
    const auto known = index.find(name);
    const bool is_told = known != index.end() && agrees(known->second, t);
    if (!is_told && has_index) rebuilt.push_back(name);
    try {
      all.push_back(is_told ? known->second : measured(t));
    } catch (const std::runtime_error& error) {
      notes.push_back(std::string(error.what()) + ": left out.");
    }
    if (known != index.end()) index.erase(known);
  }
  if (!rebuilt.empty())
    notes.push_back(std::string(index_name) + " contradicts " + joined_names(rebuilt) + ": rebuilt from the traces.");
  std::vector<std::string> gone;
  for (const auto& [name, p] : index) gone.push_back(name);
  if (!gone.empty()) notes.push_back(std::string(index_name) + " names " + joined_names(gone) + ", which is gone.");
  return all;
}

}  // namespace

std::string tree_process::name() const { return fs::path(exe.empty() ? argv0 : exe).filename().string(); }

std::string tree_group::name() const { return processes.front()->name(); }

std::string process_tree::path_of(const tree_process& p) const { return in_directory(directory, p.file); }

bool is_tree(const std::string& path) {
  std::error_code error;
  return path.ends_with('/') || fs::is_directory(path, error);
}

std::string prepare_tree(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored))
    throw std::runtime_error(directory + ": cannot be made: " + error.message());
  if (::access(directory.c_str(), W_OK | X_OK) != 0) throw std::runtime_error(directory + ": " + std::strerror(errno));
  if (!trace_names(directory).empty() || fs::exists(in_directory(directory, index_name), error))
    throw std::runtime_error(directory + " has a recording: name another directory, or remove it");
  return in_directory(directory, running_pattern);
}

process_tree finish_tree(const std::string& directory, std::uint64_t session, const child_result& result) {
  std::vector<std::string> notes;
  index_lines none;
  std::vector<process_trace> traces = traces_of(directory, session, none, notes);
  number_traces(directory, traces);
  std::vector<tree_process> all = processes_of(traces, none, notes);
  set_exits(all, result);
  process_tree tree = tree_of(directory, std::move(all), std::move(notes));
  try {
    write_index(tree);
  } catch (const std::runtime_error& error) {  // the traces are whole, and the program has a status to pass on
    tree.notes.push_back(std::string(error.what()) + ": no index.");
  }
  return tree;
}

process_tree read_tree(const std::string& directory) {
  const std::string pattern = in_directory(directory, running_pattern);
  take_leftovers(pattern, pattern, 0);
  std::vector<std::string> notes, of_index;
  index_lines index = read_index(directory, of_index);
  const std::vector<process_trace> traces = traces_of(directory, 0, index, notes);
  if (traces.empty())
    throw std::runtime_error(directory + " has no trace" + (notes.empty() ? "" : ": " + notes.front()));
  notes.insert(notes.end(), of_index.begin(), of_index.end());
  std::vector<tree_process> all = processes_of(traces, index, notes);
  if (all.empty()) throw std::runtime_error(directory + " has no trace that can be read: " + joined(notes));
  return tree_of(directory, std::move(all), std::move(notes));
}

const tree_process& choose_process(const process_tree& tree, const std::string& wish) {
  const auto fits = [&](const tree_process& p) {
    return wish == "largest" || std::to_string(p.number) == wish || p.name() == wish ||
           fs::path(p.argv0).filename() == wish || (wish == "root" && p.ppid == 0);
  };
  const tree_process* found = nullptr;
  for (const tree_process& p : tree.processes)
    if (fits(p) && (found == nullptr || p.events > found->events)) found = &p;
  for (const tree_process& p : tree.processes)
    if (found == nullptr && std::to_string(p.pid) == wish) found = &p;
  if (found != nullptr) return *found;
  std::vector<std::string> names;
  for (const tree_process& p : tree.processes) names.push_back(fmt::format("{} ({})", p.number, p.name()));
  throw std::runtime_error(
      fmt::format("{}: no process {} is in this recording: {}", tree.directory, wish, joined_names(names)));
}

process_choice choose_process_of(const std::string& recording, const std::string& wish) {
  if (!is_tree(recording)) return choose_process(recording, wish);
  const process_tree tree = read_tree(recording);
  const tree_process& taken = choose_process(tree, wish.empty() ? "largest" : wish);
  process_choice choice;
  for (const tree_process& p : tree.processes) {
    process_trace trace{.path = tree.path_of(p), .process = p.pid, .events = p.events, .name = p.name()};
    if (&p == &taken) choice.taken = std::move(trace);
    else choice.others.push_back(std::move(trace));
  }
  if (!choice.others.empty())
    choice.text = fmt::format("{}: process {} of {}, {} (--process)", recording, taken.number, tree.processes.size(),
                              taken.name());
  return choice;
}

std::vector<tree_group> groups_of(const process_tree& tree) {
  std::map<std::pair<std::string, std::string>, tree_group> found;
  for (const tree_process& p : tree.processes) {
    tree_group& g = found[{p.build_id, p.build_id.empty() ? p.exe : ""}];
    if (g.processes.empty()) g.exe = p.exe, g.build_id = p.build_id;
    g.processes.push_back(&p);
    g.events += p.events;
    g.bytes += p.bytes;
    g.peak_bytes = std::max(g.peak_bytes, p.peak_bytes);
  }
  std::vector<tree_group> all;
  for (auto& [key, group] : found) {
    std::ranges::stable_sort(group.processes, std::greater(), &tree_process::events);
    all.push_back(std::move(group));
  }
  std::ranges::stable_sort(all, std::greater(), &tree_group::events);
  return all;
}

std::uint64_t peak_of(const process_tree& tree) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> changes;
  for (const tree_process& p : tree.processes) {
    changes.emplace_back(p.start_ns, static_cast<std::int64_t>(p.peak_bytes));
    changes.emplace_back(std::max(p.end_ns, p.start_ns + 1), -static_cast<std::int64_t>(p.peak_bytes));
  }
  std::ranges::sort(changes);
  std::int64_t live = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, live += change);
  return static_cast<std::uint64_t>(most);
}

}  // namespace ashlar::cli
