// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap that has been used for a while, and a list of its live blocks.
#pragma once

#include <cstddef>
#include <map>
#include <random>

#include <ashlar/base/resource.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "tests/support/build.hpp"

namespace ashlar_test {

template <ashlar::resource Upstream = ashlar::page_resource>
struct used_heap {
  ashlar::local_heap<Upstream> heap;
  std::map<std::byte*, std::size_t> live = {};  // as requested, by address
  std::mt19937 random = std::mt19937(7);

  void allocate(std::size_t bytes) { live[static_cast<std::byte*>(heap.allocate(bytes))] = bytes; }

  void free_some(unsigned one_in) {
    for (auto each = live.begin(); each != live.end();) {
      const auto [p, bytes] = *each;
      if (random() % one_in != 0) {
        ++each;
        continue;
      }
      random() % 2 == 0 ? heap.deallocate(p) : heap.deallocate(p, bytes);
      each = live.erase(each);
    }
  }

  // Cells of many classes, cached ones, live and recently freed spans, huge blocks.
  void use() {
    constexpr std::size_t count = is_slow ? 1500 : 6000;
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < count; ++i) allocate(random() % (i % 40 == 0 ? 30'000 : 400));
      for (std::size_t i = 0; i < 12; ++i) allocate(40'000 + random() % 300'000);
      free_some(2);
    }
    for (const std::size_t bytes : {4'300'000u, 9'000'000u, 100'000u, 48u}) allocate(bytes);
    heap.deallocate(heap.allocate(6'000'000));
    heap.deallocate(heap.allocate(48));
  }
};

}  // namespace ashlar_test
