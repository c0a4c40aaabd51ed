// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap as a replay allocator: one for each lane, or one for all; frees are sized if the trace has sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/replay/replay_op.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A lane's handle of a heap. Expects: a heap for one thread has one lane, which allocates, moves and frees every
/// block. A heap for any thread is shared by all lanes and serves any trace.
template <class Heap>
class heap_allocator {
public:
  static constexpr bool touches = true;

  explicit heap_allocator(Heap& heap) noexcept : heap_(&heap) {}

  [[nodiscard]] ASHLAR_INLINE void* allocate(replay_request r) noexcept {
    if (ASHLAR_UNLIKELY(r.kind() == replay_kind::allocate_zeroed))
      return heap_->try_allocate_zeroed(bytes_of(r), alignment_of(r));
    return heap_->try_allocate(bytes_of(r), alignment_of(r));
  }
  [[nodiscard]] void* reallocate(void* block, [[maybe_unused]] replay_request was, replay_request r) noexcept {
    if constexpr (requires { heap_->try_reallocate(block, bytes_of(r), alignment_of(r)); })
      return heap_->try_reallocate(block, bytes_of(r), alignment_of(r));
    else return heap_->try_reallocate(block, bytes_of(was), bytes_of(r), alignment_of(r));
  }
  ASHLAR_INLINE void deallocate(void* block, replay_request) noexcept { heap_->deallocate(block); }
  ASHLAR_INLINE void deallocate_sized(void* block, replay_request r) noexcept {
    heap_->deallocate(block, bytes_of(r), alignment_of(r));
  }

private:
  [[nodiscard]] static ASHLAR_INLINE std::size_t bytes_of(replay_request r) noexcept {
    return static_cast<std::size_t>(std::min<std::uint64_t>(r.size(), max_size));
  }
  [[nodiscard]] static ASHLAR_INLINE std::size_t alignment_of(replay_request r) noexcept {
    return std::max(static_cast<std::size_t>(r.alignment()), Heap::least_alignment);
  }

  Heap* heap_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
