// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lifetime policy of a pool of objects: the time of construction, and the state of an object between two users.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI {

/// Policy, the default: `acquire` constructs an object, `release` destroys it.
struct construct_on_acquire {
  static constexpr bool keeps = false;
};

/// Reset, the default: an object stays as it was released.
struct no_reset {
  template <class T>
  void operator()(T&) const noexcept {}
};

/// Reset: calls a member function of the object, as in `reset_with<&message::clear>`.
template <auto Member>
struct reset_with {
  template <class T>
  void operator()(T& object) const noexcept(noexcept((object.*Member)())) {
    (object.*Member)();
  }
};

/// Policy: the first `acquire` of a slot constructs its object; `release` calls `reset(object)` and keeps the object.
/// Later acquisitions of the slot return it as `reset` left it, and ignore their arguments. Kept objects are destroyed
/// when their memory goes back. `Reset` is a noexcept callable for a `T&`.
template <class Reset = no_reset>
struct keep_constructed {
  static constexpr bool keeps = true;
  using reset_type = Reset;

  constexpr keep_constructed()
    requires std::default_initializable<Reset>
      : reset() {}
  constexpr explicit keep_constructed(Reset r) noexcept(std::is_nothrow_move_constructible_v<Reset>)
      : reset(std::move(r)) {}

  ASHLAR_NO_UNIQUE_ADDRESS Reset reset;
};

namespace policy {

/// Either of the two policies.
template <class L>
concept lifetime = requires {
  { L::keeps } -> std::convertible_to<bool>;
};

}  // namespace policy

static_assert(policy::lifetime<construct_on_acquire> && policy::lifetime<keep_constructed<>>);

}  // namespace ashlar::ASHLAR_ABI
