// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of the fault matrix: pools of one cell size, and the allocators on them.
#include <memory_resource>
#include <string>
#include <vector>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/death/matrix/subjects.hpp"

namespace fault_matrix {
namespace {

using ashlar::block_pool_options;
using fixed = ashlar::fixed_block_pool<64>;
using shared = ashlar::shared_block_pool<>;

// An allocator passes a count of objects, so that parts of an object are unknown.
constexpr misuses no_parts = misuse::one_byte_less | misuse::one_byte_more | misuse::wrong_alignment | loose_writes;
constexpr misuses of_process = no_parts | misuse::leak | misuse::other_instance;

// Cells in a row, or each as a batch of its own.
struct runs : owning_subject<ashlar::block_pool<>> {
  using owning_subject::owning_subject;
  void* take(std::size_t bytes) override { return resource_.allocate_run(bytes / resource_.cell_bytes()); }
  void give(void* p, std::size_t bytes, std::size_t) override {
    resource_.deallocate_run(p, bytes / resource_.cell_bytes());
  }
};

struct batches : owning_subject<ashlar::block_pool<>> {
  using owning_subject::owning_subject;
  void* take(std::size_t) override {
    void* cell = nullptr;
    resource_.allocate_many({&cell, 1});
    return cell;
  }
  void give(void* p, std::size_t, std::size_t) override { resource_.deallocate_many({&p, 1}); }
};

struct by_pmr : owning_subject<ashlar::pmr_resource<ashlar::block_pool<>>> {
  using owning_subject::owning_subject;
  void* take(std::size_t bytes) override { return standards().allocate(bytes, block_alignment); }
  void give(void* p, std::size_t bytes, std::size_t alignment) override { standards().deallocate(p, bytes, alignment); }
  [[nodiscard]] std::pmr::memory_resource& standards() { return resource_; }
};

template <class Pool>
struct pool_and_allocator : subject {
  void* take(std::size_t) override { return allocator.allocate(1); }
  void give(void* p, std::size_t bytes, std::size_t) override {
    allocator.deallocate(static_cast<cargo*>(p), bytes / sizeof(cargo));
  }
  void trim() override { fault_matrix::trim(pool); }

  Pool pool{block_pool_options{.cell_bytes = sizeof(cargo)}};
  ashlar::allocator<cargo, Pool> allocator{pool};
};

[[nodiscard]] interface cells_of(std::size_t bytes, const std::string& name) {
  return {.name = "block_pool, " + name,
          .make = maker<cells<ashlar::block_pool<>>>(block_pool_options{.cell_bytes = bytes}),
          .exact = bytes,
          .cannot_express = no_sizes};
}

[[nodiscard]] interface runs_of(std::size_t count, std::size_t bytes, const std::string& name) {
  return {.name = "block_pool, run" + name,
          .make = maker<runs>(block_pool_options{.cell_bytes = bytes}),
          .exact = count * bytes,
          .cannot_express = no_parts};
}

// The pool outlives every subject, but not its slabs.
template <class Lock>
struct process_wide : counted_objects_of<ashlar::pool_allocator<cargo, Lock>> {
  void trim() override {
    ashlar::pool_allocator<cargo, Lock>::with_pool([](auto& pool) { fault_matrix::trim(pool); });
  }
};

}  // namespace

std::span<const interface> pools() {
  const block_pool_options options = {.cell_bytes = 64};
  static const std::vector<interface> rows = {
      {.name = "block_pool, cell", .make = maker<cells<ashlar::block_pool<>>>(options), .cannot_express = no_sizes},
      {.name = "block_pool, sized", .make = maker<sized<ashlar::block_pool<>>>(options)},
      {.name = "block_pool, by pmr", .make = maker<by_pmr>(options)},
      cells_of(1, "1 byte"),
      cells_of(17, "17 bytes"),
      cells_of(24, "24 bytes"),
      cells_of(1000, "1000 bytes"),
      cells_of(4096, "4 KiB"),
      cells_of(65536, "64 KiB"),
      {.name = "block_pool, batch", .make = maker<batches>(options), .cannot_express = no_sizes},
      runs_of(8, 64, ""),
      runs_of(2, 1000, " of 2"),
      runs_of(48, 24, " of 48"),
      {.name = "fixed_block_pool, cell", .make = maker<cells<fixed>>(), .cannot_express = no_sizes},
      {.name = "fixed_block_pool, sized", .make = maker<sized<fixed>>()},
      {.name = "shared_block_pool, cell", .make = maker<cells<shared>>(options), .cannot_express = no_sizes},
      {.name = "shared_block_pool, sized", .make = maker<sized<shared>>(options)},
      {.name = "allocator on block_pool",
       .make = maker<pool_and_allocator<ashlar::block_pool<>>>(),
       .cannot_express = no_parts},
      {.name = "allocator on shared_block_pool",
       .make = maker<pool_and_allocator<shared>>(),
       .cannot_express = no_parts},
      {.name = "pool_allocator, one_thread",
       .make = maker<process_wide<ashlar::one_thread>>(),
       .cannot_express = of_process},
      {.name = "pool_allocator, spin_lock",
       .make = maker<process_wide<ashlar::spin_lock>>(),
       .cannot_express = of_process},
      {.name = "pool_allocator, thread_cached",
       .make = maker<process_wide<ashlar::thread_cached>>(),
       .cannot_express = of_process},
  };
  return rows;
}

}  // namespace fault_matrix
