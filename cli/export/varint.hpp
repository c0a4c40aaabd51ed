// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of seven bits a byte, of which protocol buffers and Thrift's compact protocol are made.
#pragma once

#include <cstdint>
#include <string>

namespace ashlar::cli {

inline void append_varint(std::string& to, std::uint64_t value) {
  for (; value >= 128; value >>= 7) to.push_back(static_cast<char>(value | 128));
  to.push_back(static_cast<char>(value));
}

}  // namespace ashlar::cli
