// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chunk of JSON behind the recorder's own, which readers of events skip.
#include "cli/record/run_note.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <ashlar/base/event.hpp>
#include <ashlar/base/trace_source.hpp>
#include <ashlar/detail/trace/format.hpp>

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;
namespace io = detail::trace_io;
using nlohmann::json;

constexpr detail::enum_table<input_kind, const char*> kinds = {"none", "file", "terminal", "other"};

input_kind kind_named(const std::string& name) {
  for (const input_kind kind : {input_kind::none, input_kind::file, input_kind::terminal})
    if (name == kinds[kind]) return kind;
  return input_kind::other;
}

/// /dev/null is device 1:3 of Linux.
input_kind kind_of_input() {
  struct stat found{};
  if (::fstat(STDIN_FILENO, &found) != 0) return input_kind::none;  // it is closed
  if (S_ISREG(found.st_mode)) return input_kind::file;
  if (::isatty(STDIN_FILENO) != 0) return input_kind::terminal;
  return S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 3) ? input_kind::none : input_kind::other;
}

std::string text_of(const run_note& note) {
  const json all = {{"status", note.status},      {"seconds", note.seconds},       {"directory", note.directory},
                    {"input", kinds[note.input]}, {"input_file", note.input_file}, {"input_offset", note.input_offset}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<run_note> parsed(const std::string& text) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) return std::nullopt;
  return run_note{.status = all.value("status", 0),
                  .seconds = all.value("seconds", 0.0),
                  .directory = all.value("directory", ""),
                  .input = kind_named(all.value("input", "")),
                  .input_file = all.value("input_file", ""),
                  .input_offset = all.value("input_offset", std::uint64_t{0})};
}

/// Returns: the payload of the last chunk of a run that is undamaged.
std::optional<std::string> payload_of(trace::byte_source& source) {
  std::optional<std::string> found;
  std::vector<std::byte> head(io::file_header_bytes);
  if (source.refusal() != nullptr || !source.read(0, head) || io::refuse_file_header(head.data()) != nullptr) return {};
  std::uint64_t at = head.size() + io::get_file_header(head.data()).text_bytes + sizeof(std::uint64_t);
  io::chunk_header h;
  for (std::array<std::byte, io::chunk_header_bytes> bytes; source.read(at, bytes) && io::get_header(bytes.data(), h);
       at += bytes.size() + h.stored_bytes) {
    if (h.kind != io::chunk_kind::run || h.stored_bytes > io::max_raw_bytes) continue;
    std::string text(h.stored_bytes, '\0');
    const auto to = std::as_writable_bytes(std::span(text));
    if (source.read(at + bytes.size(), to) && io::checksum(to) == h.payload_sum) found = std::move(text);
  }
  return found;
}

}  // namespace

run_note note_surroundings() {
  std::error_code error;
  run_note note{.directory = fs::current_path(error).string(), .input = kind_of_input()};
  if (note.input != input_kind::file) return note;
  note.input_file = fs::read_symlink("/proc/self/fd/0", error).string();
  note.input_offset = static_cast<std::uint64_t>(::lseek(STDIN_FILENO, 0, SEEK_CUR));
  return note;
}

void append_note(const std::string& trace, const run_note& note) {
  std::error_code error;
  if (!fs::is_regular_file(trace, error) || fs::file_size(trace, error) == 0) return;
  const std::string text = text_of(note);
  const auto payload = std::as_bytes(std::span(text));
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string all(io::chunk_header_bytes, '\0');
  io::put_header(std::as_writable_bytes(std::span(all)).data(), {.kind = io::chunk_kind::run,
                                                                 .count = 1,
                                                                 .raw_bytes = size,
                                                                 .stored_bytes = size,
                                                                 .payload_sum = io::checksum(payload)});
  all += text;
  std::ofstream(trace, std::ios::binary | std::ios::app).write(all.data(), static_cast<std::streamsize>(all.size()));
}

std::optional<run_note> note_of(const std::string& trace) {
  trace::byte_source source(trace);
  const std::optional<std::string> text = payload_of(source);
  return text ? parsed(*text) : std::nullopt;
}

}  // namespace ashlar::cli
