// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The link from a small object back to its resource: one pointer, or nothing for a resource without state.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A resource without bytes, of which any two objects are interchangeable.
template <class R>
concept stateless_resource =
    resource<R> && std::is_empty_v<R> && std::is_trivially_copyable_v<R> && std::is_nothrow_default_constructible_v<R>;

/// The link to a resource, which outlives it: one pointer, null in a default one.
template <resource R>
class resource_link {
public:
  constexpr resource_link() = default;
  constexpr explicit resource_link(R& r) noexcept : resource_(std::addressof(r)) {}

  [[nodiscard]] ASHLAR_INLINE R& get() const noexcept {
    ASHLAR_EXPECTS(resource_ != nullptr, "freed to a deleter that has no resource");
    return *resource_;
  }

private:
  R* resource_ = nullptr;
};

/// The same for a resource without state: no bytes.
template <stateless_resource R>
class resource_link<R> {
public:
  constexpr resource_link() = default;
  constexpr explicit resource_link(const R&) noexcept {}

  [[nodiscard]] ASHLAR_INLINE R get() const noexcept { return {}; }
};

template <class R>
struct resource_behind {
  using type = R;
};
template <class R>
struct resource_behind<resource_ref<R>> {
  using type = R;
};

/// The resource behind `R`: the one that a `resource_ref` refers to, or `R` itself.
template <resource R>
using referred_resource = typename resource_behind<R>::type;

/// The arguments from which a link can be made: an lvalue of a resource, a `resource_ref` to one, or a resource without
/// state.
template <class R>
concept resource_argument = resource<std::remove_cvref_t<R>> &&
                            (stateless_resource<std::remove_cvref_t<R>> ||
                             (std::is_lvalue_reference_v<R> && !std::is_const_v<std::remove_reference_t<R>>) ||
                             !std::same_as<referred_resource<std::remove_cvref_t<R>>, std::remove_cvref_t<R>>);

/// Returns: the link to `r`, or to the resource that `r` refers to.
template <class R>
[[nodiscard]] resource_link<referred_resource<std::remove_cv_t<R>>> link_to(R& r) noexcept {
  using target = referred_resource<std::remove_cv_t<R>>;
  if constexpr (std::same_as<target, std::remove_cv_t<R>>) return resource_link<target>(r);
  else return resource_link<target>(r.get());
}

}  // namespace ashlar::ASHLAR_ABI::detail
