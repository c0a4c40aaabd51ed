// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads JSON without blanks, strictly, into one value for each path: {"a":[{"b":1}]} is a.0.b = 1.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace ashlar_test {

class json {
public:
  explicit json(std::string_view text) : rest_(text) { is_valid_ = value("") && rest_.empty(); }

  [[nodiscard]] bool is_valid() const { return is_valid_; }
  [[nodiscard]] bool has(const std::string& path) const { return values_.count(path) != 0; }
  /// Returns: a string without its quotes and with its escapes unchanged, or a number or word as written.
  [[nodiscard]] std::string text(const std::string& path) const { return has(path) ? values_.at(path) : "nothing"; }
  [[nodiscard]] unsigned long long number(const std::string& path) const {
    return has(path) ? std::strtoull(values_.at(path).c_str(), nullptr, 10) : ~0ull;
  }
  /// Returns: the number of values in an array or object.
  [[nodiscard]] std::size_t size(const std::string& path) const { return sizes_.count(path) ? sizes_.at(path) : 0; }

private:
  bool take(std::string_view words) {
    if (rest_.substr(0, words.size()) != words) return false;
    rest_.remove_prefix(words.size());
    return true;
  }

  bool value(const std::string& path) {
    if (take("{")) return members(path, "}", true);
    if (take("[")) return members(path, "]", false);
    std::string& found = values_[path];
    if (take("\"")) return string(found);
    for (const char* const word : {"true", "false", "null"})
      if (take(word)) return found = word, true;
    return number_into(found);
  }

  bool members(const std::string& path, std::string_view end, bool has_names) {
    std::size_t& size = sizes_[path];
    if (take(end)) return true;
    do {
      std::string name = std::to_string(size);
      if (has_names && !(name.clear(), take("\"") && string(name) && take(":"))) return false;
      const std::string inner = path.empty() ? name : path + "." + name;
      if (values_.count(inner) != 0 || sizes_.count(inner) != 0 || !value(inner)) return false;  // no name twice
      ++size;
    } while (take(","));
    return take(end);
  }

  bool string(std::string& into) {
    while (!rest_.empty() && rest_[0] != '"') {
      if (static_cast<unsigned char>(rest_[0]) < 0x20) return false;
      const std::size_t length = rest_[0] != '\\' ? 1 : rest_.substr(1, 1) == "u" ? 6 : 2;
      if (rest_.size() < length) return false;
      if (length == 2 && std::string_view("\"\\/bfnrt").find(rest_[1]) == std::string_view::npos) return false;
      if (length == 6 && rest_.substr(2, 4).find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
        return false;
      into += rest_.substr(0, length);
      rest_.remove_prefix(length);
    }
    return take("\"");
  }

  // Integers: the tested writers write no others.
  bool number_into(std::string& into) {
    if (take("-")) into = "-";
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (digits == 0 || (digits > 1 && rest_[0] == '0')) return false;
    into += rest_.substr(0, digits);
    rest_.remove_prefix(digits);
    return true;
  }

  std::string_view rest_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::size_t> sizes_;
  bool is_valid_ = false;
};

}  // namespace ashlar_test
