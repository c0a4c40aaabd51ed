// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the headers of a fresh trace and counts its contents, and the contents of the traces beside it.
#include "cli/record/summary.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <ashlar/base/trace_source.hpp>
#include <ashlar/detail/trace/index.hpp>

#include "cli/preload/settings.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_listed = 4, most_named = 4;

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

bool is_sibling(const fs::directory_entry& entry, const fs::path& own, const name_pattern& names,
                fs::file_time_type start) {
  std::error_code error;
  const fs::path name = entry.path().filename();
  return name != own.filename() && names.fits(name.string()) && entry.last_write_time(error) >= start && !error;
}

other_trace read_other(const fs::path& path) {
  trace::byte_source source(path.string());
  if (source.refusal() != nullptr) return {.path = path.string()};
  const detail::trace_io::chunk_index index(source);
  return {.path = path.string(), .process = index.header().process, .events = index.events()};
}

/// Returns: the traces of processes started by the recorded one, whose trace is `own`.
std::vector<other_trace> find_others(const fs::path& own, const name_pattern& names, fs::file_time_type start) {
  std::error_code error;
  std::vector<other_trace> all;
  for (const auto& entry : fs::directory_iterator(fs::absolute(own, error).parent_path(), error))
    if (is_sibling(entry, own, names, start)) all.push_back(read_other(own.parent_path() / entry.path().filename()));
  std::sort(all.begin(), all.end(), [](const other_trace& a, const other_trace& b) { return a.process < b.process; });
  return all;
}

std::size_t count_threads(const detail::trace_io::chunk_index& index) {
  std::set<std::uint32_t> streams;
  for (const detail::trace_io::chunk_entry& chunk : index.chunks(detail::trace_io::chunk_kind::events))
    streams.insert(chunk.header.stream);
  streams.erase(0xffff'ffff);  // shared by ending threads
  return streams.size();
}

std::string others_text(const std::vector<other_trace>& others, const name_pattern& names, const fs::path& path) {
  if (others.empty()) return {};
  const fs::path all = path.parent_path() / (names.before + "*" + names.after);
  std::string text = "; " + counted(others.size(), "more process", "more processes") + " in " + all.string() + ": ";
  for (std::size_t i = 0; i < others.size() && i < most_listed; ++i)
    text += (i == 0 ? "" : ", ") + counted(others[i].events, "event") + " in " + others[i].path;
  if (others.size() > most_listed) text += ", and others";
  return text;
}

std::string trace_text(const detail::trace_io::chunk_index& index, std::uint64_t bytes, const std::string& path) {
  const std::string cut = index.error() ? ", damaged at byte " + std::to_string(index.error()->offset) : "";
  return counted(index.events(), "event") + ", " + counted(count_threads(index), "thread") + ", " +
         counted(bytes, "byte") + " in " + path + cut;
}

/// "up to 4,096 events", "up to 4,096 events of each of its 3 threads"
std::string last_events(std::uint32_t threads) {
  const std::string most = "up to " + counted(recorder::log_records, "event");
  return threads <= 1 ? most : most + " of each of its " + counted(threads, "thread");
}

std::string place_of(const record_status::unfinished& p, int program, const std::string& path,
                     const recording_summary& sum) {
  if (p.process == program) return sum.has_trace ? path : "";
  const auto is_its = [&](const other_trace& t) { return t.process == static_cast<std::uint32_t>(p.process); };
  const auto found = std::find_if(sum.others.rbegin(), sum.others.rend(), is_its);  // the last one after an exec
  return found == sum.others.rend() ? "" : found->path;
}

std::string loss_of(const record_status::unfinished& p, const std::string& place) {
  const std::string process = "process " + std::to_string(p.process);
  const std::string state = p.is_running ? " is still running" : " was killed or ended by a system call of its own";
  const std::string lacks = place.empty() ? ", and has no trace: it lacks " : ": " + place + " lacks ";
  return process + state + lacks + last_events(p.threads);
}

}  // namespace

recording_summary summarise_recording(const std::string& path, const std::string& output, fs::file_time_type start) {
  recording_summary sum;
  const name_pattern names(fs::path(output).filename().string());
  sum.others = find_others(path, names, start);
  const std::string others = others_text(sum.others, names, path);
  trace::byte_source source(path);
  std::error_code error;
  if (source.refusal() != nullptr && fs::exists(path, error)) {
    sum.text = path + " " + source.refusal() + others;
    return sum;
  }
  const detail::trace_io::chunk_index index(source);
  sum.has_trace = source.bytes() != 0;
  sum.events = index.events();
  sum.text = (sum.has_trace ? trace_text(index, source.bytes(), path) : "nothing in " + path) + others;
  return sum;
}

recording_losses find_losses(const std::vector<record_status::unfinished>& processes, const child_result& program,
                             const std::string& path, const recording_summary& sum) {
  recording_losses found;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const record_status::unfinished& p = processes[i];
    const bool is_told = p.process == program.process && program.status >= 128;
    found.is_untold = found.is_untold || !(p.is_running || is_told);
    if (i < most_named) found.text += (i == 0 ? "" : "; ") + loss_of(p, place_of(p, program.process, path, sum));
  }
  if (processes.size() > most_named)
    found.text += "; likewise " + counted(processes.size() - most_named, "more process", "more processes");
  return found;
}

}  // namespace ashlar::cli
