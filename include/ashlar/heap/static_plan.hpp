// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan as a type, so that its offsets are constants in the code.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/plan/buffer.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// A plan as a type: `Layout` is an object of static storage with `offsets` and `height`; `Buffers` are the buffers of
/// its problem, in the same order. `Buffers` may be omitted if the layout has its own `sizes` and `alignment`, as the
/// tables of `ashlar plan --header` have; then lifetimes are unknown. Neither is copied: a `constexpr` object becomes
/// constants in the code; any other must be initialised before the first use of the plan.
template <const auto& Layout, const auto&... Buffers>
struct static_plan {
  static_assert(sizeof...(Buffers) <= 1, "a plan has one set of buffers");
  static_assert(sizeof...(Buffers) == 1 || requires { Layout.sizes[0], Layout.alignment; }, "a plan knows its sizes");

  using layout_type = std::remove_cvref_t<decltype(Layout)>;
  static constexpr bool has_lives = sizeof...(Buffers) == 1;

  [[nodiscard]] static constexpr const layout_type& layout() noexcept { return Layout; }
  [[nodiscard]] static constexpr std::span<const plan::buffer> lives() noexcept {
    if constexpr (has_lives) return std::span<const plan::buffer>(Buffers...);
    else return {};
  }
  [[nodiscard]] static constexpr std::size_t count() noexcept { return Layout.offsets.size(); }
  [[nodiscard]] static constexpr std::size_t bytes() noexcept { return static_cast<std::size_t>(Layout.height); }
  [[nodiscard]] static constexpr std::size_t offset_of(std::size_t position) noexcept {
    return static_cast<std::size_t>(Layout.offsets[position]);
  }
  [[nodiscard]] static constexpr std::size_t size_of(std::size_t position) noexcept {
    if constexpr (has_lives) return static_cast<std::size_t>(lives()[position].size);
    else return static_cast<std::size_t>(Layout.sizes[position]);
  }
  /// Returns: whether the buffer is live at that moment of the plan; true if lifetimes are unknown.
  [[nodiscard]] static constexpr bool is_live(std::size_t position, [[maybe_unused]] std::uint64_t moment) noexcept {
    if constexpr (has_lives) return lives()[position].birth <= moment && moment < lives()[position].death;
    else return true;
  }
  /// Returns: the greatest alignment in the plan.
  [[nodiscard]] static constexpr std::size_t alignment() noexcept {
    std::uint64_t most = 1;
    if constexpr (has_lives)
      for (const plan::buffer& each : lives()) most = std::max(most, each.alignment);
    else most = Layout.alignment;
    return static_cast<std::size_t>(most);
  }
};

}  // namespace ASHLAR_ABI
}  // namespace ashlar
