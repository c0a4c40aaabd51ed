// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reason and the place of a failure to read or write a trace: a value, never an exception.
#pragma once

#include <ashlar/base/config.hpp>

#include <cstdint>
#include <string>

namespace ashlar::ASHLAR_ABI::trace {

struct trace_error {
  std::uint64_t offset = 0;  ///< Offset in the file at which the damage shows; 0 if the file cannot be opened.
  std::string message;       ///< One line, no full stop, without the file's name.

  friend bool operator==(const trace_error&, const trace_error&) = default;
};

}  // namespace ashlar::ASHLAR_ABI::trace
