// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One flat JSON object, written member by member: the output of a bench process.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace bench {

// Expects: texts hold no quote, backslash or control character (peer names and file names do not).
class json_object {
public:
  json_object& text(std::string_view key, std::string_view value) {
    return raw(key, std::string("\"").append(value).append("\""));
  }

  json_object& count(std::string_view key, std::uint64_t value) { return raw(key, std::to_string(value)); }

  json_object& flag(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }

  json_object& number(std::string_view key, double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.4f", value);
    return raw(key, digits);
  }

  json_object& raw(std::string_view key, std::string_view value) {
    members_.append(members_.empty() ? "\"" : ", \"").append(key).append("\": ").append(value);
    return *this;
  }

  std::string str() const { return "{" + members_ + "}"; }

private:
  std::string members_;
};

class json_array {
public:
  json_array& add(std::string_view element) {
    elements_.append(elements_.empty() ? "" : ", ").append(element);
    return *this;
  }

  std::string str() const { return "[" + elements_ + "]"; }

private:
  std::string elements_;
};

}  // namespace bench
