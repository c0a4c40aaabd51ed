// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of a trace beside its events: the program, its mapped modules, its call stacks, names of spans.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::trace {

struct trace_error {
  std::uint64_t offset = 0;  ///< Offset in the file at which the damage shows; 0 if the file cannot be opened.
  std::string message;       ///< One line, no full stop, without the file's name.

  friend bool operator==(const trace_error&, const trace_error&) = default;
};

/// The recorded program and the state of its file.
struct trace_info {
  std::vector<std::string> command_line;
  std::uint32_t process = 0;          ///< Process id of the recorded program.
  std::uint64_t start_unix_ns = 0;    ///< Wall clock at time 0 of the trace.
  std::uint32_t page_bytes = 0;       ///< Page size of the recording machine.
  std::uint32_t pointer_bytes = 0;    ///< 4 or 8.
  std::uint32_t stack_depth = 0;      ///< Frames recorded per event; 0 = no stacks.
  std::uint64_t file_bytes = 0;       ///<
  std::uint64_t chunks = 0;           ///< Number of sound chunks.
  std::uint64_t events = 0;           ///< Number in the file, by its headers; `next` may add lost releases.
  std::uint64_t dropped = 0;          ///< Events that the recorder dropped, as far as it could count them.
  bool complete = false;              ///< The program ended in order; false: killed, still running, or cut off.
  std::uint16_t write_error = 0;      ///< The reason of an incomplete file, if the recorder knew it: see `file_header`.
  std::optional<trace_error> damage;  ///< The end of the valid prefix, if damage was accepted.
  std::uint64_t session = 0;          ///< The traces of all processes of a recording share it; 0 = unknown.
  std::uint32_t parent = 0;           ///< Process id of the parent; 0 = the recording began with it, or unknown.
  /// Most resident memory of the process; 0 = unknown, as in traces of older recorders and of `trace::writer`.
  std::uint64_t resident_peak_bytes = 0;
  /// Of that, memory that the process made itself: no file's, not the recorder's, not inherited by a fork.
  std::uint64_t anonymous_peak_bytes = 0;
};

/// A file mapped into the recorded program; `address - bias` is an address in the ELF file, the input of addr2line.
struct mapped_module {
  std::uint64_t begin = 0, end = 0;  ///< [begin, end) in the recorded program.
  std::uint64_t bias = 0;            ///< Load bias: run-time address minus address in the file.
  std::string path;                  ///< Absolute if the system reports it so; includes the program itself.
  std::string build_id;              ///< Lower-case hexadecimal; empty without a build id.

  friend bool operator==(const mapped_module&, const mapped_module&) = default;
};

/// Every distinct call stack once, by id. Ids count from 1; 0 and unknown ids are the empty stack.
class stack_table {
public:
  /// Returns: the return addresses of the frames, innermost first.
  [[nodiscard]] std::span<const std::uint64_t> operator[](std::uint32_t id) const noexcept {
    if (id == 0 || id >= first_.size()) return {};
    return std::span(frames_).subspan(first_[id - 1], first_[id] - first_[id - 1]);
  }

  /// Returns: the number of stacks, which is the largest id.
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(first_.size() - 1); }

  /// Returns: the id of the new stack.
  std::uint32_t add(std::span<const std::uint64_t> frames) {
    frames_.insert(frames_.end(), frames.begin(), frames.end());
    first_.push_back(frames_.size());
    return size();
  }

private:
  std::vector<std::uint64_t> frames_;
  std::vector<std::size_t> first_{0};  // stack i is frames_[first_[i-1] .. first_[i])
};

/// The names of spans and threads, by id. Ids count from 1; 0 and unknown ids have the empty name.
class name_table {
public:
  [[nodiscard]] std::string_view operator[](std::uint64_t id) const noexcept {
    if (id == 0 || id > names_.size()) return {};
    return names_[static_cast<std::size_t>(id - 1)];
  }

  /// Returns: the number of names, which is the largest id.
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(names_.size()); }

  /// Returns: the id of the new name.
  std::uint32_t add(std::string name) {
    names_.push_back(std::move(name));
    return size();
  }

private:
  std::vector<std::string> names_;
};

/// Returns: the module that contains `address`, the last one mapped if there were several, or null.
[[nodiscard]] inline const mapped_module* find_module(std::span<const mapped_module> modules,
                                                      std::uint64_t address) noexcept {
  const auto holds = [address](const mapped_module& m) { return m.begin <= address && address < m.end; };
  const auto found = std::find_if(modules.rbegin(), modules.rend(), holds);
  return found == modules.rend() ? nullptr : &*found;
}

}  // namespace ashlar::ASHLAR_ABI::trace
