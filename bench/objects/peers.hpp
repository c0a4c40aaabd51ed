// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The makers of objects, each a class with `acquire(value)`, which returns a `handle`, and `release(handle&)`. Pools
// fetch memory for `step` objects at a time, the first when they are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "object.hpp"
#include "techniques.hpp"

#if ASHLAR_BENCH_HAS_BOOST
#include <boost/pool/object_pool.hpp>
#include <boost/pool/pool.hpp>
#endif
#if ASHLAR_BENCH_HAS_FOONATHAN
#include <foonathan/memory/memory_pool.hpp>
#endif

namespace bench {

// Unwritten memory of `count` cells.
template <class T>
class raw_cells {
public:
  explicit raw_cells(std::size_t count) : cells_(static_cast<cell*>(std::malloc(count * sizeof(cell)))) {
    if (cells_ == nullptr) throw std::bad_alloc();
  }
  void* operator[](std::size_t index) const noexcept { return cells_.get() + index; }

private:
  struct cell {
    alignas(T) std::byte bytes[sizeof(T)];
  };
  struct give_back {
    void operator()(cell* cells) const noexcept { std::free(cells); }
  };
  std::unique_ptr<cell, give_back> cells_;
};

// The best without a pool: an array used as a stack, so that the last object must be released first. No product.
template <class T>
class stack_objects {
public:
  using handle = T*;

  explicit stack_objects(std::size_t step) : cells_(step) {}
  handle acquire(std::uint64_t value) { return ::new (cells_[live_++]) T(value); }
  void release(handle object) noexcept {
    object->~T();
    --live_;
  }

private:
  raw_cells<T> cells_;
  std::size_t live_ = 0;
};

// The limit: cells of one chunk after the other, and one list of the free ones through themselves. No checks, and no
// memory goes back: no product.
template <class T>
class free_list_cells {
public:
  explicit free_list_cells(std::size_t step) : step_(step) { grow(); }

  void* take() {
    if (link* const top = dead_) {
      dead_ = top->next;
      return top;
    }
    if (fresh_ == step_) grow();
    return chunks_.back()[fresh_++];
  }
  void put(void* cell) noexcept { dead_ = ::new (cell) link{dead_}; }

private:
  struct link {
    link* next;
  };

  void grow() {
    chunks_.emplace_back(step_);
    fresh_ = 0;
  }

  link* dead_ = nullptr;
  std::size_t fresh_ = 0;
  std::size_t step_;
  std::vector<raw_cells<T>> chunks_;
};

template <class T>
class free_list_objects {
public:
  using handle = T*;

  explicit free_list_objects(std::size_t step) : cells_(step) {}
  handle acquire(std::uint64_t value) { return ::new (cells_.take()) T(value); }
  void release(handle object) noexcept {
    object->~T();
    cells_.put(object);
  }

private:
  free_list_cells<T> cells_;
};

template <class T>
class heap_objects {
public:
  using handle = T*;

  explicit heap_objects(std::size_t) {}
  handle acquire(std::uint64_t value) {
    T* const object = new T(value);
    escape(object);  // otherwise the compiler may remove the pair
    return object;
  }
  void release(handle object) noexcept { delete object; }
};

template <class T>
class shared_objects {
public:
  using handle = std::shared_ptr<T>;

  explicit shared_objects(std::size_t) {}
  handle acquire(std::uint64_t value) { return std::make_shared<T>(value); }
  void release(handle& object) noexcept { object = nullptr; }
};

#if ASHLAR_BENCH_HAS_BOOST

// Keeps its free list in order of addresses: a free out of order costs a search.
template <class T>
class boost_objects {
public:
  using handle = T*;

  explicit boost_objects(std::size_t step) : pool_(step, step) {}
  handle acquire(std::uint64_t value) { return pool_.construct(value); }
  void release(handle object) { pool_.destroy(object); }

private:
  boost::object_pool<T> pool_;
};

// Its unordered sibling, with the constructor and the destructor called by hand.
template <class T>
class boost_pool_objects {
public:
  using handle = T*;

  explicit boost_pool_objects(std::size_t step) : pool_(sizeof(T), step, step) {}
  handle acquire(std::uint64_t value) { return ::new (pool_.malloc()) T(value); }
  void release(handle object) {
    object->~T();
    pool_.free(object);
  }

private:
  boost::pool<> pool_;
};

template <class T>
class boost_counted_objects {
  struct object : counted<T> {
    using counted<T>::counted;
    friend void intrusive_ptr_add_ref(object* each) noexcept { ++each->uses; }
    friend void intrusive_ptr_release(object* each) noexcept {
      if (--each->uses == 0) delete each;
    }
  };

public:
  using handle = boost::intrusive_ptr<object>;

  explicit boost_counted_objects(std::size_t) {}
  handle acquire(std::uint64_t value) { return handle(new object(value)); }
  void release(handle& each) noexcept { each = nullptr; }
};

// The limit with a count: one free list for the whole program, so that objects need no pointer to their pool.
template <class T>
class counted_list_objects {
  struct object : counted<T> {
    using counted<T>::counted;
    friend void intrusive_ptr_add_ref(object* each) noexcept { ++each->uses; }
    friend void intrusive_ptr_release(object* each) noexcept {
      if (--each->uses != 0) return;
      each->~object();
      cells->put(each);
    }
    static inline free_list_cells<object>* cells = nullptr;
  };

public:
  using handle = boost::intrusive_ptr<object>;

  explicit counted_list_objects(std::size_t step) : cells_(step) { object::cells = &cells_; }
  handle acquire(std::uint64_t value) { return handle(::new (object::cells->take()) object(value)); }
  void release(handle& each) noexcept { each = nullptr; }

private:
  free_list_cells<object> cells_;
};

#endif

#if ASHLAR_BENCH_HAS_FOONATHAN

template <class T>
class foonathan_objects {
  using pool = foonathan::memory::memory_pool<>;

public:
  using handle = T*;

  explicit foonathan_objects(std::size_t step) : pool_(sizeof(T), pool::min_block_size(sizeof(T), step)) {}
  handle acquire(std::uint64_t value) { return ::new (pool_.allocate_node()) T(value); }
  void release(handle object) noexcept {
    object->~T();
    pool_.deallocate_node(object);
  }

private:
  pool pool_;
};

#endif

}  // namespace bench
