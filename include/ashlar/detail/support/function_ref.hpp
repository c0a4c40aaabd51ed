// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A reference to a function object, so that long code that calls it exists once for all types of them.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Calls a function object of any type with `Args`. Expects: the object outlives the reference. Throws: what the object
/// throws. Complexity: an indirect call.
template <class... Args>
class function_ref {
public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, function_ref> && std::invocable<F&, Args...>)
  function_ref(F&& f) noexcept
      : of_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))), call_([](void* of, Args... args) {
          static_cast<void>((*static_cast<std::remove_reference_t<F>*>(of))(args...));
        }) {}

  void operator()(Args... args) const { call_(of_, args...); }

private:
  void* of_;
  void (*call_)(void* of, Args... args);
};

}  // namespace ashlar::ASHLAR_ABI::detail
