// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two alternating arenas: objects of one frame are valid until the end of the next.
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/arena.hpp>

namespace ashlar::ASHLAR_ABI {

/// Memory of one frame stays readable in the next:
///
///     frame         1    2    3    4
///     one arena     ====-----====-----      = allocates
///     the other          ====-----====      - keeps its blocks valid
///
/// Each arena retains its memory: after the first frames there are no upstream calls. Each holds a copy of `Upstream`.
/// Invariant: `current()` and `previous()` differ. Complexity: as `arena`. Thread safety: none.
template <resource Upstream>
class frame_arena {
public:
  /// The options apply to each of the two arenas.
  frame_arena() : frame_arena(arena_options{}) {}
  explicit frame_arena(const arena_options& options, const Upstream& upstream = Upstream())
      : first_(options, upstream), second_(options, upstream) {}
  explicit frame_arena(const Upstream& upstream) : frame_arena(arena_options{}, upstream) {}
  frame_arena(const frame_arena&) = delete;
  frame_arena& operator=(const frame_arena&) = delete;
  ~frame_arena() { release(); }

  /// Effects: ends the frame. Destroys the objects of the frame before it and reuses their memory.
  void next_frame() noexcept {
    std::swap(current_, previous_);
    current_->reset();
  }

  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return current_->allocate(bytes, alignment);
  }
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return current_->try_allocate(bytes, alignment);
  }

  /// Effects: none but marks and checks.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (checking_level >= checking::checked)
      if (previous_->owns(p)) return previous_->deallocate(p, bytes, alignment);
    current_->deallocate(p, bytes, alignment);
  }

  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return (previous_->owns(p) ? previous_ : current_)->try_expand(p, bytes, new_bytes, alignment);
  }

  [[nodiscard]] bool owns(const void* p) const noexcept { return current_->owns(p) || previous_->owns(p); }

  /// As `arena::make`: the object is destroyed at the end of the next frame.
  template <class T, class... Args>
  [[nodiscard]] ASHLAR_INLINE T* make(Args&&... args) {
    return current_->template make<T>(std::forward<Args>(args)...);
  }

  /// Effects: destroys all objects, the objects of this frame first, and gives all memory back.
  void release() noexcept {
    current_->release();
    previous_->release();
    current_->release();  // blocks that destructors of the previous frame allocated in the meantime
  }

  [[nodiscard]] arena<Upstream>& current() noexcept { return *current_; }    ///< of this frame
  [[nodiscard]] arena<Upstream>& previous() noexcept { return *previous_; }  ///< of the frame before it
  [[nodiscard]] const arena<Upstream>& current() const noexcept { return *current_; }
  [[nodiscard]] const arena<Upstream>& previous() const noexcept { return *previous_; }
  /// Returns: bytes that both arenas hold from the upstream.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return first_.held_bytes() + second_.held_bytes(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return first_.upstream_resource(); }
  [[nodiscard]] bool invariant() const noexcept {
    return current_ != previous_ && first_.invariant() && second_.invariant();
  }

  [[nodiscard]] friend bool operator==(const frame_arena& a, const frame_arena& b) noexcept { return &a == &b; }

private:
  arena<Upstream> first_;
  arena<Upstream> second_;
  arena<Upstream>* current_ = &first_;
  arena<Upstream>* previous_ = &second_;
};

static_assert(try_resource<frame_arena<>> && owning_resource<frame_arena<>>);
static_assert(releasable_resource<frame_arena<>> && expanding_resource<frame_arena<>>);

}  // namespace ashlar::ASHLAR_ABI
