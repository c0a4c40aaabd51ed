// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a trace tells of the run beside its events, so that the recorded command can be run again in its surroundings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ashlar::cli {

/// Standard input as the program found it.
enum class input_kind { none, file, terminal, other };

struct run_note {
  int status = 0;      ///< Exit status, or 128 + the signal that ended it.
  double seconds = 0;  ///< Of wall time, while it was recorded.
  std::string directory;
  input_kind input = input_kind::other;
  std::string input_file = {};     ///< Of a file.
  std::uint64_t input_offset = 0;  ///< Where the program began to read it.
};

/// Returns: the directory and the standard input of this process, which its children inherit.
[[nodiscard]] run_note note_surroundings();

/// Effects: appends the note to a trace that has been written; a trace that is no regular file, or has no bytes, or
/// cannot be written stays without.
void append_note(const std::string& trace, const run_note& note);

/// Returns: the note of a trace; nothing if it has none: it is the trace of a process that the recorded one has
/// started, or of an older recorder.
[[nodiscard]] std::optional<run_note> note_of(const std::string& trace);

}  // namespace ashlar::cli
