// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policies for a pool without free objects: an exception, or a null pointer.
#pragma once

#include <concepts>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI {

/// Policy, the default: throws `std::bad_alloc`, or as the upstream.
struct throw_when_exhausted {
  static constexpr bool throws = true;
};

/// Policy: returns a null pointer or handle.
struct null_when_exhausted {
  static constexpr bool throws = false;
};

namespace policy {

template <class E>
concept exhaustion = requires {
  { E::throws } -> std::convertible_to<bool>;
};

}  // namespace policy

static_assert(policy::exhaustion<throw_when_exhausted> && policy::exhaustion<null_when_exhausted>);

}  // namespace ashlar::ASHLAR_ABI
