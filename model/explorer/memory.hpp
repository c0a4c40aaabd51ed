// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory model of the explorer: the writes to each atomic, their order, and those that each thread may still read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "knowledge.hpp"

namespace explorer {

/// One write to an atomic. An acquiring read of it receives `message`, if it has one.
struct write {
  std::uint64_t value = 0;
  std::uint64_t identity = 0;  // event of its thread; the same in every execution with the same past
  number place = 0;            // in the modification order
  bool is_update = false;      // a read-modify-write: no write comes between it and the write it read
  bool has_message = false;
  knowledge message{};
};

/// One atomic: its writes by number, and their modification order, which is no order of time: a write may come before
/// one that another thread made earlier, unless the writer knows of it.
class location {
public:
  void reset(std::uint64_t value, std::uint64_t identity);

  [[nodiscard]] const write& at(number n) const { return writes_[n]; }
  [[nodiscard]] std::size_t size() const { return order_.size(); }
  /// Returns: the number of the write at a place of the modification order.
  [[nodiscard]] number in_place(std::size_t place) const { return order_[place]; }
  /// Returns: whether a read-modify-write has read this write; a second one must not.
  [[nodiscard]] bool is_updated(number n) const;
  [[nodiscard]] number newer(number a, number b) const { return at(a).place < at(b).place ? b : a; }

  /// Effects: adds a write right after the one at `place`. Returns: its number.
  number insert_after(std::size_t place, const write& added);
  void set_message(number n, const knowledge& message) { writes_[n].message = message; }

  /// Returns: a fingerprint of the modification order.
  [[nodiscard]] std::uint64_t fingerprint() const;

private:
  std::vector<write> writes_;
  std::vector<number> order_;
};

/// Mixes a number into a fingerprint.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t h, std::uint64_t n) {
  h ^= n + 0x9e3779b97f4a7c15U + (h << 6U) + (h >> 2U);
  h *= 0xff51afd7ed558ccdU;
  return h ^ (h >> 33U);
}

}  // namespace explorer
