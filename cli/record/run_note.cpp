// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chunk of JSON behind the recorder's own, which readers of events skip.
#include "cli/record/run_note.hpp"

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <ashlar/base/event.hpp>

#include "cli/support/inspect_program.hpp"

namespace ashlar::cli {

// The first stands for a kind that is not known.
NLOHMANN_JSON_SERIALIZE_ENUM(input_kind, {{input_kind::other, "other"},
                                          {input_kind::none, "none"},
                                          {input_kind::file, "file"},
                                          {input_kind::terminal, "terminal"}});
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(run_note, status, seconds, directory, input, input_file, input_offset, command_sum,
                                   environment_sum);

namespace {

namespace fs = std::filesystem;
namespace io = detail::trace_io;
using nlohmann::json;

/// /dev/null is device 1:3 of Linux.
input_kind kind_of_input() {
  struct stat found{};
  if (::fstat(STDIN_FILENO, &found) != 0) return input_kind::none;  // it is closed
  if (S_ISREG(found.st_mode)) return input_kind::file;
  if (::isatty(STDIN_FILENO) != 0) return input_kind::terminal;
  return S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 3) ? input_kind::none : input_kind::other;
}

/// A note that lacks a member is none: it would be taken for a default.
std::optional<run_note> parsed(const std::string& text) try {
  return json::parse(text).get<run_note>();
} catch (const json::exception&) {
  return std::nullopt;
}

/// Returns: the checksum of words that each end with a null byte.
std::uint64_t sum_of(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all.append(word).push_back('\0');
  return io::checksum(std::as_bytes(std::span(all)));
}

bool is_of_run(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  constexpr std::array others = {"_", "PWD", "OLDPWD", "SHLVL"};
  return !name.starts_with("ASHLAR") && std::ranges::find(others, name) == others.end();
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

std::uint64_t sum_of_command(const std::vector<std::string>& words) { return sum_of(words); }

std::uint64_t sum_of_environment() {
  std::vector<std::string> entries;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry)
    if (is_of_run(*entry)) entries.emplace_back(*entry);
  std::ranges::sort(entries);
  return sum_of(entries);
}

run_note note_surroundings(const std::vector<std::string>& command) {
  std::error_code error;
  run_note note{.directory = fs::current_path(error).string(),
                .input = kind_of_input(),
                .command_sum = sum_of_command(words_of_process(command)),
                .environment_sum = sum_of_environment()};
  if (note.input != input_kind::file) return note;
  note.input_file = fs::read_symlink("/proc/self/fd/0", error).string();
  note.input_offset = static_cast<std::uint64_t>(::lseek(STDIN_FILENO, 0, SEEK_CUR));
  return note;
}

void append_note(const std::string& trace, const run_note& note) {
  const std::string text = json(note).dump(-1, ' ', false, json::error_handler_t::replace);
  append_chunk(trace, {.kind = io::chunk_kind::run, .count = 1}, std::as_bytes(std::span(text)));
}

std::optional<run_note> note_of(const std::string& trace) {
  trace::byte_source source(trace);
  const std::optional<std::string> text = payload_of(source);
  return text ? parsed(*text) : std::nullopt;
}

std::vector<std::byte> raw_chunk(detail::trace_io::chunk_header header, std::span<const std::byte> payload) {
  header.raw_bytes = header.stored_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_sum = io::checksum(payload);
  std::vector<std::byte> chunk(io::chunk_header_bytes);
  io::put_header(chunk.data(), header);
  chunk.insert(chunk.end(), payload.begin(), payload.end());
  return chunk;
}

void append_chunk(const std::string& trace, detail::trace_io::chunk_header header, std::span<const std::byte> payload) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(trace, ignored)) return;
  trace::byte_source source(trace);
  if (source.refusal() == nullptr) append_chunk(trace, source, detail::trace_io::chunk_index(source), header, payload);
}

void append_chunk(const std::string& trace, const trace::byte_source& source,
                  const detail::trace_io::chunk_index& index, detail::trace_io::chunk_header header,
                  std::span<const std::byte> payload) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(trace, ignored) || index.error() || index.header().write_error != 0) return;
  const std::vector<std::byte> chunk = raw_chunk(header, payload);
  std::ofstream to(trace, std::ios::binary | std::ios::app);
  to.write(reinterpret_cast<const char*>(chunk.data()), static_cast<std::streamsize>(chunk.size()));
  to.close();
  if (!to) std::filesystem::resize_file(trace, source.bytes(), ignored);
}

}  // namespace ashlar::cli
