// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small blocks from a pool, larger ones from chained buffers, the largest from the heap: by size alone, in both ways.
#include <cstddef>
#include <cstdio>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <ashlar/adaptor/chain.hpp>
#include <ashlar/adaptor/segregator.hpp>
#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace {

using small = ashlar::block_pool<>;
using medium = ashlar::chain<ashlar::buffer_resource>;
using large = ashlar::statistics<ashlar::new_delete_resource>;
using beyond_small = ashlar::segregator<medium, large>;
// The limit of the small ones is known at compile time, and costs no byte.
using memory = ashlar::segregator<small, beyond_small, ashlar::fixed_threshold<64, 16>>;

struct piece {
  void* data;
  std::size_t bytes;
};

}  // namespace

int main() {
  const ashlar::chain_options buffers = {.room_bytes = 256 * 1024, .renew_empty = true};
  memory all({}, std::piecewise_construct, std::tuple(ashlar::block_pool_options{.cell_bytes = 64}),
             std::tuple(ashlar::threshold{4096}, std::piecewise_construct, std::tuple(buffers), std::tuple()));
  const beyond_small& rest = all.large_side();
  std::mt19937 random(1);
  std::vector<piece> pieces;
  for (int i = 0; i < 10'000; ++i) {
    const std::size_t bytes = std::size_t{1} << random() % 14;
    pieces.push_back({all.allocate(bytes, 8), bytes});
  }
  const std::size_t cells = all.small_side().live();
  const std::size_t chained = rest.small_side().count();
  const std::size_t from_heap = rest.large_side().counters().live_blocks;
  std::printf("10000 pieces: %zu cells of the pool, %zu chained buffers, %zu blocks of the heap\n", cells, chained,
              from_heap);
  for (const piece& each : pieces) all.deallocate(each.data, each.bytes, 8);
  std::printf("all freed: %zu cells, %zu chained buffers kept, %zu blocks of the heap\n", all.small_side().live(),
              rest.small_side().count(), rest.large_side().counters().live_blocks);
  const bool is_all_back =
      all.small_side().live() == 0 && rest.small_side().count() == 1 && rest.large_side().counters().live_blocks == 0;
  return cells > 4000 && chained > 1 && from_heap > 500 && is_all_back ? 0 : 1;
}
