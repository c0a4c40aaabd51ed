// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What JSON that comes from hands must not have.
#pragma once

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/support/table_units.hpp"

namespace ashlar::cli {

/// For the parser: refuses a member that stands twice in one object, since one of the two would be lost, and a nesting
/// that is deeper than a function that calls itself for each level can follow. Throws: `std::runtime_error` with the
/// reason.
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
