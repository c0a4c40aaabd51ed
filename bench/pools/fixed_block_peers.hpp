// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The providers of blocks of one size: a floor, the limit, malloc, and the pools.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <new>

#if ASHLAR_BENCH_HAS_BOOST
#include <boost/pool/pool.hpp>
#endif

#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

namespace bench {

template <std::size_t Bytes>
inline constexpr std::size_t alignment_of_blocks = Bytes % 16 == 0 ? 16 : 8;

// The floor, which is the cost of the loop: hands out the same blocks in a circle and takes none back.
template <std::size_t Bytes>
class null_blocks {
public:
  void* allocate() noexcept { return storage_.data() + (next_++ % circle) * Bytes; }
  void deallocate(void*) noexcept {}

private:
  static constexpr std::size_t circle = 1024;
  alignas(alignment_of_blocks<Bytes>) std::array<std::byte, circle * Bytes> storage_;
  std::size_t next_ = 0;
};

// The limit: one chunk, a bump pointer, one list of returned blocks. No growth, no checks, and no memory goes back: not
// a product.
template <std::size_t Bytes>
class free_list_blocks {
public:
  free_list_blocks() : chunk_(static_cast<std::byte*>(std::malloc(chunk_bytes))), bump_(chunk_) {
    if (chunk_ == nullptr) std::abort();
  }
  free_list_blocks(const free_list_blocks&) = delete;
  free_list_blocks& operator=(const free_list_blocks&) = delete;
  ~free_list_blocks() { std::free(chunk_); }

  void* allocate() noexcept {
    if (link* const top = head_) {
      head_ = top->next;
      return top;
    }
    std::byte* const fresh = bump_;
    bump_ += Bytes;
    return fresh;
  }

  void deallocate(void* p) noexcept { head_ = ::new (p) link{head_}; }

private:
  struct link {
    link* next;
  };
  static constexpr std::size_t chunk_bytes = Bytes * 4096;
  link* head_ = nullptr;
  std::byte* chunk_;
  std::byte* bump_;
};

template <std::size_t Bytes>
class malloc_blocks {
public:
  void* allocate() noexcept { return std::malloc(Bytes); }
  void deallocate(void* p) noexcept { std::free(p); }
};

template <std::size_t Bytes>
class pmr_blocks {
public:
  void* allocate() { return resource_.allocate(Bytes, alignment_of_blocks<Bytes>); }
  void deallocate(void* p) { resource_.deallocate(p, Bytes, alignment_of_blocks<Bytes>); }

private:
  std::pmr::unsynchronized_pool_resource resource_;
};

#if ASHLAR_BENCH_HAS_BOOST
template <std::size_t Bytes>
class boost_blocks {
public:
  void* allocate() { return pool_.malloc(); }
  void deallocate(void* p) { pool_.free(p); }

private:
  boost::pool<> pool_{Bytes};
};
#endif

template <std::size_t Bytes>
class ashlar_blocks {
public:
  void* allocate() { return pool_.allocate(); }
  void deallocate(void* p) noexcept { pool_.deallocate(p); }

private:
  ashlar::block_pool<> pool_{
      ashlar::block_pool_options{.cell_bytes = Bytes, .cell_alignment = alignment_of_blocks<Bytes>}};
};

template <std::size_t Bytes>
class ashlar_fixed_blocks {
public:
  void* allocate() { return pool_.allocate(); }
  void deallocate(void* p) noexcept { pool_.deallocate(p); }

private:
  ashlar::fixed_block_pool<Bytes, alignment_of_blocks<Bytes>> pool_;
};

}  // namespace bench
