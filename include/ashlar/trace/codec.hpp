// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compression of a chunk's payload, as a policy: the library stores payloads raw, a program may bring a codec.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::trace {

/// The codec of a chunk, as the file records it. Numbers from 128 on are free for private use.
enum class codec_id : std::uint8_t { raw = 0, zstd = 1 };

/// `bound(n)` is the largest size of `n` packed bytes; `pack` returns the bytes used, 0 on failure.
template <class C>
concept packer = requires(C c, std::span<const std::byte> from, std::span<std::byte> to, std::size_t n) {
  { C::id } -> std::convertible_to<codec_id>;
  { C::bound(n) } noexcept -> std::same_as<std::size_t>;
  { c.pack(from, to) } noexcept -> std::same_as<std::size_t>;
};

/// `unpack` returns whether the input was sound and gave exactly `to.size()` bytes.
template <class C>
concept codec = packer<C> && std::default_initializable<C> &&
                requires(C c, std::span<const std::byte> from, std::span<std::byte> to) {
                  { c.unpack(from, to) } noexcept -> std::same_as<bool>;
                };

/// Stores the bytes unchanged.
struct raw_codec {
  static constexpr codec_id id = codec_id::raw;

  [[nodiscard]] static constexpr std::size_t bound(std::size_t n) noexcept { return n; }

  [[nodiscard]] std::size_t pack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    if (to.size() < from.size()) return 0;
    std::copy(from.begin(), from.end(), to.begin());
    return from.size();
  }

  [[nodiscard]] bool unpack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    return from.size() == to.size() && pack(from, to) == from.size();
  }
};

static_assert(codec<raw_codec>);

}  // namespace ashlar::ASHLAR_ABI::trace
