// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table with a value for each enumerator, which does not compile when one is missing.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

// The compiler spells a value without an enumerator as a cast of a number: `(kind)3`.
template <auto Value>
[[nodiscard]] constexpr bool is_enumerator() noexcept {
  constexpr std::string_view whole = ASHLAR_SIGNATURE;
  constexpr std::string_view spelled = whole.substr(0, whole.find_last_of("]>"));
  constexpr std::size_t cast = spelled.rfind(')');
  return cast == spelled.npos || spelled[cast + 1] < '0' || spelled[cast + 1] > '9';
}

template <class Enum, std::size_t From = 0>
[[nodiscard]] constexpr std::size_t count_enumerators() noexcept {
  if constexpr (is_enumerator<static_cast<Enum>(From)>()) return count_enumerators<Enum, From + 1>();
  else return From;
}

/// The number of enumerators of an enumeration that counts from 0 without a hole.
template <class Enum>
inline constexpr std::size_t enum_count = count_enumerators<Enum>();

/// A value for each enumerator, in their order. It is made of as many values as there are enumerators, or of none.
template <class Enum, class Value>
class enum_table {
public:
  static constexpr std::size_t count = enum_count<Enum>;

  constexpr enum_table() = default;
  template <class... Values>
    requires(sizeof...(Values) == count)
  constexpr enum_table(const Values&... values) : values_{{Value(values)...}} {}

  [[nodiscard]] constexpr Value& operator[](Enum which) noexcept { return values_[static_cast<std::size_t>(which)]; }
  [[nodiscard]] constexpr const Value& operator[](Enum which) const noexcept {
    return values_[static_cast<std::size_t>(which)];
  }
  [[nodiscard]] constexpr auto begin() const noexcept { return values_.begin(); }
  [[nodiscard]] constexpr auto end() const noexcept { return values_.end(); }

private:
  std::array<Value, count> values_{};
};

}  // namespace ashlar::ASHLAR_ABI::detail
