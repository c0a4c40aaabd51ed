// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A check word over words of metadata and their address, verified before the metadata is used.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

template <class T>
[[nodiscard]] std::uint64_t word_to_seal(const T& word) noexcept {
  if constexpr (std::is_pointer_v<T>) return address_of(word);
  else return std::uint64_t{word};
}

/// Returns: the check word of `words` at address `where`. It depends on every bit of the words and of the address:
/// overwritten or copied metadata matches its seal with a probability of 2^-64 (2^-32 on 32 bits). An attacker without
/// the address cannot compute it; it is not cryptographic against one with the address.
template <class... Words>
  requires((std::is_pointer_v<Words> || std::unsigned_integral<Words>) && ...)
[[nodiscard]] std::uintptr_t seal_of(const void* where, Words... words) noexcept {
  std::uint64_t sum = address_of(where) * std::uint64_t{0x9E3779B97F4A7C15u};
  ((sum = (sum ^ detail::word_to_seal(words)) * 0xBF58476D1CE4E5B9u, sum ^= sum >> 29), ...);
  return static_cast<std::uintptr_t>(sum ^ (sum >> 32));
}

/// A check word in a header, present from level `checked` on; at `fast` it takes no memory and always matches. `Place`
/// distinguishes two of them in one header.
template <int Place, bool IsKept = checking_level >= checking::checked>
class seal_word {
public:
  void set(std::uintptr_t right) noexcept { word_ = right; }
  [[nodiscard]] bool is(std::uintptr_t right) const noexcept { return word_ == right; }

private:
  std::uintptr_t word_ = 0;
};

template <int Place>
class seal_word<Place, false> {
public:
  void set(std::uintptr_t /*right*/) noexcept {}
  [[nodiscard]] bool is(std::uintptr_t /*right*/) const noexcept { return true; }
};

}  // namespace ashlar::ASHLAR_ABI::detail
