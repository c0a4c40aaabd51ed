// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects that record the order of their construction and destruction, and throw from the constructor on demand.
#pragma once

#include <cstddef>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar_test {

/// Thrown by a constructor on demand.
struct refused_to_be {};

/// Notes its number, counting from 0 since `start`. One thread uses it.
class witness {
public:
  static constexpr std::size_t never = static_cast<std::size_t>(-1);

  /// Effects: forgets everything; only the constructor of object `throw_at` will throw.
  static void start(std::size_t throw_at = never) {
    made_ = 0;
    throw_at_ = throw_at;
    destroyed_.clear();
  }

  explicit witness(int value_to_keep = 0) : value(value_to_keep), number_(made_) {
    if (made_ == throw_at_) ASHLAR_THROW(refused_to_be());
    ++made_;
  }
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;
  ~witness() { destroyed_.push_back(number_); }

  [[nodiscard]] static std::size_t made() { return made_; }
  [[nodiscard]] static std::size_t live() { return made_ - destroyed_.size(); }
  /// Returns: the numbers of the destroyed objects, in order.
  [[nodiscard]] static const std::vector<std::size_t>& destroyed() { return destroyed_; }
  /// Returns: whether the made objects were destroyed once each, in reverse order.
  [[nodiscard]] static bool all_destroyed_in_reverse() {
    if (destroyed_.size() != made_) return false;
    for (std::size_t i = 0; i < made_; ++i)
      if (destroyed_[i] != made_ - 1 - i) return false;
    return true;
  }

  int value;

private:
  std::size_t number_;
  static inline std::size_t made_ = 0;
  static inline std::size_t throw_at_ = never;
  static inline std::vector<std::size_t> destroyed_;
};

}  // namespace ashlar_test
