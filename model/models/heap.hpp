// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory for the models of the heap for any thread, and the promise that each cell has one holder at a time.
#pragma once

#include "tiny_heap.hpp"

#include <checker.hpp>
#include <cstddef>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/parcel_sender.hpp>
#include <ashlar/detail/heap_threads/shared_extent_map.hpp>
#include <ashlar/detail/heap_threads/thread_heaps.hpp>
#include <ashlar/heap/owner_heap.hpp>

namespace models {

/// A use of a cell by its client. Two concurrent holders race; two successive holders are detected here.
inline void hold(void* cell, int by) {
  checker::check(cell != nullptr, "there is memory for all");
  checker::check(segment::of(cell)->content == 0, "a cell is in one hand at a time");
  segment::of(cell)->content = by;
}
inline void release_cell(void* cell, int by) {
  checker::check(segment::of(cell)->content == by, "what was written last is what is found");
  segment::of(cell)->content = 0;
}

/// Memory for a few cells and thread heaps; for any thread.
class memory {
public:
  static constexpr std::size_t cells = 11;
  static constexpr std::size_t others = 3;
  static constexpr std::size_t other_bytes = 16 * 1024;

  [[nodiscard]] void* take(std::size_t bytes) {
    if (before_growth != nullptr) before_growth(self);
    lock_.lock();
    void* const given = bytes == sizeof(segment) ? take_cell() : take_slow(bytes);
    lock_.unlock();
    return given;
  }

  void give(void* p, std::size_t bytes) {
    if (bytes != sizeof(segment)) return;
    lock_.lock();
    checker::check(segment::of(p)->content == 0, "only free cells go back");
    segment::of(p)->content = 0;  // the memory ends, so no other thread may use it
    given_back_.push(0, p);
    lock_.unlock();
  }

  /// Returns: a cell at a sampled address, of `owner`.
  [[nodiscard]] void* sampled_cell(segment_owner& owner) {
    sampled_.cell.head.owner = &owner;
    return &sampled_.cell;
  }

  void* self = nullptr;
  void (*before_growth)(void* self) noexcept = nullptr;

private:
  [[nodiscard]] void* take_cell() {
    if (void* const again = given_back_.pop(); again != nullptr) return again;
    checker::check(taken_cells_ < cells, "cells come back");
    return &cells_[taken_cells_++];
  }

  [[nodiscard]] void* take_slow(std::size_t bytes) {
    if (bytes > other_bytes) return nullptr;
    checker::check(taken_others_ < others, "there is room for all heaps");
    return &others_[taken_others_++];
  }

  struct alignas(64) other {
    std::byte bytes[other_bytes];
  };

  checker::mutex lock_;
  cell_list given_back_;
  std::size_t taken_cells_ = 0;
  std::size_t taken_others_ = 0;
  other others_[others];
  struct alignas(ashlar::detail::slice_bytes) first_of_slice {
    segment cell;
    std::byte others[256];  // cells here would be at sampled addresses, too
  };
  first_of_slice sampled_;
  segment cells_[cells];
};

/// The memory as a resource.
class source {
public:
  static constexpr bool is_thread_safe = true;

  explicit source(memory& from) : from_(&from) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t) { return from_->take(bytes); }
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t) noexcept { return from_->take(bytes); }
  void deallocate(void* p, std::size_t bytes, std::size_t) noexcept { from_->give(p, bytes); }
  [[nodiscard]] bool try_expand(void*, std::size_t, std::size_t, std::size_t) noexcept { return false; }
  friend bool operator==(const source&, const source&) = default;

private:
  memory* from_;
};

}  // namespace models

namespace ashlar::ASHLAR_ABI::detail {

template <>
struct heap_parts<models::source> {
  using stores = models::stores<models::source>;
  using segment = models::segment;
  using space = models::space<models::source>;
};
template <>
struct heap_parts<extent_resource<models::source>> {
  using stores = models::stores<extent_resource<models::source>>;
  using segment = models::segment;
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace models {

using owner_engine = ashlar::detail::owner_engine<source>;
using owner_heap = ashlar::owner_heap<source>;
using remote_freer = ashlar::detail::parcel_sender<source>;
using thread_heaps = ashlar::detail::thread_heaps<source>;
using thread_heap = thread_heaps::thread_heap;

/// Effects: lets other threads run first, without synchronising with them.
inline void wait_a_moment() {
  checker::atomics::atomic<int> moment = 0;
  (void)moment.load(std::memory_order_relaxed);
}

/// Passes an object to another thread.
template <class T>
class hand {
public:
  void give(T* what) {
    lock_.lock();
    what_ = what;
    lock_.unlock();
  }
  /// Returns: the object; null before it was given.
  [[nodiscard]] T* take() {
    lock_.lock();
    T* const what = what_;
    what_ = nullptr;
    lock_.unlock();
    return what;
  }

private:
  checker::mutex lock_;
  checker::atomics::plain<T*> what_ = nullptr;
};

template <class Heap>
[[nodiscard]] void* take(Heap& from, int by) {
  void* const cell = from.try_allocate(16);
  hold(cell, by);
  return cell;
}
template <class Heap>
void free(Heap& to, void* cell, int by) {
  release_cell(cell, by);
  to.deallocate(cell);
}
inline void free(remote_freer& freer, void* cell, int by) {
  release_cell(cell, by);
  freer.defer_free(owner_engine::of(cell), cell);
}
inline void free_and_flush(remote_freer& freer, void* cell, int by) {
  free(freer, cell, by);
  freer.flush();
  checker::check(freer.noted() == 0, "a flush leaves nothing behind");
}

}  // namespace models
