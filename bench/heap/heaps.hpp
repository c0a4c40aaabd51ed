// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heaps of the engine workloads: a floor, a limit, any malloc, and ashlar's heaps, inlined and called.
#pragma once

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "called_heap.hpp"

namespace bench {

// A heap is a type with
//     allocate(bytes)                     a block aligned to 16
//     free(p), free(p, bytes)             takes it back, without or with its size
//     allocate<Bytes>(), free<Bytes>(p)   with the size known at compile time, if the heap profits from that

// The floor: a cursor that circles through 2 MiB. Live blocks overlap; no block is taken back.
class null_heap {
public:
  null_heap() : memory_(map()) {}
  void* allocate(std::size_t bytes) noexcept {
    const std::size_t at = next_ + bytes <= size ? next_ : 0;
    next_ = at + ((bytes + 15) & ~std::size_t{15});
    return memory_ + at;
  }
  void free(void*) noexcept {}
  void free(void*, std::size_t) noexcept {}
  template <std::size_t Bytes>
  void* allocate() noexcept {
    return allocate(Bytes);
  }
  template <std::size_t Bytes>
  void free(void*) noexcept {}

private:
  static constexpr std::size_t size = std::size_t{2} << 20;
  static std::byte* map() {
    void* const p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(p);
  }

  std::byte* memory_;
  std::size_t next_ = 0;
};

// The limit for small sizes that each free knows: a LIFO list for each size class, and nothing else.
class free_list_heap {
  using classes = ashlar::detail::size_classes;

public:
  void* allocate(std::size_t bytes) { return take(classes::of(bytes)); }
  void free(void* p, std::size_t bytes) noexcept { give(p, classes::of(bytes)); }
  template <std::size_t Bytes>
  void* allocate() {
    return take(classes::of(Bytes));
  }
  template <std::size_t Bytes>
  void free(void* p) noexcept {
    give(p, classes::of(Bytes));
  }

private:
  struct link {
    link* next;
  };

  void* take(std::size_t number) {
    link* const top = dead_[number];
    if (top == nullptr) return ::operator new(classes::bytes_of(number));
    dead_[number] = top->next;
    return top;
  }
  void give(void* p, std::size_t number) noexcept { dead_[number] = ::new (p) link{dead_[number]}; }

  std::array<link*, classes::count + 1> dead_ = {};
};

// The frees are unsized.
class malloc_heap {
public:
  void* allocate(std::size_t bytes) noexcept { return std::malloc(bytes); }
  void free(void* p) noexcept { std::free(p); }
  template <std::size_t Bytes>
  void* allocate() noexcept {
    return std::malloc(Bytes);
  }
  template <std::size_t Bytes>
  void free(void* p) noexcept {
    std::free(p);
  }
};

// The library behind malloc by its operators new and delete, with sized frees.
class operator_heap {
public:
  void* allocate(std::size_t bytes) { return ::operator new(bytes); }
  void free(void* p, std::size_t bytes) noexcept { ::operator delete(p, bytes); }
  template <std::size_t Bytes>
  void* allocate() {
    return ::operator new(Bytes);
  }
  template <std::size_t Bytes>
  void free(void* p) noexcept {
    ::operator delete(p, Bytes);
  }
};

template <class Heap>
class basic_ashlar_heap {
public:
  void* allocate(std::size_t bytes) { return heap_.allocate(bytes); }
  void free(void* p) noexcept { heap_.deallocate(p); }
  void free(void* p, std::size_t bytes) noexcept { heap_.deallocate(p, bytes); }
  template <std::size_t Bytes>
  void* allocate() {
    return heap_.template allocate<Bytes>();
  }
  template <std::size_t Bytes>
  void free(void* p) noexcept {
    heap_.template deallocate<Bytes>(p);
  }

private:
  Heap heap_;
};
using ashlar_heap = basic_ashlar_heap<ashlar::local_heap<>>;
using ashlar_any_thread_heap = basic_ashlar_heap<ashlar::heap<>>;

// Calls into a shared library, as every call of a malloc is. No size is known at compile time.
struct called_ashlar {
  static void* allocate(std::size_t bytes) { return bench_called_allocate(bytes); }
  static void free(void* p) noexcept { bench_called_free(p); }
  static void free(void* p, std::size_t bytes) noexcept { bench_called_free_sized(p, bytes); }
};
struct called_null {
  static void* allocate(std::size_t bytes) { return bench_called_null_allocate(bytes); }
  static void free(void* p) noexcept { bench_called_null_free(p); }
  static void free(void* p, std::size_t) noexcept { bench_called_null_free(p); }
};

template <class Calls, bool Sized>
struct called_heap : Calls {
  using Calls::allocate, Calls::free;
  template <std::size_t Bytes>
  void* allocate() {
    return Calls::allocate(Bytes);
  }
  template <std::size_t Bytes>
  void free(void* p) noexcept {
    if constexpr (Sized) Calls::free(p, Bytes);
    else Calls::free(p);
  }
};

}  // namespace bench
