// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operators new and delete by which the standard defines all others, and which of them the program has replaced.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/base/config.hpp>

namespace ashlar::drop_in {

[[nodiscard]] constexpr std::size_t value_of(std::align_val_t alignment) noexcept {
  return static_cast<std::size_t>(alignment);
}

/// @{ The forms of this library, under names that no program replaces; `deallocate_by_free` is the delete for them.
ASHLAR_OF_THIS_LIBRARY void* new_of_library(std::size_t bytes);
ASHLAR_OF_THIS_LIBRARY void* new_aligned_of_library(std::size_t bytes, std::align_val_t alignment);
ASHLAR_OF_THIS_LIBRARY void* new_array_of_library(std::size_t bytes);
ASHLAR_OF_THIS_LIBRARY void delete_aligned_of_library(void* p, std::align_val_t alignment) noexcept;
ASHLAR_OF_THIS_LIBRARY void delete_array_of_library(void* p) noexcept;
/// @}

/// The forms that this library serves, and no other part of the program.
struct served {
  bool has_new = false;     ///< new(bytes)
  bool has_delete = false;  ///< delete(p)
  bool has_all = false;     ///< all that make a block: each has the size that a sized delete is called with
  bool has_free = false;    ///< free
};
extern constinit ASHLAR_OF_THIS_LIBRARY served served_forms;

/// Effects: sets `served_forms`. Complexity: compares addresses that the loader has written.
ASHLAR_OF_THIS_LIBRARY void look_for_replaced_forms() noexcept;

/// Effects: calls the new_handler of the program. Returns: false if there is none. Throws: as the handler.
[[nodiscard]] bool call_new_handler();

/// Throws: `std::bad_alloc`, as the C++ library of the program. Without such a library the process ends with a message.
[[noreturn]] void throw_bad_alloc();

/// Returns: a function of the C++ library that the program has opened after its start, which then stays loaded; null
/// without such a library.
[[nodiscard]] void* find_in_late_library(const char* name) noexcept;

}  // namespace ashlar::drop_in
