// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scope in which a thread works for an object, which learns of calls that its own work makes.
#pragma once

#include <utility>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The objects of type `T` that work on this thread, innermost first, for one that its own work may call again.
template <class T>
class work_scope {
public:
  explicit work_scope(const T* object) noexcept : object_(object), outer_(std::exchange(innermost_, this)) {}
  work_scope(const work_scope&) = delete;
  work_scope& operator=(const work_scope&) = delete;
  ~work_scope() { innermost_ = outer_; }

  [[nodiscard]] static bool is_within(const T* object) noexcept {
    const work_scope* scope = innermost_;
    while (scope != nullptr && scope->object_ != object) scope = scope->outer_;
    return scope != nullptr;
  }

private:
  static inline constinit thread_local const work_scope* innermost_ = nullptr;

  const T* object_;
  const work_scope* outer_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
