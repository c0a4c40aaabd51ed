// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the headers of a fresh trace and counts its contents.
#include "cli/record/summary.hpp"

#include <cstdint>
#include <set>
#include <system_error>

#include <ashlar/detail/trace/index.hpp>
#include <ashlar/trace/source.hpp>

#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

bool is_sibling(const fs::directory_entry& entry, const std::string& name, fs::file_time_type start) {
  std::error_code error;
  const std::string other = entry.path().filename().string();
  if (other.size() <= name.size() + 1 || !other.starts_with(name + ".")) return false;
  if (other.find_first_not_of("0123456789.", name.size()) != std::string::npos) return false;
  return entry.last_write_time(error) >= start && !error;
}

/// Returns: the number of processes started by the recorded one that left a trace, "<path>.<process id>".
std::size_t count_siblings(const fs::path& path, fs::file_time_type start) {
  std::error_code error;
  std::size_t n = 0;
  const std::string name = path.filename().string();
  for (const auto& entry : fs::directory_iterator(fs::absolute(path, error).parent_path(), error))
    if (is_sibling(entry, name, start)) ++n;
  return n;
}

std::size_t count_threads(const detail::trace_io::chunk_index& index) {
  std::set<std::uint32_t> streams;
  for (const detail::trace_io::chunk_entry& chunk : index.chunks(detail::trace_io::chunk_kind::events))
    streams.insert(chunk.header.stream);
  streams.erase(0xffff'ffff);  // shared by ending threads
  return streams.size();
}

std::string others_text(std::size_t siblings, const std::string& path) {
  if (siblings == 0) return {};
  return "; " + (siblings == 1 ? "1 more process" : std::to_string(siblings) + " more processes") + " in " + path +
         ".*";
}

std::string trace_text(const detail::trace_io::chunk_index& index, std::uint64_t bytes, const std::string& path) {
  const std::string cut = index.error() ? ", damaged at byte " + std::to_string(index.error()->offset) : "";
  return counted(index.events(), "event") + ", " + counted(count_threads(index), "thread") + ", " +
         counted(bytes, "byte") + " in " + path + cut;
}

}  // namespace

recording_summary summarise_recording(const std::string& path, fs::file_time_type start) {
  recording_summary sum;
  sum.other_traces = count_siblings(path, start);
  const std::string others = others_text(sum.other_traces, path);
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
