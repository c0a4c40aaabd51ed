// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boost.Pool's names on this library's pools, so that Boost's own tests of them can run.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <boost/config.hpp>
#include <boost/integer/common_factor_ct.hpp>
#include <boost/pool/simple_segregated_storage.hpp>
#include <boost/smart_ptr/shared_ptr.hpp>

namespace boost {

using std::thread;

struct default_user_allocator_new_delete {
  typedef std::size_t size_type;
  typedef std::ptrdiff_t difference_type;
  static char* malloc BOOST_PREVENT_MACRO_SUBSTITUTION(size_type bytes) { return new (std::nothrow) char[bytes]; }
  static void free BOOST_PREVENT_MACRO_SUBSTITUTION(char* block) { delete[] block; }
};

struct default_user_allocator_malloc_free {
  typedef std::size_t size_type;
  typedef std::ptrdiff_t difference_type;
  static char* malloc BOOST_PREVENT_MACRO_SUBSTITUTION(size_type bytes) {
    return static_cast<char*>((std::malloc)(bytes));
  }
  static void free BOOST_PREVENT_MACRO_SUBSTITUTION(char* block) { (std::free)(block); }
};

namespace on_ashlar {

/// What Boost calls a user allocator aligns nothing and forgets sizes: the block's start is noted in front of it.
template <class UserAllocator>
struct user_memory {
  void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    char* const start = (UserAllocator::malloc)(bytes + alignment + sizeof(char*));
    if (start == nullptr) return nullptr;
    const std::size_t first = ashlar::address_of(start) + sizeof(char*);
    char* const block = start + (ashlar::align_up(first, alignment) - ashlar::address_of(start));
    std::copy_n(reinterpret_cast<const char*>(&start), sizeof start, block - sizeof start);
    return block;
  }
  void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const block = try_allocate(bytes, alignment);
    if (block == nullptr) ashlar::throw_bad_alloc(bytes, alignment);
    return block;
  }
  void deallocate(void* block, std::size_t, std::size_t) noexcept {
    char* start = nullptr;
    std::copy_n(static_cast<const char*>(block) - sizeof start, sizeof start, reinterpret_cast<char*>(&start));
    (UserAllocator::free)(start);
  }
  bool operator==(const user_memory&) const noexcept { return true; }
};

/// Returns: slabs of about `next_size` chunks, alignment included.
[[nodiscard]] inline ashlar::block_pool_options cells_of(std::size_t bytes, std::size_t next_size) {
  const std::size_t cell = std::max(bytes, std::size_t{1});
  return {.cell_bytes = cell,
          .slab_bytes =
              std::max(std::bit_floor(cell * next_size / 2), std::bit_ceil(cell + 2 * sizeof(ashlar::detail::slab)))};
}

}  // namespace on_ashlar

template <class UserAllocator = default_user_allocator_new_delete>
class pool {
public:
  typedef std::size_t size_type;
  explicit pool(size_type bytes, size_type next_size = 32, size_type = 0)
      : cells_(on_ashlar::cells_of(bytes, next_size)) {}
  ~pool() { cells_.release(); }  // live chunks are no leak here

  void* malloc BOOST_PREVENT_MACRO_SUBSTITUTION() { return cells_.try_allocate(); }
  void* ordered_malloc BOOST_PREVENT_MACRO_SUBSTITUTION() { return cells_.try_allocate(); }
  void* ordered_malloc BOOST_PREVENT_MACRO_SUBSTITUTION(size_type count) {
    return cells_.try_allocate_run(std::max(count, size_type{1}));
  }
  void free BOOST_PREVENT_MACRO_SUBSTITUTION(void* chunk) { cells_.deallocate(chunk); }
  void ordered_free BOOST_PREVENT_MACRO_SUBSTITUTION(void* chunk) { cells_.deallocate(chunk); }
  void free BOOST_PREVENT_MACRO_SUBSTITUTION(void* chunks, size_type count) {
    cells_.deallocate_run(chunks, std::max(count, size_type{1}));
  }
  void ordered_free BOOST_PREVENT_MACRO_SUBSTITUTION(void* chunks, size_type count) { (free)(chunks, count); }
  bool release_memory BOOST_PREVENT_MACRO_SUBSTITUTION() { return cells_.trim() != 0; }
  bool purge_memory BOOST_PREVENT_MACRO_SUBSTITUTION() {
    const bool held = cells_.capacity() != 0;
    cells_.release();
    return held;
  }
  bool is_from BOOST_PREVENT_MACRO_SUBSTITUTION(void* chunk) const { return cells_.owns(chunk); }

private:
  ashlar::block_pool<on_ashlar::user_memory<UserAllocator>> cells_;
};

