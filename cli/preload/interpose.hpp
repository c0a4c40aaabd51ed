// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The common part of the files that define other libraries' names.
#pragma once

#include <atomic>

#include "cli/preload/real.hpp"
#include "cli/preload/recorder.hpp"
#include "malloc/export.hpp"

namespace ashlar::recorder {

/// A function that follows ours in the search order, looked up at its first use.
template <class Function>
class next_symbol {
public:
  constexpr explicit next_symbol(const char* name) noexcept : name_(name) {}

  [[nodiscard]] const char* name() const noexcept { return name_; }

  /// Returns: the function, or null if there is none now.
  [[nodiscard]] Function get() noexcept {
    void* found = found_.load(std::memory_order_acquire);
    if (found == nullptr) {
      const inside_recorder inside;
      found = next_definition(name_);
      found_.store(found, std::memory_order_release);
    }
    return reinterpret_cast<Function>(found);
  }

private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace ashlar::recorder
