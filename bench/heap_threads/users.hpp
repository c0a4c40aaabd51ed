// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heaps of the benches with remote frees, and the interface of each thread of a team to them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/heap/remote_freer.hpp>

namespace bench {

// The facts that a heap may prepare for.
struct team {
  std::size_t threads;
  std::size_t live_bytes;  // of one thread, at once
};

// A heap is a type made from a `team`, with
//     of(index)              the interface of thread `index`: a value with
//       allocate(bytes)      a block aligned to 16
//       free(p, maker)       takes a block back that thread `maker`, or a former thread in its place, has allocated

// The floor: for each thread a cursor that circles through twice its live bytes. No block is taken back.
class null_users {
public:
  explicit null_users(const team& of) : bytes_(std::size_t{1} << 20) {
    while (bytes_ < 2 * of.live_bytes) bytes_ *= 2;
    for (std::size_t i = 0; i < of.threads; ++i) circles_.push_back({std::make_unique<std::byte[]>(bytes_)});
  }
  class user {
  public:
    user(std::byte* memory, std::size_t bytes, std::size_t& next) : memory_(memory), bytes_(bytes), next_(next) {}
    void* allocate(std::size_t bytes) noexcept {
      const std::size_t at = next_ + bytes <= bytes_ ? next_ : 0;
      next_ = at + ((bytes + 15) & ~std::size_t{15});
      return memory_ + at;
    }
    void free(void*, std::size_t) noexcept {}

  private:
    std::byte* memory_;
    std::size_t bytes_;
    std::size_t& next_;
  };
  user of(std::size_t index) { return {circles_[index].memory.get(), bytes_, circles_[index].next}; }

private:
  struct alignas(128) circle {
    std::unique_ptr<std::byte[]> memory;
    std::size_t next = 0;
  };
  std::size_t bytes_;
  std::vector<circle> circles_;
};

class malloc_users {
public:
  explicit malloc_users(const team&) {}
  struct user {
    void* allocate(std::size_t bytes) noexcept { return std::malloc(bytes); }
    void free(void* p, std::size_t) noexcept { std::free(p); }
  };
  user of(std::size_t) { return {}; }
};

class heap_users {
public:
  explicit heap_users(const team&) {}
  class user {
  public:
    explicit user(ashlar::heap<>& heap) : heap_(heap) {}
    void* allocate(std::size_t bytes) { return heap_.allocate(bytes); }
    void free(void* p, std::size_t) noexcept { heap_.deallocate(p); }

  private:
    ashlar::heap<>& heap_;
  };
  user of(std::size_t) { return user(heap_); }

private:
  ashlar::heap<> heap_;
};

// Each thread has its own heap, and a free names the heap of the block.
class owner_users {
public:
  explicit owner_users(const team& of) {
    for (std::size_t i = 0; i < of.threads; ++i) owners_.push_back(std::make_unique<ashlar::owner_heap<>>());
    for (std::size_t i = 0; i < of.threads; ++i) freers_.push_back(std::make_unique<ashlar::remote_freer<>>());
  }
  class user {
  public:
    user(owner_users& all, std::size_t index)
        : all_(all), mine_(*all.owners_[index]), freer_(*all.freers_[index]), index_(index) {}
    void* allocate(std::size_t bytes) { return mine_.allocate(bytes); }
    void free(void* p, std::size_t maker) noexcept {
      maker == index_ ? mine_.deallocate(p) : freer_.defer_free(*all_.owners_[maker], p);
    }

  private:
    owner_users& all_;
    ashlar::owner_heap<>& mine_;
    ashlar::remote_freer<>& freer_;
    std::size_t index_;
  };
  user of(std::size_t index) { return {*this, index}; }

private:
  std::vector<std::unique_ptr<ashlar::owner_heap<>>> owners_;
  std::vector<std::unique_ptr<ashlar::remote_freer<>>> freers_;  // destroyed first
};

}  // namespace bench
