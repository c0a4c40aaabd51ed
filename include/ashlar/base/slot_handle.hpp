// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A handle to an object of a slot_map: the slot, and the generation of its object.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>  // std::hash

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI {

/// Eight bytes, trivially copyable; a default one is never valid. `T` may be incomplete, so objects can hold handles to
/// each other.
template <class T>
class slot_handle {
public:
  constexpr slot_handle() = default;
  constexpr slot_handle(std::uint32_t index, std::uint32_t generation) noexcept
      : index_(index), generation_(generation) {}

  [[nodiscard]] constexpr std::uint32_t index() const noexcept { return index_; }
  /// Returns: the generation of the object in its slot; 0 for a default handle.
  [[nodiscard]] constexpr std::uint32_t generation() const noexcept { return generation_; }
  /// Returns: whether it ever referred to an object, which may have ended since.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return generation_ != 0; }

  [[nodiscard]] friend constexpr bool operator==(const slot_handle&, const slot_handle&) noexcept = default;
  [[nodiscard]] friend constexpr auto operator<=>(const slot_handle&, const slot_handle&) noexcept = default;

private:
  std::uint32_t index_ = 0;
  std::uint32_t generation_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI

template <class T>
struct std::hash<ashlar::slot_handle<T>> {
  [[nodiscard]] std::size_t operator()(const ashlar::slot_handle<T>& h) const noexcept {
    return std::hash<std::uint64_t>()((std::uint64_t{h.generation()} << 32) | h.index());
  }
};
