// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports of blocks that do not come from malloc to heap profilers and memory checkers: heaptrack and Valgrind.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/profiling/profiled_blocks.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/thread/fork.hpp>

#if defined(ASHLAR_VALGRIND)
#include <valgrind/valgrind.h>
#endif

#if defined(__ELF__)
// As in heaptrack_api.h: weak, so null in a process without heaptrack. Nothing is linked.
extern "C" {
__attribute__((weak)) void heaptrack_malloc(void* p, std::size_t bytes);
__attribute__((weak)) void heaptrack_realloc(void* p, std::size_t bytes, void* moved_to);
__attribute__((weak)) void heaptrack_free(void* p);
}
#endif

namespace ashlar::ASHLAR_ABI::detail {

// Never destroyed, since pools may outlive every static object.
union lasting_blocks {
  profiled_blocks blocks;

  constexpr lasting_blocks() noexcept : blocks() {}
  ~lasting_blocks() {}
};

/// heaptrack records each block with the backtrace of its allocation. Without heaptrack the cost is one load and one
/// predicted branch for each call.
class heaptrack {
public:
#if defined(__ELF__)
  [[nodiscard]] static ASHLAR_INLINE bool is_there() noexcept { return &heaptrack_malloc != nullptr; }

  ASHLAR_COLD static void allocated(const void* pool, void* p, std::size_t bytes) noexcept {
    fork_participants::enter(at_fork_);
    if (reported_.blocks.note(p, pool)) tell_freed(p);  // its end was not reported, as after a rewind
    heaptrack_malloc(p, bytes);
  }
  ASHLAR_COLD static void resized(void* p, std::size_t bytes) noexcept {
    if (&heaptrack_realloc != nullptr) heaptrack_realloc(p, bytes, p);
  }
  ASHLAR_COLD static void freed(void* p) noexcept {
    reported_.blocks.forget(p);
    tell_freed(p);
  }
  /// Effects: reports the end of all blocks of the pool.
  ASHLAR_COLD static void all_freed(const void* pool) noexcept {
    reported_.blocks.end(pool, [](const void* p) { tell_freed(const_cast<void*>(p)); });
  }

private:
  static void tell_freed(void* p) noexcept {
    if (&heaptrack_free != nullptr) heaptrack_free(p);
  }

  static void before_fork(void*, fork_step step) noexcept {
    if (step == fork_step::last_locks) reported_.blocks.before_fork();
  }
  static void after_fork(void*) noexcept { reported_.blocks.after_fork(); }

  static inline constinit lasting_blocks reported_;
  static inline constinit fork_participant at_fork_ = {
      .before = before_fork, .in_parent = after_fork, .in_child = after_fork};
#else
  [[nodiscard]] static bool is_there() noexcept { return false; }
  static void allocated(const void*, void*, std::size_t) noexcept {}
  static void resized(void*, std::size_t) noexcept {}
  static void freed(void*) noexcept {}
  static void all_freed(const void*) noexcept {}
#endif
};

/// Valgrind's mempools: memcheck then describes an address by its block and the backtraces of allocation and free. A
/// request is a few instructions without effect outside of Valgrind; a build without `ASHLAR_VALGRIND` has none.
class mempool {
public:
  static ASHLAR_INLINE void begin([[maybe_unused]] const void* pool) noexcept {
#if defined(ASHLAR_VALGRIND)
    VALGRIND_CREATE_MEMPOOL(pool, 0, 0);
#endif
  }

  static ASHLAR_INLINE void end([[maybe_unused]] const void* pool) noexcept {
#if defined(ASHLAR_VALGRIND)
    VALGRIND_DESTROY_MEMPOOL(pool);
#endif
  }

  static ASHLAR_INLINE void allocated([[maybe_unused]] const void* pool, [[maybe_unused]] const void* p,
                                      [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_VALGRIND)
    VALGRIND_MEMPOOL_ALLOC(pool, p, bytes);
#endif
  }

  /// Effects: changes the size of the block. The marks of its bytes stay unchanged.
  static ASHLAR_INLINE void resized([[maybe_unused]] const void* pool, [[maybe_unused]] const void* p,
                                    [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_VALGRIND)
    VALGRIND_MEMPOOL_CHANGE(pool, p, p, bytes);
#endif
  }

  /// Effects: frees the block; any access to its memory is an error.
  static ASHLAR_INLINE void freed([[maybe_unused]] const void* pool, [[maybe_unused]] const void* p) noexcept {
#if defined(ASHLAR_VALGRIND)
    VALGRIND_MEMPOOL_FREE(pool, p);
#endif
  }

  /// Effects: frees all blocks of the pool.
  static ASHLAR_INLINE void all_freed([[maybe_unused]] const void* pool) noexcept {
#if defined(ASHLAR_VALGRIND)
    VALGRIND_MEMPOOL_TRIM(pool, pool, 0);  // keeps only blocks in an empty range
#endif
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
