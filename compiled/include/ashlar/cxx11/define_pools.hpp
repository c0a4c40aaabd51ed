// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Defines the calls of pools, in a source that is compiled as C++20: see pool.hpp.
#pragma once

#include <cstddef>

#include <ashlar/cxx11/pool.hpp>
#include <ashlar/face/pool_allocator.hpp>

namespace ashlar::cxx11 {
inline namespace ASHLAR_CORE_ABI {

template <std::size_t CellBytes, std::size_t CellAlignment>
using process_pool = ashlar::detail::process_pool<CellBytes, CellAlignment, thread_cached>;

template <std::size_t CellBytes, std::size_t CellAlignment>
void* ASHLAR_CORE_POOL<CellBytes, CellAlignment>::allocate() {
  return process_pool<CellBytes, CellAlignment>::allocate();
}

template <std::size_t CellBytes, std::size_t CellAlignment>
void ASHLAR_CORE_POOL<CellBytes, CellAlignment>::deallocate(void* cell) noexcept {
  process_pool<CellBytes, CellAlignment>::deallocate(cell);
}

template <std::size_t CellBytes, std::size_t CellAlignment>
void ASHLAR_CORE_POOL<CellBytes, CellAlignment>::flush() noexcept {
  process_pool<CellBytes, CellAlignment>::flush();
}

template <std::size_t CellBytes, std::size_t CellAlignment>
std::size_t ASHLAR_CORE_POOL<CellBytes, CellAlignment>::held_bytes() noexcept {
  return process_pool<CellBytes, CellAlignment>::with_pool([](auto& pool) { return pool.held_bytes(); });
}

}  // namespace ASHLAR_CORE_ABI
}  // namespace ashlar::cxx11

/// Defines the pool of cells of this size and alignment, outside of namespaces.
#define ASHLAR_CORE_POOL(bytes, alignment) template struct ashlar::cxx11::ASHLAR_CORE_POOL<bytes, alignment>
