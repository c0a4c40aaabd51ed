// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: records come from operator new, which the checker observes.
#pragma once

#include <new>
#include <utility>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

template <class Record>
struct thread_records {
  template <class... Args>
  [[nodiscard]] static Record* try_make(Args&&... args) noexcept {
    return new (std::nothrow) Record(std::forward<Args>(args)...);
  }
  static void end(Record* leaving) noexcept { delete leaving; }
};

}  // namespace ashlar::ASHLAR_ABI::detail
