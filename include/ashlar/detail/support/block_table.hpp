// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values by index, in blocks that stay where they are: a table that grows copies none of them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Complexity: O(1). Memory: 4,096 values a block.
template <class T>
class block_table {
public:
  /// Returns: the value at `index`. Expects: `reach(index)` was called.
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return blocks_[index / block][index % block]; }
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return blocks_[index / block][index % block]; }

  /// Effects: grows the table by new values, so that `index` is in it.
  void reach(std::size_t index) {
    while (index >= size()) blocks_.push_back(std::make_unique<T[]>(block));
  }

  [[nodiscard]] std::size_t size() const noexcept { return blocks_.size() * block; }

private:
  static constexpr std::size_t block = 4096;

  std::vector<std::unique_ptr<T[]>> blocks_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
