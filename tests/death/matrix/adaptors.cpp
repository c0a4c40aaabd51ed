// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of the fault matrix: adaptors, over resources that detect misuse and over others.
#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include <ashlar/adaptor/budget.hpp>
#include <ashlar/adaptor/chain.hpp>
#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/adaptor/guarding.hpp>
#include <ashlar/adaptor/limiting.hpp>
#include <ashlar/adaptor/segregator.hpp>
#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/adaptor/tracking.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/death/matrix/subjects.hpp"

namespace fault_matrix {
namespace {

using namespace ashlar;

using in_buffer = tlsf_resource<null_resource>;

struct room {
  alignas(64) std::byte bytes[4096];
};

// The first side is soon full, so that a scene and its sweep use both.
struct both_sides : private room, sized<fallback<in_buffer, pool_set<>>> {
  both_sides()
      : sized<fallback<in_buffer, pool_set<>>>(std::piecewise_construct, std::make_tuple(std::span<std::byte>(bytes)),
                                               std::tuple<>()) {}
};

struct second_side : private room, sized<fallback<in_buffer, pool_set<>>> {
  second_side()
      : sized<fallback<in_buffer, pool_set<>>>(std::piecewise_construct,
                                               std::make_tuple(std::span<std::byte>(bytes, 64)), std::tuple<>()) {}
};

using sides = segregator<block_pool<>, pool_set<>>;
struct segregated : sized<sides> {
  segregated()
      : sized<sides>(threshold{64}, std::piecewise_construct, std::make_tuple(block_pool_options{.cell_bytes = 64}),
                     std::tuple<>()) {}
};

struct limited : subject {
  void* take(std::size_t bytes) override { return resource.allocate(bytes, block_alignment); }
  void give(void* p, std::size_t bytes, std::size_t alignment) override { resource.deallocate(p, bytes, alignment); }
  void trim() override {}

  budget limits{std::size_t{1} << 30};
  limiting<pool_set<>> resource{limits};
};

}  // namespace

std::span<const interface> adaptors() {
  static const std::vector<interface> rows = {
      {.name = "tracking<arena>",
       .make = maker<sized<tracking<arena<>>>>(),
       .promised_at_fast = frees | sizes_and_alignment},
      {.name = "tracking<pool_set>", .make = maker<sized<tracking<pool_set<>>>>()},
      {.name = "guarding<arena>",
       .make = maker<sized<guarding<arena<>>>>(),
       .allows = misuse::leak,
       .promised_at_fast = sizes_and_alignment | writes_beside,
       .reads_in_front = true},
      {.name = "guarding<pool_set>", .make = maker<sized<guarding<pool_set<>>>>(), .reads_in_front = true},
      {.name = "limiting<pool_set>", .make = maker<limited>()},
      {.name = "statistics<pool_set>", .make = maker<sized<statistics<pool_set<>>>>()},
      {.name = "synchronized<pool_set>", .make = maker<sized<synchronized<pool_set<>>>>()},
      {.name = "fallback, first side", .make = maker<both_sides>(), .exact = 56},
      {.name = "fallback, second side", .make = maker<second_side>()},
      {.name = "segregator, small side", .make = maker<segregated>()},
      {.name = "segregator, large side", .make = maker<segregated>(), .exact = 128, .loose = 101},
      {.name = "chain", .make = maker<sized<chain<in_buffer>>>(chain_options{.room_bytes = 65536}), .exact = 56},
  };
  return rows;
}

}  // namespace fault_matrix
