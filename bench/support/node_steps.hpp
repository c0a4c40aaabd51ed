// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of the classic node-container benchmark: append, erase every n-th, sum.
#pragma once

#include <cstdint>

namespace bench {

template <class Container>
void append(Container& values, int first, int count) {
  for (int value = first; value != first + count; ++value) {
    if constexpr (requires { values.push_back(value); }) values.push_back(value);
    else values.insert(value);
  }
}

// Returns: the sum of the erased values.
template <class Container>
std::uint64_t erase_every(Container& values, int stride) {
  std::uint64_t sum = 0;
  int left = stride;
  for (auto at = values.begin(); at != values.end();) {
    if (--left != 0) {
      ++at;
      continue;
    }
    left = stride;
    sum += static_cast<unsigned>(*at);
    at = values.erase(at);
  }
  return sum;
}

template <class Container>
std::uint64_t sum_of(const Container& values) {
  std::uint64_t sum = 0;
  for (const auto& value : values) sum += static_cast<std::uint64_t>(value);
  return sum;
}

}  // namespace bench
