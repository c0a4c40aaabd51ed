// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan known by its type, so that its offsets are numbers in the code.
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

/// A plan as a type: `Layout` is an object with static storage that has `offsets` and `height`, and `Buffers` are those
/// of its problem, in the same order. Buffers may be left out where the layout has `sizes` and `alignment` of its own,
/// as the tables that `ashlar plan --header` writes; then nothing is known of lives.
/// Both are read where they stand: what is `constexpr` becomes numbers in the code, what is made when the program
/// starts must be there before its first use.
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
  /// Returns: whether the buffer is live at that moment of the plan; true where nothing is known of lives.
  [[nodiscard]] static constexpr bool is_live(std::size_t position, [[maybe_unused]] std::uint64_t moment) noexcept {
    if constexpr (has_lives) return lives()[position].birth <= moment && moment < lives()[position].death;
    else return true;
  }
  /// Returns: the greatest alignment that was planned with.
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
