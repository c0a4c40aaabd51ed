// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the headers of a fresh trace and counts its contents, and the contents of the traces beside it.
#include "cli/record/summary.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <system_error>

#include <ashlar/detail/trace/index.hpp>
#include <ashlar/trace/source.hpp>

#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_listed = 4;

bool is_sibling(const fs::directory_entry& entry, const std::string& name, fs::file_time_type start) {
  std::error_code error;
  const std::string other = entry.path().filename().string();
  if (other.size() <= name.size() + 1 || !other.starts_with(name + ".")) return false;
  if (other.find_first_not_of("0123456789.", name.size()) != std::string::npos) return false;
  return entry.last_write_time(error) >= start && !error;
}

other_trace read_other(const fs::path& path) {
  trace::byte_source source(path.string());
  if (source.refusal() != nullptr) return {.path = path.string()};
  const detail::trace_io::chunk_index index(source);
  return {.path = path.string(), .process = index.header().process, .events = index.events()};
}

/// Returns: the traces of processes started by the recorded one, "<path>.<process id>".
std::vector<other_trace> find_others(const fs::path& path, fs::file_time_type start) {
  std::error_code error;
  std::vector<other_trace> all;
  const std::string name = path.filename().string();
  for (const auto& entry : fs::directory_iterator(fs::absolute(path, error).parent_path(), error))
    if (is_sibling(entry, name, start)) all.push_back(read_other(path.parent_path() / entry.path().filename()));
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

std::string others_text(const std::vector<other_trace>& others, const std::string& path) {
  if (others.empty()) return {};
  std::string text = "; " + counted(others.size(), "more process", "more processes") + " in " + path + ".*: ";
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

}  // namespace

recording_summary summarise_recording(const std::string& path, fs::file_time_type start) {
  recording_summary sum;
  sum.others = find_others(path, start);
  const std::string others = others_text(sum.others, path);
  trace::byte_source source(path);
  if (source.refusal() != nullptr) {
    sum.text = path + " " + source.refusal() + others;
    return sum;
  }
  const detail::trace_io::chunk_index index(source);
  sum.has_trace = source.bytes() != 0;
  sum.events = index.events();
  sum.text = (sum.has_trace ? trace_text(index, source.bytes(), path) : "nothing in " + path) + others;
  return sum;
}

}  // namespace ashlar::cli
