// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A container's wrong use of its allocator, as a value and as a line of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>

namespace ashlar::ASHLAR_ABI::test {

enum class problem_kind : unsigned char {
  cross_free,          ///< freed through an allocator unequal to the allocating one
  wrong_count,         ///< freed with an `n` other than the allocation's
  wrong_alignment,     ///< freed as a type with another alignment
  wrong_type,          ///< freed through an allocator of another element type
  double_free,         ///< freed twice, the first time a short while ago
  interior_free,       ///< a pointer into a live block, not to its start
  null_free,           ///< null, which no `allocate` returns
  foreign_free,        ///< never allocated here, or freed long ago
  overrun,             ///< bytes right before or after the block were written
  written_after_free,  ///< the block was written after its free
  leak                 ///< live when its ledger ended
};

/// Returns: the problem's kind in a few words.
[[nodiscard]] constexpr std::string_view sentence_of(problem_kind kind) noexcept {
  switch (kind) {
    case problem_kind::cross_free: return "cross_free: freed through an allocator unequal to the one it came from";
    case problem_kind::wrong_count: return "wrong_count: freed with another n than it was allocated with";
    case problem_kind::wrong_alignment: return "wrong_alignment: freed as a type of another alignment";
    case problem_kind::wrong_type: return "wrong_type: freed through an allocator of another element type";
    case problem_kind::double_free: return "double_free: freed twice";
    case problem_kind::interior_free: return "interior_free: freed a pointer into the middle of a block";
    case problem_kind::null_free: return "null_free: freed null";
    case problem_kind::foreign_free: return "foreign_free: freed a pointer that was never allocated here";
    case problem_kind::overrun: return "overrun: bytes beside the block were written";
    case problem_kind::written_after_free: return "written_after_free: a freed block was written";
    case problem_kind::leak: return "leak: never freed";
  }
  return "problem";
}

/// One call of a block's life: its allocation or its free.
struct allocation_call {
  std::size_t count = 0;          ///< objects
  std::size_t element_bytes = 0;  ///< bytes of one; 0: no such call
  std::size_t alignment = 0;
  std::uint64_t allocator = 0;  ///< equal for equal allocators of one ledger
  const void* type = nullptr;   ///< equal for equal element types

  [[nodiscard]] friend bool operator==(const allocation_call&, const allocation_call&) noexcept = default;
};

struct problem {
  problem_kind kind = problem_kind::leak;
  const void* pointer = nullptr;
  allocation_call allocated = {};  ///< if the block is known
  allocation_call freed = {};      ///< if it was freed before

  [[nodiscard]] friend bool operator==(const problem&, const problem&) noexcept = default;
};

/// Returns: the problem in one line, without a line end. Allocates nothing.
[[nodiscard]] inline panic_line line_of(const problem& p) noexcept {
  panic_line line;
  const auto tell = [&line](std::string_view verb, const allocation_call& call) {
    if (call.element_bytes == 0) return;
    line.text(verb).number(call.count).text(" x ").number(call.element_bytes).text(" bytes at alignment ");
    line.number(call.alignment).text(" by allocator ").number(call.allocator);
  };
  line.text("ashlar: ").text(sentence_of(p.kind)).text(", pointer ").address(p.pointer);
  tell(", allocated ", p.allocated);
  tell(", freed ", p.freed);
  return line;
}

/// Returns: the problem in one line.
[[nodiscard]] inline std::string describe(const problem& p) { return std::string(line_of(p).view()); }

/// For test frameworks that print the values they compare.
inline std::ostream& operator<<(std::ostream& out, const problem& p) { return out << line_of(p).view(); }

}  // namespace ashlar::ASHLAR_ABI::test