template <class T, class UserAllocator = default_user_allocator_new_delete>
class object_pool {
public:
  ~object_pool() {
    cells_.for_each_live([](void* object) { std::destroy_at(static_cast<T*>(object)); });
    cells_.release();
  }

  template <class... Args>
  T* construct BOOST_PREVENT_MACRO_SUBSTITUTION(Args&&... args) {
    void* const cell = cells_.try_allocate();
    if (cell == nullptr) return nullptr;
    try {
      return ::new (cell) T(std::forward<Args>(args)...);
    } catch (...) {
      cells_.deallocate(cell);
      throw;
    }
  }
  T* malloc BOOST_PREVENT_MACRO_SUBSTITUTION() { return static_cast<T*>(cells_.try_allocate()); }
  void free BOOST_PREVENT_MACRO_SUBSTITUTION(T* memory) { cells_.deallocate(memory); }
  void destroy BOOST_PREVENT_MACRO_SUBSTITUTION(T* object) {
    std::destroy_at(object);
    cells_.deallocate(object);
  }

private:
  ashlar::block_pool<on_ashlar::user_memory<UserAllocator>> cells_{
      {.cell_bytes = sizeof(T), .cell_alignment = alignof(T)}};
};

template <class Tag, unsigned Bytes>
class singleton_pool {
public:
  static void* malloc BOOST_PREVENT_MACRO_SUBSTITUTION() { return cells().try_allocate(Bytes, 1); }
  static void free BOOST_PREVENT_MACRO_SUBSTITUTION(void* chunk) { cells().deallocate(chunk, Bytes, 1); }

  static bool release_memory BOOST_PREVENT_MACRO_SUBSTITUTION() { return false; }  // the pool keeps what it may use
  static bool purge_memory BOOST_PREVENT_MACRO_SUBSTITUTION() {
    cells().release();
    return true;
  }

private:
  using cells_type = ashlar::synchronized<ashlar::block_pool<>>;
  static cells_type& cells() {
    static cells_type& of_all = *new cells_type(ashlar::block_pool_options{.cell_bytes = Bytes});
    return of_all;
  }
};

struct pool_allocator_tag {};
struct fast_pool_allocator_tag {};

template <class T, class... Ignored>
struct pool_allocator {
  typedef T value_type;
  template <class U>
  struct rebind {
    typedef pool_allocator<U> other;
  };
  pool_allocator() = default;
  template <class U>
  pool_allocator(const pool_allocator<U>&) noexcept {}

  static T* allocate BOOST_PREVENT_MACRO_SUBSTITUTION(std::size_t count, const void* = nullptr) {
    return from().allocate(count);
  }
  static void deallocate BOOST_PREVENT_MACRO_SUBSTITUTION(T* p, std::size_t count) { from().deallocate(p, count); }
  template <class U>
  bool operator==(const pool_allocator<U>&) const noexcept {
    return true;
  }

private:
  using from = ashlar::pool_allocator<T, std::mutex>;
};

template <>
struct pool_allocator<void> {
  typedef void value_type;
  template <class U>
  struct rebind {
    typedef pool_allocator<U> other;
  };
};

template <class T, class... Ignored>
struct fast_pool_allocator : pool_allocator<T> {
  template <class U>
  struct rebind {
    typedef fast_pool_allocator<U> other;
  };
  fast_pool_allocator() = default;
  template <class U>
  fast_pool_allocator(const fast_pool_allocator<U>&) noexcept {}
};

}  // namespace boost
