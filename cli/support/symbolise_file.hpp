// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The names of the addresses in one file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <elfutils/libdwfl.h>

#include "cli/support/symbolise_inlined.hpp"
#include "cli/support/symbolise_place.hpp"
#include "cli/support/symbolise_symbols.hpp"
#include "cli/support/symbolise_units.hpp"

namespace ashlar::cli {

/// Reads the file's tables when the first address is looked up. Thread safety: one thread at a time.
class named_file {
public:
  /// `build_id` is the recorded one; empty if it is unknown.
  named_file(const std::string& path, const std::string& build_id);
  named_file(const named_file&) = delete;
  named_file& operator=(const named_file&) = delete;
  ~named_file();

  /// Returns: as `symboliser::places`. Complexity: O(log n) for a new address, of symbols and of units.
  [[nodiscard]] const std::vector<source_place>& places(std::uint64_t return_address);

  /// Returns: the reason why names are missing or incomplete; empty if there is none.
  [[nodiscard]] std::string note() const;

private:
  struct tables;

  [[nodiscard]] std::vector<source_place> find(std::uint64_t address);
  /// Returns: what of the debug information cannot be read, and why; empty: all can, but perhaps files of functions.
  [[nodiscard]] std::string unread_part() const;

  std::string path_;
  std::string name_;  // without directories
  bool is_other_build_ = false;
  std::unique_ptr<tables> tables_;
  std::unordered_map<std::uint64_t, std::vector<source_place>> known_;  // by return address
};

}  // namespace ashlar::cli
