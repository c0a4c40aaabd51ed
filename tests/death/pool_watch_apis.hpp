// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every resource with cells of fixed sizes behind one interface, for tests with forbidden writes.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <span>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

namespace ashlar_test {

/// A resource for blocks of `bytes` bytes, aligned to `cell_alignment`.
class watched_cells {
public:
  static constexpr std::size_t cell_alignment = 8;

  watched_cells() = default;
  watched_cells(const watched_cells&) = delete;
  watched_cells& operator=(const watched_cells&) = delete;
  virtual ~watched_cells() = default;

  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void deallocate(void* p, std::size_t bytes) = 0;
  /// Returns: the bytes of such a block that its owner may use.
  [[nodiscard]] virtual std::size_t usable(std::size_t bytes) const { return bytes; }
  /// Effects: verifies all cells; ends live ones if the resource has no other call for it.
  virtual void sweep() = 0;
};

/// A resource with frees by size and alignment.
template <class R>
class sized_cells : public watched_cells {
public:
  template <class... Args>
  explicit sized_cells(const Args&... args) : pool_(args...) {}
  [[nodiscard]] void* allocate(std::size_t bytes) override { return pool_.allocate(bytes, cell_alignment); }
  void deallocate(void* p, std::size_t bytes) override { pool_.deallocate(p, bytes, cell_alignment); }
  void sweep() override {
    if constexpr (requires { pool_.trim(); }) static_cast<void>(pool_.trim());
    else pool_.release();
  }

protected:
  R pool_;
};

/// A pool by its own calls, without sizes: each request is a whole cell.
template <class Pool>
class whole_cells : public sized_cells<Pool> {
public:
  explicit whole_cells(std::size_t bytes)
      : sized_cells<Pool>(ashlar::block_pool_options{.cell_bytes = bytes, .cell_alignment = 8}) {}
  [[nodiscard]] void* allocate(std::size_t) override { return this->pool_.allocate(); }
  [[nodiscard]] std::size_t usable(std::size_t) const override { return this->pool_.cell_bytes(); }
  void deallocate(void* p, std::size_t) override { this->pool_.deallocate(p); }
};

/// A pool by its batches.
class many_cells : public whole_cells<ashlar::block_pool<>> {
public:
  using whole_cells::whole_cells;
  [[nodiscard]] void* allocate(std::size_t) override {
    void* cell = nullptr;
    pool_.allocate_many({&cell, 1});
    return cell;
  }
  void deallocate(void* p, std::size_t) override { pool_.deallocate_many({&p, 1}); }
};

/// A resource by the standard's interface.
template <class R>
class pmr_cells : public watched_cells {
public:
  [[nodiscard]] void* allocate(std::size_t bytes) override { return face().allocate(bytes, cell_alignment); }
  void deallocate(void* p, std::size_t bytes) override { face().deallocate(p, bytes, cell_alignment); }
  void sweep() override { pool_.release(); }

private:
  [[nodiscard]] std::pmr::memory_resource& face() { return pool_; }
  R pool_;
};

template <std::size_t Bytes>
struct alignas(8) watched_object {
  std::byte bytes[Bytes];
};

/// The process-wide pool of objects of a size.
template <std::size_t Bytes, class Lock>
class process_cells : public watched_cells {
public:
  [[nodiscard]] void* allocate(std::size_t) override { return from_.allocate(1); }
  void deallocate(void* p, std::size_t) override { from_.deallocate(static_cast<watched_object<Bytes>*>(p), 1); }
  void sweep() override {
    from_.with_pool([](auto& pool) { static_cast<void>(pool.trim()); });
  }

private:
  ashlar::pool_allocator<watched_object<Bytes>, Lock> from_;
};

/// Cells with a size known at compile time.
template <std::size_t Bytes>
using fixed_cells = sized_cells<ashlar::fixed_block_pool<Bytes, 8>>;

/// A pool with cells of `bytes` bytes or a few more, freed by size.
template <class Pool>
class roomy_cells : public sized_cells<Pool> {
public:
  explicit roomy_cells(std::size_t bytes)
      : sized_cells<Pool>(ashlar::block_pool_options{.cell_bytes = bytes, .cell_alignment = 8}) {}
};

/// Effects: calls `f(name, cells)` for every resource with cells for blocks of `bytes`.
template <class F>
void for_each_watched(std::size_t bytes, F f) {
  const auto with = [&](const char* name, auto&& cells) { f(name, static_cast<watched_cells&>(cells)); };
  with("block_pool", whole_cells<ashlar::block_pool<>>(bytes));
  with("block_pool, by size", roomy_cells<ashlar::block_pool<>>(bytes));
  with("block_pool, in batches", many_cells(bytes));
  with("synchronized block_pool", roomy_cells<ashlar::synchronized<ashlar::block_pool<>, std::mutex>>(bytes));
  with("shared_block_pool", whole_cells<ashlar::shared_block_pool<>>(bytes));
  with("shared_block_pool, by size", roomy_cells<ashlar::shared_block_pool<>>(bytes));
  with("pool_set", sized_cells<ashlar::pool_set<>>());
  with("shared_pool_set", sized_cells<ashlar::shared_pool_set<>>());
  with("pmr::unsynchronized_pool_resource", pmr_cells<ashlar::pmr::unsynchronized_pool_resource>());
  with("pmr::synchronized_pool_resource", pmr_cells<ashlar::pmr::synchronized_pool_resource>());
}

/// As `for_each_watched`, for the types with cells of `Bytes` bytes.
template <std::size_t Bytes, class F>
void for_each_watched_type(F f) {
  const auto with = [&](const char* name, auto&& cells) { f(name, static_cast<watched_cells&>(cells)); };
  with("fixed_block_pool", fixed_cells<Bytes>());
  with("pool_allocator, one_thread", process_cells<Bytes, ashlar::one_thread>());
  with("pool_allocator, spin_lock", process_cells<Bytes, ashlar::spin_lock>());
  with("pool_allocator, std::mutex", process_cells<Bytes, std::mutex>());
  with("pool_allocator, thread_cached", process_cells<Bytes, ashlar::thread_cached>());
}

}  // namespace ashlar_test
