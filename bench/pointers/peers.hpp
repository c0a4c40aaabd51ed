// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The counted pointers to a value, each a class with `pointer` and `make(value)`. Its destructor frees the memory that
// it kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>

#include <ashlar/face/counted_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>
#include <ashlar/face/shared_pooled.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

#include "objects/peers.hpp"

#if ASHLAR_BENCH_HAS_BOOST
#include <boost/pool/pool.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#endif

namespace bench {

template <class T>
struct shared_of_new {
  using pointer = std::shared_ptr<T>;
  pointer make(T value) { return pointer(new T(value)); }
};

template <class T>
struct shared_at_once {
  using pointer = std::shared_ptr<T>;
  pointer make(T value) { return std::make_shared<T>(value); }
};

// Counts with atomic instructions: libstdc++ does so after a second thread was started.
template <class T>
struct shared_atomic : shared_at_once<T> {
  shared_atomic() {
    std::thread([] {}).join();
  }
};

template <class T>
class shared_of_pmr_pool {
public:
  using pointer = std::shared_ptr<T>;
  pointer make(T value) { return std::allocate_shared<T>(std::pmr::polymorphic_allocator<T>(&resource_), value); }

private:
  std::pmr::unsynchronized_pool_resource resource_;
};

// A pointer beside its count, one word each, to values without a count: `Values` makes and frees values, `Counts` makes
// counts and drops one, both without state.
template <class T, class Values, class Counts>
class two_word_pointer {
public:
  two_word_pointer() = default;
  explicit two_word_pointer(T value) : value_(Values::make(value)), count_(Counts::make(1)) {}
  two_word_pointer(const two_word_pointer& other) noexcept : value_(other.value_), count_(other.count_) {
    if (count_ != nullptr) Counts::add(count_);
  }
  two_word_pointer(two_word_pointer&& other) noexcept
      : value_(std::exchange(other.value_, nullptr)), count_(std::exchange(other.count_, nullptr)) {}
  two_word_pointer& operator=(two_word_pointer other) noexcept {
    std::swap(value_, other.value_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~two_word_pointer() {
    if (count_ != nullptr && Counts::drop(count_)) Values::free(value_);
  }
  T& operator*() const noexcept { return *value_; }

private:
  T* value_ = nullptr;
  typename Counts::counter* count_ = nullptr;
};

#if ASHLAR_BENCH_HAS_BOOST

template <class T>
struct intrusive_value {
  explicit intrusive_value(T initial) : value(initial) {}
  operator T() const noexcept { return value; }
  T value;
  std::uint32_t uses = 0;
};

template <class T>
class intrusive_of_new {
  struct object : intrusive_value<T> {
    using intrusive_value<T>::intrusive_value;
    friend void intrusive_ptr_add_ref(object* each) noexcept { ++each->uses; }
    friend void intrusive_ptr_release(object* each) noexcept {
      if (--each->uses == 0) delete each;
    }
  };

public:
  using pointer = boost::intrusive_ptr<object>;
  pointer make(T value) { return pointer(new object(value)); }
};

// The limit: one free list for the whole program, in chunks of 1 MiB.
template <class T>
class intrusive_of_list {
  struct object : intrusive_value<T> {
    using intrusive_value<T>::intrusive_value;
    friend void intrusive_ptr_add_ref(object* each) noexcept { ++each->uses; }
    friend void intrusive_ptr_release(object* each) noexcept {
      if (--each->uses == 0) cells->put(each);
    }
    static inline free_list_cells<object>* cells = nullptr;
  };

public:
  using pointer = boost::intrusive_ptr<object>;
  intrusive_of_list() { object::cells = &cells_; }
  pointer make(T value) { return pointer(::new (object::cells->take()) object(value)); }

private:
  free_list_cells<object> cells_{(std::size_t{1} << 20) / sizeof(object)};
};

template <class T>
struct boost_cells {
  static T* make(T value) { return ::new (pool->malloc()) T(value); }
  static void free(T* value) noexcept { pool->free(value); }
  static inline boost::pool<>* pool = nullptr;
};

template <class T>
class two_words_of_boost_pools {
  using values = boost_cells<T>;
  struct counts : boost_cells<std::uint32_t> {
    using counter = std::uint32_t;
    static void add(counter* count) noexcept { ++*count; }
    static bool drop(counter* count) noexcept {
      if (--*count != 0) return false;
      boost_cells<counter>::free(count);
      return true;
    }
  };

public:
  using pointer = two_word_pointer<T, values, counts>;
  two_words_of_boost_pools() {
    values::pool = &values_;
    counts::pool = &counts_;
  }
  pointer make(T value) { return pointer(value); }

private:
  static constexpr std::size_t chunk = (std::size_t{1} << 20) / sizeof(void*);
  boost::pool<> values_{sizeof(T), chunk, chunk};
  boost::pool<> counts_{sizeof(std::uint32_t), chunk, chunk};
};

#endif

template <class T>
class two_words_of_ashlar_pools {
  struct values {
    static T* make(T value) { return ::new (pool->allocate()) T(value); }
    static void free(T* value) noexcept { pool->deallocate(value); }
    static inline ashlar::fixed_block_pool<sizeof(T)>* pool = nullptr;
  };
  struct counts {
    using counter = ashlar::counted_pool<>::counter_type;
    static counter* make(std::uint32_t owners) { return pool->make(owners); }
    static void add(counter* count) noexcept { count->add(); }
    static bool drop(counter* count) noexcept { return pool->drop(count); }
    static inline ashlar::counted_pool<>* pool = nullptr;
  };

public:
  using pointer = two_word_pointer<T, values, counts>;
  two_words_of_ashlar_pools() {
    values::pool = &values_;
    counts::pool = &counts_;
  }
  pointer make(T value) { return pointer(value); }

private:
  ashlar::fixed_block_pool<sizeof(T)> values_;
  ashlar::counted_pool<> counts_;
};

template <class T, class Threads, class Placement = ashlar::count::by_padding>
class ashlar_ref_pointers {
public:
  using pointer = ashlar::ref_ptr<T, Threads, Placement>;
  pointer make(T value) { return pool_.make(value); }

private:
  ashlar::ref_pool<T, Threads, Placement> pool_;
};

template <class T>
using ashlar_one_thread = ashlar_ref_pointers<T, ashlar::one_thread>;
/// The count in the place that is not the default: beside a double, away from an int.
template <class T>
using ashlar_elsewhere =
    ashlar_ref_pointers<T, ashlar::one_thread,
                        std::conditional_t<(alignof(T) > 4), ashlar::count::beside, ashlar::count::in_slab>>;
template <class T>
using ashlar_any_thread = ashlar_ref_pointers<T, ashlar::any_thread<>>;

template <class T>
struct ashlar_shared {
  using pointer = std::shared_ptr<T>;
  pointer make(T value) { return ashlar::allocate_shared_pooled<T, ashlar::one_thread>(value); }
};

}  // namespace bench
