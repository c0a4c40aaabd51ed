// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The forms of a free, each as a subject of the fault matrix.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "tests/death/matrix/subject.hpp"

namespace fault_matrix {

/// An object for every typed interface; final, since a pointer into it could be a pointer to a base otherwise.
struct alignas(block_alignment) cargo final {
  std::byte bytes[64];
};

template <class R>
void trim(R& resource) {
  if constexpr (requires { resource.trim(); }) static_cast<void>(resource.trim());
}

/// Owns an `R`.
template <class R>
class owning_subject : public subject {
public:
  template <class... Args>
  explicit owning_subject(Args&&... args) : resource_(std::forward<Args>(args)...) {}
  void trim() override { fault_matrix::trim(resource_); }

protected:
  R resource_;
};

/// `deallocate(p, bytes, alignment)`.
template <class R>
struct sized : owning_subject<R> {
  using owning_subject<R>::owning_subject;
  void* take(std::size_t bytes) override { return this->resource_.allocate(bytes, block_alignment); }
  void give(void* p, std::size_t bytes, std::size_t alignment) override {
    this->resource_.deallocate(p, bytes, alignment);
  }
};

/// `deallocate(p)` of a resource that finds the size itself.
template <class R>
struct unsized : owning_subject<R> {
  using owning_subject<R>::owning_subject;
  void* take(std::size_t bytes) override { return this->resource_.allocate(bytes, block_alignment); }
  void give(void* p, std::size_t, std::size_t) override { this->resource_.deallocate(p); }
};

/// `allocate()` and `deallocate(p)` of a pool of cells.
template <class R>
struct cells : owning_subject<R> {
  using owning_subject<R>::owning_subject;
  void* take(std::size_t) override { return this->resource_.allocate(); }
  void give(void* p, std::size_t, std::size_t) override { this->resource_.deallocate(p); }
};

/// `acquire()` and `release(object)`.
template <class Pool>
struct acquired : owning_subject<Pool> {
  using owning_subject<Pool>::owning_subject;
  using object = typename Pool::value_type;
  void* take(std::size_t) override { return this->resource_.acquire(); }
  void give(void* p, std::size_t, std::size_t) override { this->resource_.release(static_cast<object*>(p)); }
};

/// An allocator of objects: `deallocate(p, n)`.
template <class Allocator>
class counted_objects_of : public subject {
public:
  template <class... Args>
  explicit counted_objects_of(Args&&... args) : allocator_(std::forward<Args>(args)...) {}
  void* take(std::size_t) override { return allocator_.allocate(1); }
  void give(void* p, std::size_t bytes, std::size_t) override {
    allocator_.deallocate(static_cast<cargo*>(p), bytes / sizeof(cargo));
  }
  void trim() override {}

private:
  Allocator allocator_;
};

template <class Subject, class... Args>
[[nodiscard]] std::function<std::unique_ptr<subject>()> maker(Args... args) {
  return [args...] { return std::make_unique<Subject>(args...); };
}

}  // namespace fault_matrix
