// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The destination of a logging adaptor's lines: the error stream, a file descriptor, a function.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/os/descriptor.hpp>

namespace ashlar::ASHLAR_ABI {

namespace policy {

/// `s.write(line)` gets one whole line with its newline; it neither throws nor allocates from the logged resource.
/// `S::is_thread_safe` tells whether threads may write at once.
template <class S>
concept log_sink = requires(S& s, std::string_view line) {
  { s.write(line) } noexcept;
  { S::is_thread_safe } -> std::convertible_to<bool>;
};

}  // namespace policy

/// The error stream: one write a line. Empty.
struct error_log {
  static constexpr bool is_thread_safe = true;  // the system keeps single writes apart
  static void write(std::string_view line) noexcept { detail::write_error(line); }
};

/// A file descriptor, which its owner closes. Lines of several threads stay whole if the system keeps single writes
/// apart: on pipes, and on files opened for appending. A line that cannot be written is lost, and the program goes on.
class descriptor_log {
public:
  static constexpr bool is_thread_safe = true;

  /// `name` begins each line, to tell resources apart; it outlives the sink.
  explicit descriptor_log(int descriptor, std::string_view name = {}) noexcept : descriptor_(descriptor), name_(name) {}

  void write(std::string_view line) const noexcept {
    if (name_.empty()) {
      detail::write_all(descriptor_, line);
      return;
    }
    panic_line named;
    const std::size_t room = panic_line::capacity - std::min(line.size() + 1, panic_line::capacity);
    detail::write_all(
        descriptor_,
        named.text(name_.substr(0, room)).text(" ").text(line).view());  // a long name is cut, not the line
  }

private:
  int descriptor_;
  std::string_view name_;
};

/// A function chosen at run time. `is_thread_safe` is false: the function may not be.
class function_log {
public:
  using function = void (*)(std::string_view line, void* context) noexcept;
  static constexpr bool is_thread_safe = false;

  explicit function_log(function f, void* context = nullptr) noexcept : function_(f), context_(context) {}
  void write(std::string_view line) const noexcept { function_(line, context_); }

private:
  function function_;
  void* context_;
};

static_assert(policy::log_sink<error_log> && policy::log_sink<descriptor_log> && policy::log_sink<function_log>);

}  // namespace ashlar::ASHLAR_ABI
