// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a file at once, and reports the error of its end too.
#include "cli/support/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <stdio_ext.h>
#include <unistd.h>

namespace ashlar::cli {

namespace {

[[noreturn]] void fail_at(const std::string& name) { throw std::runtime_error(name + ": " + std::strerror(errno)); }

/// Another flush would report the same error again.
void forget_unwritten(std::FILE* file) {
  ::__fpurge(file);
  std::clearerr(file);
}

}  // namespace

void write_text(const std::string& path, const std::string& text) {
  const bool to_stdout = path == "-";
  const auto close = [to_stdout](std::FILE* f) { return to_stdout ? std::fflush(f) : std::fclose(f); };
  std::FILE* file = to_stdout ? stdout : std::fopen(path.c_str(), "w");
  const std::string name = to_stdout ? "standard output" : path;
  if (file == nullptr) fail_at(name);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (close(file) == 0 && written) return;
  const int error = errno;
  if (to_stdout) forget_unwritten(stdout);
  errno = error;
  fail_at(name);
}

void write_json(const std::string& path, const nlohmann::json& value) {
  write_text(path, value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void expect_writable(const std::string& path) {
  if (path == "-") return;
  namespace fs = std::filesystem;
  std::error_code none;
  const bool is_new = fs::symlink_status(path, none).type() == fs::file_type::not_found;
  const fs::file_type type = fs::status(path, none).type();
  if (!is_new && type != fs::file_type::regular && type != fs::file_type::directory) {
    // A reader at the other end of a pipe would see its end.
    if (type != fs::file_type::not_found && ::access(path.c_str(), W_OK) != 0) fail_at(path);
    return;
  }
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0), 0666);
  if (descriptor < 0) fail_at(path);
  ::close(descriptor);
  if (is_new) ::unlink(path.c_str());
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  return std::filesystem::equivalent(a, b, none);
}

bool is_same_output(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-") return a == b;
  std::error_code none;
  return is_same_file(a, b) || std::filesystem::weakly_canonical(a, none) == std::filesystem::weakly_canonical(b, none);
}

void expect_other_file(const std::string& output, const std::string& input, const std::string& role) {
  if (output.empty() || output == "-" || input.empty() || !is_same_output(output, input)) return;
  throw std::runtime_error(output + " is the " + role + " itself: nothing was written");
}

}  // namespace ashlar::cli
