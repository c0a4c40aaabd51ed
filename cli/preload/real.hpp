// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions that a program calls without the recorder, the memory that serves until they are found, and memory past
// any malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashlar::recorder {

/// The next definitions after ours in the program's search order: the C library's, or another allocator's.
struct real_functions {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  std::size_t (*malloc_usable_size)(void*);
};

/// Until the first call, each of these looks all of them up and then serves the request. dlsym itself may allocate:
/// requests during the search get memory from a small static arena.
extern real_functions real;

inline constexpr std::size_t bootstrap_bytes = 64 * 1024;
extern std::byte bootstrap_arena[bootstrap_bytes];

[[nodiscard]] inline bool in_bootstrap(const void* p) noexcept {
  return reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(&bootstrap_arena[0]) < bootstrap_bytes;
}

/// Returns: the bytes of a block of the arena.
[[nodiscard]] std::size_t bootstrap_size(const void* p) noexcept;

/// Returns: `bytes` of fresh zeroed memory from the system, or null.
[[nodiscard]] void* map_memory(std::size_t bytes) noexcept;

/// Returns: the next definition of any symbol after ours, or null.
[[nodiscard]] void* next_definition(const char* name) noexcept;

}  // namespace ashlar::recorder
