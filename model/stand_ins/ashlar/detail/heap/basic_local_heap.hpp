// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: a thread cache of one free list in front of a core, behind the same calls.
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/cell_store.hpp>
#include <ashlar/detail/heap/heap_core.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

[[nodiscard]] inline void* zeroed(const slice_run& got, std::size_t) noexcept { return got.data; }

template <class Core>
class basic_local_heap {
public:
  static constexpr std::size_t least_alignment = 16;

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) { return try_allocate(bytes, alignment); }
  [[nodiscard]] void* try_allocate(std::size_t, std::size_t) noexcept {
    void* const cell = lists_.pop();
    return cell != nullptr ? cell : core_.take_cell(1, lists_);
  }
  template <std::size_t Bytes, std::size_t Alignment>
  [[nodiscard]] void* allocate() {
    return try_allocate(Bytes, Alignment);
  }
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment) {
    return {try_allocate(bytes, alignment), bytes};
  }
  [[nodiscard]] void* allocate_zeroed(std::size_t bytes, std::size_t alignment) { return allocate(bytes, alignment); }
  [[nodiscard]] void* try_allocate_zeroed(std::size_t bytes, std::size_t alignment) noexcept {
    return try_allocate(bytes, alignment);
  }
  [[nodiscard]] slice_run try_allocate_unzeroed(std::size_t bytes, std::size_t alignment) noexcept {
    return {try_allocate(bytes, alignment), false};
  }
  void deallocate(void* p) noexcept { lists_.push(0, p); }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { lists_.push(0, p); }
  template <std::size_t Bytes, std::size_t Alignment>
  void deallocate(void* p) noexcept {
    lists_.push(0, p);
  }
  [[nodiscard]] bool try_expand(void* p, std::size_t, std::size_t new_bytes, std::size_t) noexcept {
    return core_.resize(p, size_classes::none, size_classes::none, new_bytes);
  }
  [[nodiscard]] bool try_shrink(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return try_expand(p, bytes, new_bytes, alignment);
  }
  [[nodiscard]] void* reallocate(void* p, std::size_t new_bytes, std::size_t alignment) {
    return try_reallocate(p, new_bytes, alignment);
  }
  [[nodiscard]] void* try_reallocate(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    return try_expand(p, 0, new_bytes, alignment) ? p : nullptr;
  }
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept { return core_.usable_size(p); }
  [[nodiscard]] bool owns(const void* p) const noexcept { return core_.owns(p); }
  template <class F>
  void for_each_live(F f) {
    core_.for_each_live(std::move(f));
  }
  template <class F>
  void inspect(F f) const {
    core_.inspect(std::move(f), lists_);
  }
  void release() noexcept { core_.release(); }
  std::size_t trim(std::size_t retain_bytes) noexcept { return core_.trim(retain_bytes, lists_); }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return core_.held_bytes(); }
  [[nodiscard]] const auto& upstream_resource() const noexcept { return core_.upstream(); }
  [[nodiscard]] std::size_t table_bytes() const noexcept { return core_.table_bytes(); }
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept { return core_.reused_bytes(); }
  [[nodiscard]] std::size_t segments() const noexcept { return core_.segments(); }
  [[nodiscard]] bool invariant() const noexcept { return core_.invariant(lists_); }

protected:
  template <class... Args>
  explicit basic_local_heap(Args&&... args) : core_(std::forward<Args>(args)..., this) {}

  [[nodiscard]] static constexpr std::size_t class_for(std::size_t, std::size_t) noexcept { return 1; }
  template <class Otherwise>
  [[nodiscard]] void* take_cell_or(std::size_t, std::size_t, Otherwise otherwise) {
    void* const cell = lists_.pop();
    return cell != nullptr ? cell : otherwise();
  }
  [[nodiscard]] Core& core() noexcept { return core_; }
  [[nodiscard]] const Core& core() const noexcept { return core_; }
  [[nodiscard]] bool try_resize(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    return try_expand(p, 0, new_bytes, alignment);
  }
  [[nodiscard]] bool try_deallocate_cell(void* p, std::size_t, std::size_t) noexcept {
    lists_.push(0, p);
    return true;
  }
  void flush_caches() noexcept { core_.flush_caches(lists_); }
  void forget_cache() noexcept { lists_.top = nullptr; }

private:
  free_lists lists_;
  Core core_;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
