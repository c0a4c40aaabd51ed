// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scratch memory of the calling thread in nested scopes, for data that a function needs until it returns.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/thread/thread_end.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

/// The arenas that the scratch scopes of one thread share. The first scope makes them; they go back when the thread
/// ends.
class thread_scratch {
public:
  static constexpr std::size_t count = 4;

  struct slot {
    arena<default_upstream> memory;
    std::size_t depth = 0;  ///< open scopes in the arena
  };

  /// Returns: the calling thread's arenas. Throws: `std::bad_alloc` if the thread has none yet and no page is left.
  [[nodiscard]] static ASHLAR_INLINE thread_scratch& mine() {
    thread_scratch* const known = mine_;
    return ASHLAR_LIKELY(known != nullptr) ? *known : make();
  }

  /// Effects: gives the thread's memory back, unless scopes are open.
  static void give_back() noexcept {
    if (mine_ != nullptr && !mine_->has_open_scope()) end_of(std::exchange(mine_, nullptr));
  }

  /// Returns: the first arena that is not among `others`. Expects: fewer than `count` others.
  [[nodiscard]] slot& other_than(std::initializer_list<const void*> others) noexcept {
    slot* each = slots_;
    while (contains(others, &each->memory)) ++each;
    return *each;
  }

  /// Effects: gives the memory back if the thread has ended, since no later call would.
  void scope_ended() noexcept {
    if (ASHLAR_UNLIKELY(is_late_)) give_back();
  }

private:
  [[nodiscard]] static bool contains(std::initializer_list<const void*> addresses, const void* p) noexcept {
    for (const void* const each : addresses)
      if (each == p) return true;
    return false;
  }

  [[nodiscard]] bool has_open_scope() const noexcept {
    for (const slot& each : slots_)
      if (each.depth != 0) return true;
    return false;
  }

  static ASHLAR_COLD thread_scratch& make() {
    void* const page = default_upstream().allocate(sizeof(thread_scratch), alignof(thread_scratch));
    mine_ = ::new (page) thread_scratch;
    if (!is_watched_) is_watched_ = thread_end::enter(at_end_);
    mine_->is_late_ = !is_watched_;
    return *mine_;
  }

  static void end_of(thread_scratch* leaving) noexcept {
    std::destroy_at(leaving);
    default_upstream().deallocate(leaving, sizeof(thread_scratch), alignof(thread_scratch));
  }

  static void at_thread_end(thread_end_participant*) noexcept {
    is_watched_ = false;
    give_back();
    if (mine_ != nullptr) mine_->is_late_ = true;
  }

  slot slots_[count];
  bool is_late_ = false;

  static inline constinit thread_local thread_scratch* mine_ = nullptr;
  static inline constinit thread_local thread_end_participant at_end_ = {.at_end = at_thread_end};
  static inline constinit thread_local bool is_watched_ = false;  // `at_end_` is registered
};

}  // namespace detail

/// A scope of the thread's scratch memory. At its end its objects are destroyed and its blocks taken back; the memory
/// stays with the thread.
///
/// Scopes of one arena form a stack: blocks of an outer scope made while an inner one is open end with the inner one.
/// A function that allocates its results in an arena of its caller names that arena when it opens a scope, and gets
/// another one:
///
///     void parse(ashlar::scratch_arena& results) {
///       auto scratch = ashlar::scratch_arena::beside(results);
///
/// From level `checked` on, an allocation from a scope below an open one is reported.
/// Complexity: O(1). Thread safety: only the thread that made a scope uses it.
class scratch_arena {
public:
  using arena_type = arena<default_upstream>;

  /// Throws: `std::bad_alloc` if this is the thread's first scope and no memory is left.
  scratch_arena() : scratch_arena(std::initializer_list<const void*>{}) {}

  /// Returns: a scope in an arena apart from the arenas of `results`: at most three scopes, arenas or other resources.
  /// Throws: as the constructor.
  template <resource... Results>
  [[nodiscard]] static scratch_arena beside(const Results&... results) {
    static_assert(sizeof...(Results) < detail::thread_scratch::count, "a thread has four scratch arenas");
    return scratch_arena({memory_of(results)...});
  }

  scratch_arena(const scratch_arena&) = delete;
  scratch_arena& operator=(const scratch_arena&) = delete;

  ~scratch_arena() {
    ASHLAR_EXPECTS(is_on_top(), "ended a scratch scope before a scope that was opened inside it");
    if (in_.depth == 1) in_.memory.reset();
    else in_.memory.rewind(start_);
    --in_.depth;  // after the objects: their destructors may use this scope and open others
    of_.scope_ended();
  }

  /// Throws: `std::bad_alloc`. Expects: no later scope is open in the same arena.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    expect_on_top();
    return in_.memory.allocate(bytes, alignment);
  }
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    expect_on_top();
    return in_.memory.try_allocate(bytes, alignment);
  }

  /// Effects: none but marks and checks.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    in_.memory.deallocate(p, bytes, alignment);
  }

  /// As `arena::try_expand`. No block grows while a later scope is open in the same arena, since that scope begins
  /// after the last block of this one.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    if (!is_on_top()) return new_bytes <= bytes;
    return in_.memory.try_expand(p, bytes, new_bytes, alignment);
  }

  /// Returns: whether `p` points into a block of this scope or of an enclosing one.
  [[nodiscard]] bool owns(const void* p) const noexcept { return in_.memory.owns(p); }

  /// As `arena::make`: the object is destroyed at the end of the scope.
  template <class T, class... Args>
  [[nodiscard]] ASHLAR_INLINE T* make(Args&&... args) {
    expect_on_top();
    return in_.memory.make<T>(std::forward<Args>(args)...);
  }

  /// Returns: the arena, for its other functions. Enclosing scopes share it: rewinding or resetting it also takes
  /// their blocks.
  [[nodiscard]] arena_type& memory() noexcept { return in_.memory; }
  [[nodiscard]] const arena_type& memory() const noexcept { return in_.memory; }
  [[nodiscard]] bool invariant() const noexcept { return in_.depth >= depth_ && in_.memory.invariant(); }

  /// Effects: gives back the memory retained by the calling thread, unless it has a scope open.
  static void release_thread() noexcept { detail::thread_scratch::give_back(); }

  // Compares scopes, not arenas: an object moved out of an inner scope must not keep memory of that scope.
  [[nodiscard]] friend bool operator==(const scratch_arena& a, const scratch_arena& b) noexcept { return &a == &b; }

private:
  explicit scratch_arena(std::initializer_list<const void*> others)
      : of_(detail::thread_scratch::mine()), in_(of_.other_than(others)), depth_(++in_.depth),
        start_(in_.memory.mark()) {}

  template <class R>
  [[nodiscard]] static const void* memory_of(const R& results) noexcept {
    if constexpr (std::is_same_v<R, scratch_arena>) return &results.in_.memory;
    else return std::addressof(results);
  }

  [[nodiscard]] bool is_on_top() const noexcept { return in_.depth == depth_; }
  ASHLAR_INLINE void expect_on_top() const noexcept {
    ASHLAR_EXPECTS(is_on_top(),
                   "allocated from a scratch scope below an open one; make the upper one with scratch_arena::beside");
  }

  detail::thread_scratch& of_;
  detail::thread_scratch::slot& in_;
  std::size_t depth_;
  arena_type::marker start_;
};

static_assert(try_resource<scratch_arena> && owning_resource<scratch_arena> && expanding_resource<scratch_arena>);

}  // namespace ashlar::ASHLAR_ABI
