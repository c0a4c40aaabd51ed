// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a file at once, and reports the error of its end too.
#include "cli/support/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <nlohmann/json.hpp>

namespace ashlar::cli {

void write_text(const std::string& path, const std::string& text) {
  const bool to_stdout = path == "-";
  const auto close = [to_stdout](std::FILE* f) { return to_stdout ? std::fflush(f) : std::fclose(f); };
  std::FILE* file = to_stdout ? stdout : std::fopen(path.c_str(), "w");
  if (file == nullptr) throw std::runtime_error(path + ": " + std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (close(file) != 0 || !written) throw std::runtime_error(path + ": " + std::strerror(errno));
}

void write_json(const std::string& path, const nlohmann::json& value) {
  write_text(path, value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  return std::filesystem::equivalent(a, b, none);
}

}  // namespace ashlar::cli
