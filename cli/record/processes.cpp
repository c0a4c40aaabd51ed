// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the headers of the files whose names may be those of one recording.
#include "cli/record/processes.hpp"

#include <stdexcept>

#include <sys/stat.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ashlar/detail/trace/index.hpp>

#include "cli/record/leftovers.hpp"
#include "cli/support/text.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The name of a trace around the process id: "t-%p.trace", or "t.trace.%p" where that name is the program's own.
struct name_pattern {
  std::string before, after;

  explicit name_pattern(const std::string& name) {
    const std::size_t hole = name.find("%p");
    before = hole == name.npos ? name + "." : name.substr(0, hole);
    after = hole == name.npos ? "" : name.substr(hole + 2);
  }

  /// After an exec a further number ends the name.
  [[nodiscard]] bool fits(std::string_view name) const {
    if (!name.starts_with(before)) return false;
    name.remove_prefix(before.size());
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    name.remove_prefix(digits);
    return digits != 0 && name.starts_with(after) && name.find_first_not_of("0123456789.", after.size()) == name.npos;
  }
};

name_pattern names_of(const std::string& output) { return name_pattern(fs::path(output).filename().string()); }

/// Returns: the traces beside `own` whose names fit, but for `own`.
std::vector<process_trace> traces_beside(const fs::path& own, const name_pattern& names) {
  std::error_code error;
  std::vector<process_trace> all;
  for (const auto& entry : fs::directory_iterator(fs::absolute(own, error).parent_path(), error)) {
    const fs::path name = entry.path().filename();
    if (name != own.filename() && names.fits(name.string()))
      all.push_back(read_process_trace((own.parent_path() / name).string()));
  }
  return all;
}

bool is_larger(const process_trace& a, const process_trace& b) {
  return a.events != b.events ? a.events > b.events : a.process < b.process;
}

/// Returns: the number of the recording to which an empty file belongs, as its first process wrote nothing: the one of
/// the latest trace beside it, if it began after the file was made.
std::uint64_t session_beside_empty(const std::string& path, const std::vector<process_trace>& beside) {
  struct stat facts{};
  if (stat(path.c_str(), &facts) != 0 || facts.st_size != 0) return 0;
  const auto later = [](const process_trace& a, const process_trace& b) { return a.start_unix_ns < b.start_unix_ns; };
  const auto latest = std::max_element(beside.begin(), beside.end(), later);
  if (latest == beside.end()) return 0;
  const auto made = static_cast<std::uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 +
                    static_cast<std::uint64_t>(facts.st_mtim.tv_nsec);
  constexpr std::uint64_t coarseness_ns = 20'000'000;  // of the clock of file systems
  return latest->start_unix_ns + coarseness_ns >= made ? latest->session : 0;
}

bool is_by_size(const std::string& wish) { return wish.empty() || wish == "largest"; }

/// Returns: the traces of the recording that began with the one at `path`, which is the first of them. The headers of
/// one that stands alone are not read for nothing.
std::vector<process_trace> recording_of(const std::string& path, const std::string& wish) {
  std::vector<process_trace> all = traces_beside(path, names_of(path));
  if (all.empty() && is_by_size(wish)) return {{.path = path}};
  const process_trace own = read_process_trace(path);
  const std::uint64_t session = own.is_first ? own.session : session_beside_empty(path, all);
  if (session == 0) return {own};
  std::erase_if(all, [session](const process_trace& t) { return t.session != session; });
  std::sort(all.begin(), all.end(), is_larger);
  all.insert(all.begin(), own);
  return all;
}

std::string list_of(const std::vector<process_trace>& all) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) text += (i == 0 ? "" : "; ") + title_of(all[i]);
  return all.size() > most ? text + fmt::format("; and {} more", grouped(all.size() - most)) : text;
}

using iterator = std::vector<process_trace>::const_iterator;

iterator find_wished(const std::vector<process_trace>& all, const std::string& wish) {
  if (wish == "root") return all.begin();
  if (is_by_size(wish)) return std::min_element(all.begin(), all.end(), is_larger);
  iterator found = all.end();  // of several, by an exec, the largest
  for (auto at = all.begin(); at != all.end(); ++at)
    if (std::to_string(at->process) == wish && (found == all.end() || is_larger(*at, *found))) found = at;
  return found;
}

