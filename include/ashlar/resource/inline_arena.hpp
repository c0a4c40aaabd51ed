// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An arena with its first bytes inside the object, for the stack or for a member.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/inline_buffer.hpp>

namespace ashlar::ASHLAR_ABI {

/// An `arena` that first uses `Bytes` bytes of its own, aligned for any object, and then `Upstream`. With
/// `null_resource` as upstream it never grows.
template <std::size_t Bytes, resource Upstream>
class inline_arena : private detail::inline_storage<Bytes>, public arena<Upstream> {
public:
  inline_arena() : inline_arena(arena_options{}) {}
  explicit inline_arena(const arena_options& options, Upstream upstream = Upstream())
      : arena<Upstream>(std::span<std::byte>(this->bytes), options, std::move(upstream)) {}
  explicit inline_arena(Upstream upstream) : inline_arena(arena_options{}, std::move(upstream)) {}
};

static_assert(try_resource<inline_arena<64>> && owning_resource<inline_arena<64>>);
static_assert(releasable_resource<inline_arena<64>> && expanding_resource<inline_arena<64>>);

}  // namespace ashlar::ASHLAR_ABI
