// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of the fault matrix: pools for all sizes, their large blocks, and their interfaces for the standard's pmr.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

#include "tests/death/matrix/subjects.hpp"

namespace fault_matrix {
namespace {

constexpr std::size_t large_block = 65536;  // above 32 KiB, the limit of cells
constexpr std::size_t large_loose = 50001;

// The system's pages, with a page at each side: otherwise the neighbours of a large block would vary.
struct padded_pages {
  static constexpr bool is_thread_safe = true;
  static constexpr std::size_t page = 4096;

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    const std::size_t pad = std::max(page, alignment);
    return static_cast<std::byte*>(ashlar::page_resource().allocate(bytes + 2 * pad, pad)) + pad;
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t pad = std::max(page, alignment);
    ashlar::page_resource().deallocate(static_cast<std::byte*>(p) - pad, bytes + 2 * pad, pad);
  }
  [[nodiscard]] friend bool operator==(const padded_pages&, const padded_pages&) noexcept { return true; }
};

struct on_pages {
  ashlar::pmr_resource<padded_pages> pages;
};

template <class Pools>
struct pmr_pools : private on_pages, public sized<Pools> {
  pmr_pools() : sized<Pools>(&pages) {}
  void trim() override { static_cast<void>(this->resource_.pools().trim()); }
};

void add(std::vector<interface>& rows, const char* name, std::function<std::unique_ptr<subject>()> make,
         misuses allows = {}) {
  rows.push_back({.name = name, .make = make, .allows = allows});
  rows.push_back({.name = std::string(name) + ", large",
                  .make = std::move(make),
                  .exact = large_block,
                  .loose = large_loose,
                  .allows = allows,
                  .promised_at_fast = misuse::exact_over_1 | misuse::exact_over_8});
}

}  // namespace

std::span<const interface> pool_sets() {
  static const std::vector<interface> rows = [] {
    std::vector<interface> made;
    add(made, "pool_set", maker<sized<ashlar::pool_set<padded_pages>>>());
    add(made, "shared_pool_set", maker<sized<ashlar::shared_pool_set<padded_pages>>>());
    add(made, "pmr::unsynchronized_pool_resource", maker<pmr_pools<ashlar::pmr::unsynchronized_pool_resource>>(),
        misuse::leak);
    add(made, "pmr::synchronized_pool_resource", maker<pmr_pools<ashlar::pmr::synchronized_pool_resource>>(),
        misuse::leak);
    return made;
  }();
  return rows;
}

}  // namespace fault_matrix
