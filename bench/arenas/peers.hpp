// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The peers of the arena: sources of memory for a phase of a program, and the ways to free it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <new>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pmr_monotonic.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/inline_arena.hpp>

#if ASHLAR_BENCH_HAS_BOOST_CONTAINER
#include <boost/container/pmr/memory_resource.hpp>
#include <boost/container/pmr/monotonic_buffer_resource.hpp>
#include <boost/container/pmr/polymorphic_allocator.hpp>
#endif

#include "support/keep.hpp"

namespace bench {

// A memory is a type with
//     allocator<T>, make<T>()    the standard allocator under test
//     allocate(bytes)            a block aligned to 8
//     reset()                    takes everything back, if possible
//     is_freed_by_reset          blocks need no deallocation
//     has_uses_allocator         containers pass it to their elements
struct heap_memory {
  static constexpr bool is_freed_by_reset = false, has_uses_allocator = false;
  template <class T>
  using allocator = std::allocator<T>;
  template <class T>
  allocator<T> make() noexcept {
    return {};
  }
  void* allocate(std::size_t bytes) noexcept { return std::malloc(bytes); }
  void deallocate(void* p, std::size_t) noexcept { std::free(p); }
  void reset() noexcept {}
};

// Empties a pmr resource for the next phase.
struct by_release {
  static void empty(auto& resource) { resource.release(); }
};
struct by_reset {
  static void empty(auto& resource) { resource.reset(); }
};

template <class Resource, class How, class Base = std::pmr::memory_resource,
          template <class> class Allocator = std::pmr::polymorphic_allocator>
class pmr_memory {
public:
  static constexpr bool is_freed_by_reset = true, has_uses_allocator = true;
  template <class T>
  using allocator = Allocator<T>;

  template <class... Args>
  explicit pmr_memory(Args... args) : resource_(args...) {
    escape(&by_address_);  // hides the type of the resource from the compiler, as in most programs
  }
  template <class T>
  allocator<T> make() noexcept {
    return by_address_;
  }
  void* allocate(std::size_t bytes) { return by_address_->allocate(bytes, 8); }
  void deallocate(void* p, std::size_t bytes) { by_address_->deallocate(p, bytes, 8); }
  void reset() { How::empty(resource_); }

private:
  Resource resource_;
  Base* by_address_ = &resource_;
};

template <class Arena>
class arena_memory {
public:
  static constexpr bool is_freed_by_reset = true, has_uses_allocator = false;
  template <class T>
  using allocator = ashlar::allocator<T, Arena>;

  template <class T>
  allocator<T> make() noexcept {
    return arena_;
  }
  void* allocate(std::size_t bytes) { return arena_.allocate(bytes, 8); }
  void deallocate(void* p, std::size_t bytes) noexcept { arena_.deallocate(p, bytes, 8); }
  void reset() noexcept { arena_.reset(); }

private:
  Arena arena_;
};

// The least that provides memory: no growth, no bounds, no empty blocks.
class bare_bump {
public:
  bare_bump(std::byte* begin, std::size_t bytes) noexcept : top_(begin), begin_(begin), end_(begin + bytes) {}
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    const std::uintptr_t at = (reinterpret_cast<std::uintptr_t>(top_) + alignment - 1) & (0 - alignment);
    if (__builtin_expect(at + bytes > reinterpret_cast<std::uintptr_t>(end_), 0)) std::abort();
    top_ = reinterpret_cast<std::byte*>(at + bytes);
    return reinterpret_cast<void*>(at);
  }
  void reset() noexcept { top_ = begin_; }

private:
  std::byte* top_;
  std::byte* begin_;
  std::byte* end_;
};

template <class T>
class bare_allocator {
public:
  using value_type = T;

  bare_allocator(bare_bump& from) noexcept : from_(&from) {}
  template <class U>
  bare_allocator(const bare_allocator<U>& other) noexcept : from_(&other.from()) {}
  T* allocate(std::size_t n) noexcept { return static_cast<T*>(from_->allocate(n * sizeof(T), alignof(T))); }
  void deallocate(T*, std::size_t) noexcept {}
  bare_bump& from() const noexcept { return *from_; }
  template <class U>
  friend bool operator==(const bare_allocator& a, const bare_allocator<U>& b) noexcept {
    return &a.from() == &b.from();
  }

private:
  bare_bump* from_;
};

class bare_memory {
public:
  static constexpr bool is_freed_by_reset = true, has_uses_allocator = false;
  template <class T>
  using allocator = bare_allocator<T>;

  bare_memory(std::byte* begin, std::size_t bytes) noexcept : bump_(begin, bytes) {}
  template <class T>
  allocator<T> make() noexcept {
    return bump_;
  }
  void* allocate(std::size_t bytes) noexcept { return bump_.allocate(bytes, 8); }
  void deallocate(void*, std::size_t) noexcept {}
  void reset() noexcept { bump_.reset(); }

private:
  bare_bump bump_;
};

// The same memories for one function call: over a buffer on the stack, if possible.
inline constexpr std::size_t stack_bytes = 8 * 1024;

struct stack_buffer {
  alignas(16) std::array<std::byte, stack_bytes> bytes;
};

template <class Memory>
struct pmr_on_stack : private stack_buffer, Memory {
  pmr_on_stack() : Memory(static_cast<void*>(bytes.data()), bytes.size()) {}
};
struct bare_on_stack : private stack_buffer, bare_memory {
  bare_on_stack() : bare_memory(bytes.data(), bytes.size()) {}
};
using arena_on_stack = arena_memory<ashlar::inline_arena<stack_bytes>>;

// A memory that lives across phases.
struct bare_large : private std::vector<std::byte>, bare_memory {
  bare_large() : std::vector<std::byte>(std::size_t{16} << 20), bare_memory(data(), size()) {}
};

using std_pmr = pmr_memory<std::pmr::monotonic_buffer_resource, by_release>;
using ashlar_pmr = pmr_memory<ashlar::pmr::monotonic_buffer_resource, by_reset>;
using ashlar_pmr_release = pmr_memory<ashlar::pmr::monotonic_buffer_resource, by_release>;
using ashlar_arena = arena_memory<ashlar::arena<>>;
#if ASHLAR_BENCH_HAS_BOOST_CONTAINER
using boost_pmr = pmr_memory<boost::container::pmr::monotonic_buffer_resource, by_release,
                             boost::container::pmr::memory_resource, boost::container::pmr::polymorphic_allocator>;
#endif

}  // namespace bench
