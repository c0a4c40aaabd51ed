// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texts of programs as texts of a file.
#include <nlohmann/json.hpp>

#include "cli/export/formats.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

std::string json_text(const std::string& text) { return nlohmann::json(text).dump(); }

std::string clean_text(const std::string& text) {
  using nlohmann::json;
  return printable(json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>());
}

}  // namespace ashlar::cli
