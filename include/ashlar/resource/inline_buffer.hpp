// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A buffer resource with its buffer inside the object, for the stack or for a member.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/buffer_resource.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {
template <std::size_t Bytes>
struct inline_storage {
  alignas(std::max_align_t) std::array<std::byte, Bytes> bytes;
};
}  // namespace detail

/// A `buffer_resource` over `Bytes` bytes of its own, aligned for any object.
template <std::size_t Bytes>
class inline_buffer : private detail::inline_storage<Bytes>, public buffer_resource {
public:
  inline_buffer() noexcept : buffer_resource(std::span<std::byte>(this->bytes)) {}
};

static_assert(try_resource<inline_buffer<64>> && releasable_resource<inline_buffer<64>>);

}  // namespace ashlar::ASHLAR_ABI
