// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resources of a host that a library is the first to use: what it makes in them stays after it is closed. The host and
// the library have functions of their own.
#pragma once

#include <array>
#include <cstddef>

#include <ashlar/adaptor/chain.hpp>
#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

namespace ashlar_test {

struct some_pool : ashlar::synchronized<ashlar::block_pool<>> {
  some_pool() : synchronized(ashlar::block_pool_options{.cell_bytes = 64}) {}
};

struct some_shared_pool : ashlar::shared_block_pool<> {
  some_shared_pool() : shared_block_pool({.cell_bytes = 64}) {}
};

struct first_used {
  struct object {
    std::array<std::byte, 40> bytes;
  };
  ashlar::heap<> heap;
  ashlar::ref_pool<object, ashlar::any_thread<>> counted;
  ashlar::ref_pool<object, ashlar::one_thread> counted_by_one;
  ashlar::object_pool<object> objects;
  ashlar::shared_pool_set<> sizes;
  ashlar::shared_block_pool<> cells{{.cell_bytes = 64}};
  some_pool locked;
  ashlar::chain<some_pool> chained;
  ashlar::chain<some_shared_pool> chained_shared;

  /// Effects: takes and gives back in each, also memory of the upstream. From level `checked` on only in the heap:
  /// slabs that a library has made are registered there.
  void use() {
    for (const std::size_t bytes : {64U, 3000U, 100'000U, 5'000'000U}) use(heap, bytes);
    static_cast<void>(heap.trim());
    if constexpr (ashlar::checking_level < ashlar::checking::checked) use_pools();
  }

private:
  void use_pools() {
    for (const std::size_t bytes : {64U, 3000U}) use(sizes, bytes);
    use(cells, 64), use(locked, 64), use(chained, 64), use(chained_shared, 64);
    for (int i = 0; i < 100; ++i) {
      const auto one = counted.make();
      const auto other = counted_by_one.make();
      const auto mine = objects.make();
    }
  }

  template <class R>
  static void use(R& all, std::size_t bytes) {
    std::array<void*, 20> blocks;
    for (void*& each : blocks) each = all.allocate(bytes, 8);
    for (void* const each : blocks) all.deallocate(each, bytes, 8);
  }
};

}  // namespace ashlar_test
