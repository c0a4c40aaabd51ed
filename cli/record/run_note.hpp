// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a trace tells of the run beside its events, so that the recorded command can be run again in its surroundings.
#pragma once

#include <ashlar/base/trace_source.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/index.hpp>

namespace ashlar::cli {

/// Standard input as the program found it.
enum class input_kind { none, file, terminal, other };

struct run_note {
  int status = 0;      ///< Exit status, or 128 + the signal that ended it.
  double seconds = 0;  ///< Of wall time, while it was recorded.
  std::string directory;
  input_kind input = input_kind::other;
  std::string input_file = {};        ///< Of a file.
  std::uint64_t input_offset = 0;     ///< Where the program began to read it.
  std::uint64_t command_sum = 0;      ///< `sum_of_command` of the process that `ashlar record` started.
  std::uint64_t environment_sum = 0;  ///< `sum_of_environment` of it.
};

/// Returns: the directory, the standard input and the environment of this process, which its children inherit.
[[nodiscard]] run_note note_surroundings(const std::vector<std::string>& command);

/// Returns: a sum by which whole command lines are compared: a header has the first bytes of a long one.
[[nodiscard]] std::uint64_t sum_of_command(const std::vector<std::string>& words);

/// Returns: a sum of this process's environment, without the variables of ashlar and those that a shell sets itself.
[[nodiscard]] std::uint64_t sum_of_environment();

/// Effects: as `append_chunk`.
void append_note(const std::string& trace, const run_note& note);

/// Returns: the note of a trace; nothing if it has none, as of a process that the recorded one has started.
[[nodiscard]] std::optional<run_note> note_of(const std::string& trace);

/// Returns: the bytes of a chunk, whose payload is stored as it is. `header`: sizes and sums are set here.
[[nodiscard]] std::vector<std::byte> raw_chunk(detail::trace_io::chunk_header header,
                                               std::span<const std::byte> payload);

/// Effects: appends a chunk with this payload to a regular file that is a whole trace without an error of its writer.
/// Where there is no room for all of it, the trace is as before. `header`: sizes and sums are set here.
void append_chunk(const std::string& trace, detail::trace_io::chunk_header header, std::span<const std::byte> payload);

/// The same, of a trace whose index has been read.
void append_chunk(const std::string& trace, const trace::byte_source& source,
                  const detail::trace_io::chunk_index& index, detail::trace_io::chunk_header header,
                  std::span<const std::byte> payload);

}  // namespace ashlar::cli
