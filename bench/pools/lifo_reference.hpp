// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reference for locality: cells of large chunks, and one global LIFO list of free ones, without a bound. Many pools
// work like this.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>

namespace bench {

// Not a product: never gives memory back, one thread.
template <std::size_t Bytes>
class lifo_cells {
public:
  static void* allocate() {
    if (link* const top = dead) {
      dead = top->next;
      return top;
    }
    if (left < Bytes) add_chunk();
    left -= Bytes;
    return std::exchange(bump, bump + Bytes);
  }

  static void deallocate(void* p) noexcept { dead = ::new (p) link{dead}; }

private:
  struct link {
    link* next;
  };
  static_assert(Bytes >= sizeof(link) && Bytes % alignof(link) == 0);
  static constexpr std::size_t chunk_bytes = std::size_t{4} << 20;

  static void add_chunk() {
    void* const chunk = ::mmap(nullptr, chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED) throw std::bad_alloc();
    bump = static_cast<std::byte*>(chunk);
    left = chunk_bytes;
  }

  static inline link* dead = nullptr;
  static inline std::byte* bump = nullptr;
  static inline std::size_t left = 0;
};

struct lifo_peer {
  template <class T>
  struct allocator {
    using value_type = T;
    allocator() = default;
    template <class U>
    allocator(const allocator<U>&) noexcept {}
    T* allocate(std::size_t) { return static_cast<T*>(lifo_cells<sizeof(T)>::allocate()); }
    void deallocate(T* p, std::size_t) noexcept { lifo_cells<sizeof(T)>::deallocate(p); }
    friend bool operator==(const allocator&, const allocator&) noexcept { return true; }
  };
  template <class T>
  allocator<T> make() noexcept {
    return {};
  }
  void give_back() noexcept {}
};

}  // namespace bench
