// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The definition of a verb, and the exit codes of all verbs.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "cli/support/terminal.hpp"

namespace ashlar::cli {

/// One verb. Its file defines a `const verb_registration` at namespace scope; no other list names it.
struct verb {
  std::string_view name;
  std::string_view help;              ///< One line; empty: a word that the list of verbs leaves out.
  int (*run)(int argc, char** argv);  ///< argv[0] is "ashlar NAME". Returns the exit status.
};

/// Adds a verb to the command for as long as it lives: a static object in the verb's file.
class verb_registration {
public:
  explicit verb_registration(verb v) noexcept : verb_(v), next_(first()) { first() = this; }
  verb_registration(const verb_registration&) = delete;
  verb_registration& operator=(const verb_registration&) = delete;

  [[nodiscard]] const verb& value() const noexcept { return verb_; }
  [[nodiscard]] const verb_registration* next() const noexcept { return next_; }

  [[nodiscard]] static const verb_registration*& first() noexcept {
    static const verb_registration* head = nullptr;
    return head;
  }

private:
  verb verb_;
  const verb_registration* next_;
};

inline constexpr int exit_ok = 0;
inline constexpr int exit_failure = 1;  ///< The work failed: bad input, a system error.
inline constexpr int exit_usage = 2;    ///< The command line is invalid.
// Of verbs that become or start a program: above the codes of programs, as in other commands that start commands.
inline constexpr int exit_not_loaded = 124;  ///< A library could not be loaded into it, or had nothing to do there.
inline constexpr int exit_not_executable = 126;
inline constexpr int exit_not_found = 127;

/// Thrown by a verb for a command line that contradicts itself, or names what there is not: the status is `exit_usage`.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Effects: one line on stderr, "ashlar VERB: message", control characters escaped. Returns: `status`.
inline int complain(std::string_view verb_name, const std::string& message, int status = exit_failure) {
  print_error("ashlar " + std::string(verb_name), message);
  return status;
}

/// Effects: reports that a program could not be started. Returns: the exit status.
inline int complain_of_start(std::string_view verb_name, const std::string& program, int error) {
  std::error_code ignored;
  if (std::filesystem::is_directory(program, ignored))
    return complain(verb_name, program + ": is a directory", exit_not_executable);
  if (error == ENOENT) return complain(verb_name, program + ": no such program", exit_not_found);
  return complain(verb_name, program + ": " + std::strerror(error), exit_not_executable);
}

}  // namespace ashlar::cli