std::string choice_text(const process_trace& taken, bool is_root, const process_choice& choice,
                        const std::string& wish) {
  const std::string size = is_root ? "the first one, and the largest" : "the largest";
  const std::string rank = is_by_size(wish) ? size : "the one asked for";
  return fmt::format(
      "Of {} of the recording this is {}: process {}, in {}. Others: {}. '--process root', or a process id, takes "
      "another; 'ashlar advise' merges several files of one program.",
      counted(choice.others.size() + 1, "trace"), rank, title_of(taken), taken.path, list_of(choice.others));
}

json to_json(const process_trace& t, bool is_taken) {
  return {{"trace", t.path},      {"process", t.process},   {"events", t.events},
          {"program", t.program}, {"is_first", t.is_first}, {"is_taken", is_taken}};
}

}  // namespace

std::string title_of(const process_trace& t) {
  if (t.process == 0) return fs::path(t.path).filename().string() + ", empty: killed before it wrote";
  const std::string program = t.name.empty() ? "" : " (" + shorten(t.name, 40) + ")";
  return fmt::format("{}{}, {}", t.process, program, counted(t.events, "event"));
}

process_trace read_process_trace(const std::string& path) {
  trace::byte_source source(path);
  if (source.refusal() != nullptr) return {.path = path};
  const detail::trace_io::chunk_index index(source);
  const detail::trace_io::file_header& h = index.header();
  process_trace t{.path = path,
                  .process = h.process,
                  .events = index.events(),
                  .session = h.session,
                  .start_ns = h.start_ns,
                  .start_unix_ns = h.start_unix_ns,
                  .is_first = h.session != 0 && h.parent == 0};
  const std::vector<std::string>& words = index.command_line();
  t.program = joined(words);
  if (!words.empty()) t.name = t.program.substr(words.front().rfind('/') + 1);
  return t;
}

std::vector<process_trace> find_other_processes(const std::string& own, const std::string& output,
                                                std::uint64_t session) {
  std::vector<process_trace> all = traces_beside(own, names_of(output));
  std::erase_if(all, [session](const process_trace& t) { return t.session != session; });
  std::sort(all.begin(), all.end(), is_larger);
  return all;
}

bool is_name_of_recording(const std::string& name, const std::string& own, const std::string& output) {
  return name == fs::path(own).filename() || names_of(output).fits(name);
}

std::string pattern_of_names(const std::string& own, const std::string& output) {
  const name_pattern names = names_of(output);
  return (fs::path(own).parent_path() / (names.before + "*" + names.after)).string();
}

process_choice choose_process(const std::string& path, const std::string& wish) {
  take_leftovers(path, path, 0);
  const std::vector<process_trace> all = recording_of(path, wish);
  const iterator taken = find_wished(all, wish);
  if (wish == "root" && !all.front().is_first && all.size() == 1)
    throw std::runtime_error(path + " names one process; --process is for the name that ashlar record was given");
  if (taken == all.end())
    throw std::runtime_error(fmt::format("{}: no process {} is in this recording: {}", path, wish, list_of(all)));
  process_choice choice{.taken = *taken, .others = {}, .text = {}};
  for (auto at = all.begin(); at != all.end(); ++at)
    if (at != taken) choice.others.push_back(*at);
  if (!choice.others.empty()) choice.text = choice_text(*taken, taken == all.begin(), choice, wish);
  return choice;
}

void require_process_wish(const std::string& wish, const std::string& verb) {
  if (wish == "root" || is_by_size(wish) || wish.find_first_not_of("0123456789") == wish.npos) return;
  throw usage_error("--process: '" + wish + "' is none of largest, root, a process id; see ashlar " + verb + " --help");
}

json processes_json(const process_choice& choice) {
  if (choice.others.empty()) return nullptr;
  json all = json::array();
  all.push_back(to_json(choice.taken, true));
  for (const process_trace& t : choice.others) all.push_back(to_json(t, false));
  return all;
}

}  // namespace ashlar::cli
