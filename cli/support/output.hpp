// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that a verb reads or writes where an option names them.
#pragma once

#include <fstream>
#include <initializer_list>
#include <set>
#include <stdexcept>

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>

#include "cli/support/text.hpp"

namespace ashlar::cli {

/// Returns: whether the descriptor, which may take bytes piece by piece, took all; if not, errno has the reason.
[[nodiscard]] bool write_all(int descriptor, std::string_view bytes) noexcept;

/// Returns: the open file, which may be a pipe. Throws: `std::runtime_error` naming the file.
[[nodiscard]] std::ifstream open_text(const std::string& path);
/// Returns: the bytes of a file that has an end. Throws: as above.
[[nodiscard]] std::string read_text(const std::string& path);

/// Effects: writes `text` to the file, or to standard output for "-". The file gets its name when it is
/// whole: on an error, and when the process is killed, an older one stays as it is, and there is no new one. Throws:
/// `std::runtime_error` naming the file, also if it is a trace.
void write_text(const std::string& path, const std::string& text);

/// As `write_text`, indented, with the version of the form. Bytes that are not UTF-8 are replaced.
void write_json(const std::string& path, nlohmann::json value);

/// Returns: a value; null for the one that stands for none: 0, or an empty text.
template <class T>
[[nodiscard]] nlohmann::json or_null(const T& value) {
  return value == T() ? nlohmann::json() : nlohmann::json(value);
}

/// Returns: whether both paths lead to one file, which exists.
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);

/// Returns: the first of the paths that leads to the file of an earlier one, or is the same; empty if none does.
[[nodiscard]] std::string repeated_file(const std::vector<std::string>& paths);

/// Throws: `std::runtime_error` if the file that an option names is an input, which it would replace. `role`:
/// of the input, as in "trace". An empty path is none.
void expect_other_file(const std::string& output, const std::string& input, const std::string& role);

/// A file that a verb writes, by the option that names it; none if the path is empty.
struct output_file {
  const char* option;
  std::string path;
};

/// Returns: the mistake of two outputs in one place, of which one would be lost; empty if there is none.
[[nodiscard]] std::string shared_output(const std::vector<output_file>& outputs);

/// A file that a verb reads; none if the path is empty.
struct input_file {
  std::string path;
  std::string role;
};

/// Throws: `std::runtime_error` for an output, if not empty, that is one of the inputs or cannot be written.
void expect_outputs(std::initializer_list<std::string> outputs, const std::vector<input_file>& inputs);

/// For the parser: refuses a member that stands twice in one object, since one of the two would be lost, and a nesting
/// that is too deep for functions that call themselves. Throws: `std::runtime_error` with the reason.
class json_guard {
public:
  static constexpr int most_depth = 64;

  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using enum nlohmann::json::parse_event_t;
    if (depth > most_depth) throw std::runtime_error("more than " + counted(most_depth, "level") + " of nesting");
    if (event == object_start) keys_.emplace_back();
    if (event == object_end) keys_.pop_back();
    if (event == key && !keys_.back().insert(parsed.get<std::string>()).second)
      throw std::runtime_error("'" + parsed.get<std::string>() + "' stands twice in one object");
    return true;
  }

private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

}  // namespace ashlar::cli
