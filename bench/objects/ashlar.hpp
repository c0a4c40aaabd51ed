// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The library's own pools of objects in the form of the peers: see peers.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/shared_pooled.hpp>

#include "object.hpp"

namespace bench {

// `step` objects in one block.
template <class T>
class ashlar_objects {
public:
  using handle = T*;

  explicit ashlar_objects(std::size_t step) : pool_(step) { pool_.reserve(); }
  handle acquire(std::uint64_t value) { return pool_.acquire(value); }
  void release(handle object) noexcept { pool_.release(object); }

private:
  ashlar::object_pool<T, ashlar::with_capacity<ashlar::dynamic_capacity>> pool_;
};

template <class T>
class ashlar_handles {
public:
  using handle = typename ashlar::object_pool<T, ashlar::with_capacity<ashlar::dynamic_capacity>>::handle;

  explicit ashlar_handles(std::size_t step) : pool_(step) { pool_.reserve(); }
  handle acquire(std::uint64_t value) { return pool_.make(value); }
  void release(handle& object) noexcept { object = nullptr; }

private:
  ashlar::object_pool<T, ashlar::with_capacity<ashlar::dynamic_capacity>> pool_;
};

template <class T>
class ashlar_growing_objects {
public:
  using handle = T*;

  explicit ashlar_growing_objects(std::size_t step) : pool_({.growth_count = step}) { pool_.reserve(step); }
  handle acquire(std::uint64_t value) { return pool_.acquire(value); }
  void release(handle object) noexcept { pool_.release(object); }

private:
  ashlar::object_pool<T> pool_;
};

template <class T>
class ashlar_ref_objects {
public:
  using handle = typename ashlar::ref_pool<T>::pointer;

  explicit ashlar_ref_objects(std::size_t step) { pool_.reserve(step); }
  handle acquire(std::uint64_t value) { return pool_.make(value); }
  void release(handle& object) noexcept { object = nullptr; }

private:
  ashlar::ref_pool<T> pool_;
};

// A final class: the offset of its count is known without access to the slab.
template <class T>
struct final_object final : T {
  using T::T;
};

template <class T>
using ashlar_final_objects = ashlar_ref_objects<final_object<T>>;

template <class T>
class ashlar_intrusive_objects {
public:
  using handle = typename ashlar::intrusive_pool<T>::pointer;

  explicit ashlar_intrusive_objects(std::size_t step) : pool_({.growth_count = step}) { pool_.reserve(step); }
  handle acquire(std::uint64_t value) { return pool_.make(value); }
  void release(handle& object) noexcept { object = nullptr; }

private:
  ashlar::intrusive_pool<T> pool_;
};

struct kept_traits : ashlar::intrusive_pool_traits {
  using lifetime = ashlar::keep_constructed<>;
};

template <class T>
class ashlar_kept_objects {
  using pool = ashlar::intrusive_pool<T, kept_traits>;

public:
  using handle = typename pool::pointer;

  explicit ashlar_kept_objects(std::size_t step) : pool_({.growth_count = step}) { pool_.reserve(step); }
  handle acquire(std::uint64_t value) {
    handle object = pool_.make();
    object->init(value);
    return object;
  }
  void release(handle& object) noexcept { object = nullptr; }

private:
  pool pool_;
};

template <class T>
class ashlar_shared_objects {
public:
  using handle = std::shared_ptr<T>;

  explicit ashlar_shared_objects(std::size_t) {}
  handle acquire(std::uint64_t value) { return ashlar::allocate_shared_pooled<T>(value); }
  void release(handle& object) noexcept { object = nullptr; }
};

}  // namespace bench
