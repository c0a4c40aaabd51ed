// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared objects in process-wide pools, for C++11: std::shared_ptr, and a counted pointer of one word.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include <ashlar/cxx11/pool.hpp>
#include <ashlar/cxx11/pool_allocator.hpp>

namespace ashlar {
namespace cxx11 {
inline namespace ASHLAR_CORE_ABI {

/// As `std::make_shared`, in one cell of a pool.
template <class T, class... Args>
std::shared_ptr<T> allocate_shared_pooled(Args&&... args) {
  return std::allocate_shared<T>(pool_allocator<T>(), std::forward<Args>(args)...);
}

/// A counted pointer of one word to an object and its count, in one cell of a pool. No weak pointers, no conversions.
/// Thread safety: as `std::shared_ptr`.
template <class T>
class ref_ptr {
public:
  ref_ptr() noexcept : cell_(nullptr) {}
  ref_ptr(std::nullptr_t) noexcept : cell_(nullptr) {}
  ref_ptr(const ref_ptr& other) noexcept : cell_(other.cell_) {
    if (cell_ != nullptr) cell_->count.fetch_add(1, std::memory_order_relaxed);
  }
  ref_ptr(ref_ptr&& other) noexcept : cell_(other.cell_) { other.cell_ = nullptr; }
  ref_ptr& operator=(ref_ptr other) noexcept {
    swap(other);
    return *this;
  }
  ~ref_ptr() {
    if (cell_ == nullptr || cell_->count.fetch_sub(1, std::memory_order_release) != 1) return;
    std::atomic_thread_fence(std::memory_order_acquire);
    cell_->~cell();
    cells::deallocate(cell_);
  }

  /// Throws: `std::bad_alloc`; as the constructor, after the cell is given back.
  template <class... Args>
  static ref_ptr make(Args&&... args) {
    struct unbuilt {
      void* memory;
      ~unbuilt() {
        if (memory != nullptr) cells::deallocate(memory);
      }
    } held = {cells::allocate()};
    ref_ptr made;
    made.cell_ = ::new (held.memory) cell(std::forward<Args>(args)...);
    held.memory = nullptr;
    return made;
  }

  T* get() const noexcept { return cell_ == nullptr ? nullptr : &cell_->object; }
  T& operator*() const noexcept { return cell_->object; }
  T* operator->() const noexcept { return &cell_->object; }
  explicit operator bool() const noexcept { return cell_ != nullptr; }
  std::size_t use_count() const noexcept { return cell_ == nullptr ? 0 : cell_->count.load(std::memory_order_relaxed); }
  void reset() noexcept { ref_ptr().swap(*this); }
  void swap(ref_ptr& other) noexcept { std::swap(cell_, other.cell_); }

  friend bool operator==(const ref_ptr& a, const ref_ptr& b) noexcept { return a.cell_ == b.cell_; }
  friend bool operator!=(const ref_ptr& a, const ref_ptr& b) noexcept { return a.cell_ != b.cell_; }

private:
  struct cell {
    template <class... Args>
    explicit cell(Args&&... args) : count(1), object(std::forward<Args>(args)...) {}

    std::atomic<std::uint32_t> count;
    T object;
  };
  using cells = pool<sizeof(cell), alignof(cell)>;

  cell* cell_;
};

/// Returns: a new object with one pointer to it.
template <class T, class... Args>
ref_ptr<T> make_ref(Args&&... args) {
  return ref_ptr<T>::make(std::forward<Args>(args)...);
}

}  // namespace ASHLAR_CORE_ABI
}  // namespace cxx11
}  // namespace ashlar

namespace std {

template <class T>
struct hash<ashlar::cxx11::ref_ptr<T>> {
  size_t operator()(const ashlar::cxx11::ref_ptr<T>& p) const noexcept { return hash<T*>()(p.get()); }
};

}  // namespace std
