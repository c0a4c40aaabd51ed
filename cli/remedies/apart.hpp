// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A part of the work in a process of its own, which is small: the kernel counts the memory of a process that starts a
// program into the program's peak.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ashlar::cli {

/// Effects: starts the command with these words. Returns: its standard output. `question`: its standard input. Throws:
/// `std::runtime_error` with the message of what `answer_apart` threw, or if it died.
[[nodiscard]] std::string ask_apart(const std::vector<std::string>& words, const std::string& question = "");

/// Effects: in that process, becomes the reaper of what its programs leave behind, and writes the answer to the
/// question. Returns: the exit status.
[[nodiscard]] int answer_apart(const std::function<std::string(const std::string& question)>& answer);

}  // namespace ashlar::cli
