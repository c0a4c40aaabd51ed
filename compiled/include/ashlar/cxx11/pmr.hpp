// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// std::pmr resources, for C++17; empty in an older standard.
#pragma once

#include <ashlar/cxx11/config.hpp>

#if __cplusplus >= 201703L || (defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#include <cstddef>
#include <memory_resource>

#include <ashlar/cxx11/arena.hpp>
#include <ashlar/cxx11/heap.hpp>

namespace ashlar {
namespace cxx11 {
inline namespace ASHLAR_CORE_ABI {

/// An arena, as `std::pmr::monotonic_buffer_resource` is. Thread safety: none.
class arena_resource final : public std::pmr::memory_resource {
public:
  arena_resource() = default;
  explicit arena_resource(std::size_t initial_bytes) : arena_(initial_bytes) {}

  arena& memory() noexcept { return arena_; }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override { return arena_.allocate(bytes, alignment); }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  arena arena_;
};

/// The heap of the process. Thread safety: any thread.
class heap_resource final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return process_heap::allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    process_heap::deallocate(p, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace ASHLAR_CORE_ABI
}  // namespace cxx11
}  // namespace ashlar
#endif
