// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the caller's frame is found from a return address: compiled from the unwind tables of the program, once for each
// address. Programs of x86-64 alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashlar::recorder {

enum class frame_base : std::uint8_t { unknown, stack_pointer, frame_pointer, none };

/// The canonical frame address (CFA) of a function at one address of its code. The return address lies in the 8 bytes
/// below it. `none`: the function has no caller.
struct frame_rule {
  std::int32_t offset = 0;       ///< From the base to the CFA, in bytes.
  std::int16_t saved_words = 0;  ///< The caller's frame pointer lies this many words below the CFA; 0: in its register.
  frame_base base = frame_base::unknown;

  friend bool operator==(const frame_rule&, const frame_rule&) = default;
};

/// The unwind tables of a loaded file: its .eh_frame_hdr, within [begin, end).
struct unwind_tables {
  const std::byte* header = nullptr;
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};

/// Returns: the rule at a return address; `unknown` for one that has no table, or a rule by a DWARF expression or
/// another register, as code has that realigns its stack. Method: the call frame instructions of DWARF 5,
/// section 6.4.2, up to the call. Complexity: O(log functions + instructions). Neither allocates nor locks.
[[nodiscard]] frame_rule compile_rule(const unwind_tables& of, std::uint64_t return_address) noexcept;

}  // namespace ashlar::recorder
