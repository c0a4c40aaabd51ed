// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns the addresses of a recorded program into functions and source lines, by libdw.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/base/trace_tables.hpp>

#include "cli/support/symbolise_place.hpp"

namespace ashlar::cli {

class named_file;

/// Names each address of each file once, whichever trace has it. Thread safety: one thread at a time.
class symboliser {
public:
  symboliser();
  symboliser(const symboliser&) = delete;
  symboliser& operator=(const symboliser&) = delete;
  ~symboliser();

  /// Returns: the place of the call that returns to `return_address`, which is one in the file `path`, and those of the
  /// calls in which it is inlined, innermost first; one at least. The last one has the function of the symbol table.
  /// They last as long as the symboliser. A file of another build than `build_id`, which may be empty, has no names.
  [[nodiscard]] const std::vector<source_place>& places(const std::string& path, const std::string& build_id,
                                                        std::uint64_t return_address);

  /// Returns: the places of a stack, innermost first, inlined calls too, without those of `is_library_place` in front,
  /// unless all are: the first one is the program's request.
  [[nodiscard]] std::vector<const source_place*> calls(std::span<const std::uint64_t> frames,
                                                       std::span<const trace::mapped_module> modules);

  /// Returns: for each file whose names are missing or incomplete a line that tells why; none without debug information
  /// is such a file.
  [[nodiscard]] std::vector<std::string> notes() const;

private:
  std::map<std::pair<std::string, std::string>, std::unique_ptr<named_file>> files_;  // by path and build id
};

}  // namespace ashlar::cli
