// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An upstream that uses the pool above it, as a new_handler does that frees objects of the program.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "tests/support/counting_resource.hpp"

namespace ashlar_test {

struct meddling_resource {
  std::function<void()> meddle;  ///< called by the next allocation, once
  counting_resource<> upstream;

  void* allocate(std::size_t bytes, std::size_t alignment) {
    if (meddle) std::exchange(meddle, nullptr)();
    return upstream.allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    upstream.deallocate(p, bytes, alignment);
  }
  bool operator==(const meddling_resource& other) const noexcept { return this == &other; }
};

}  // namespace ashlar_test
