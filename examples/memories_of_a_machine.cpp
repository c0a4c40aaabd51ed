// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table on huge pages, and the memory of a thread on its own NUMA node: both with the system's pages as a fallback.
#include <cstddef>
#include <cstdio>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/huge_page_resource.hpp>
#include <ashlar/resource/numa_resource.hpp>

namespace {

// Looked up at random all the time: one entry of the TLB serves 2 MiB of it in place of 4 KiB.
std::size_t sum_of_a_table(std::size_t count) {
  ashlar::huge_page_resource pages;
  std::vector<std::size_t, ashlar::allocator<std::size_t, ashlar::huge_page_resource>> table(count, 1, pages);
  std::size_t sum = 0;
  for (std::size_t i = 0, at = 0; i < count; ++i, at = (at + 40'503) % count) sum += table[at];
  return sum;
}

// A worker's arena on the node where the worker runs; and one of pages on all nodes in turn, for what all read.
bool allocates_on_nodes() {
  ashlar::arena<ashlar::numa_resource> of_a_worker({}, ashlar::numa_resource(ashlar::numa_node{0}));
  ashlar::arena<ashlar::numa_resource> of_all;
  return of_a_worker.allocate(1000, 8) != nullptr && of_all.allocate(1000, 8) != nullptr;
}

}  // namespace

int main() {
  constexpr std::size_t count = std::size_t{1} << 20;
  std::printf("nodes: %zu, sum: %zu\n", ashlar::numa_resource::node_count(), sum_of_a_table(count));
  return sum_of_a_table(count) == count && allocates_on_nodes() ? 0 : 1;
}
