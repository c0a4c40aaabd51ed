// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The faults that the faulty malloc can have, one at a time, by the variable ASHLAR_TEST_FAULT.
#pragma once

#include <cstdint>

namespace faulty {

constexpr std::uint64_t hash_of(const char* name) noexcept {
  std::uint64_t hash = 1;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100'0000'01B3;
  return hash;
}

/// A fault by its name. Each breaks the rule that its line of CMakeLists.txt names: a name without a fault breaks none,
/// and so fails its test.
struct fault {
  std::uint64_t hash;
  consteval explicit(false) fault(const char* name) : hash{hash_of(name)} {}
};

/// Returns: the hash of the fault of this process; 0: none.
std::uint64_t present() noexcept;

inline bool has(fault wanted) noexcept { return present() == wanted.hash; }

}  // namespace faulty
