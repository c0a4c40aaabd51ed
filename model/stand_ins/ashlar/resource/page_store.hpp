// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: only a name, since the models have their own memory.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

template <class>
class basic_page_store {
public:
  static constexpr bool is_thread_safe = true;

  void* allocate(std::size_t, std::size_t) { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
  friend bool operator==(const basic_page_store&, const basic_page_store&) { return true; }
};

}  // namespace ashlar::ASHLAR_ABI
