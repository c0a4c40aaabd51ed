// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A resource with all refinements, over the heap.
#pragma once

#include <cstddef>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace ashlar_test {

/// Grants 1000 bytes for any request: so it knows its sizes, and grows blocks in place.
struct roomy : ashlar::new_delete_resource {
  using new_delete_resource::deallocate;
  void* allocate(std::size_t bytes, std::size_t alignment) {
    return ashlar::allocate_or_throw(*this, bytes, alignment);
  }
  void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return bytes <= 1000 ? new_delete_resource::try_allocate(1000, alignment) : nullptr;
  }
  ashlar::block allocate_at_least(std::size_t bytes, std::size_t alignment) {
    return {allocate(bytes, alignment), 1000};
  }
  void deallocate(void* p, std::size_t, std::size_t alignment) noexcept {
    new_delete_resource::deallocate(p, 1000, alignment);
  }
  void deallocate(void* p) noexcept { deallocate(p, 1000, 8); }
  bool try_expand(void*, std::size_t, std::size_t new_bytes, std::size_t) noexcept { return new_bytes <= 1000; }
};

static_assert(ashlar::self_describing_resource<roomy> && ashlar::at_least_resource<roomy> &&
              ashlar::expanding_resource<roomy> && ashlar::try_resource<roomy>);

}  // namespace ashlar_test
