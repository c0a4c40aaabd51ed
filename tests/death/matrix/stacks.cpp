// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of the fault matrix: stacks, arenas, and resources that follow a plan.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ashlar/base/problem.hpp>
#include <ashlar/face/pmr_monotonic.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/frame_arena.hpp>
#include <ashlar/resource/inline_arena.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/scratch_arena.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/static_arena_guard.hpp>
#include <ashlar/resource/two_ended_stack.hpp>

#include "tests/death/matrix/subjects.hpp"

namespace fault_matrix {
namespace {

using ashlar::plan::step;

struct buffer {
  alignas(64) std::byte bytes[65536] = {};
};

template <bool IsFront>
class stack_end : buffer, public subject {
public:
  void* take(std::size_t bytes) override { return end().allocate(bytes, block_alignment); }
  void give(void* p, std::size_t bytes, std::size_t alignment) override { end().deallocate(p, bytes, alignment); }
  void trim() override {}

private:
  [[nodiscard]] auto& end() {
    if constexpr (IsFront) return both_.front();
    else return both_.back();
  }
  ashlar::two_ended_stack both_{std::span<std::byte>(bytes)};
};

class buffer_alone : buffer, public subject {
public:
  void* take(std::size_t bytes) override { return resource_.allocate(bytes, block_alignment); }
  void give(void* p, std::size_t bytes, std::size_t alignment) override { resource_.deallocate(p, bytes, alignment); }
  void trim() override {}

private:
  ashlar::buffer_resource resource_{std::span<std::byte>(bytes)};
};

struct planned_table {
  std::array<std::uint64_t, 3> offsets{0, 64, 128};
  std::array<std::uint64_t, 3> sizes{64, 64, 64};
  std::uint64_t height = 192;
  std::uint64_t alignment = 16;
};
constexpr planned_table table;
// The three blocks of a scene; requests of a sweep go to the heap.
constexpr std::array<std::uint32_t, 3> births{step::birth(0).code, step::birth(1).code, step::birth(2).code};

using heap_ref = ashlar::resource_ref<ashlar::pool_set<>>;

struct heap_of_plan : buffer {
  ashlar::pool_set<> heap;
};
struct planned_blocks : private heap_of_plan, public sized<ashlar::static_arena_guard<planned_table, heap_ref>> {
  planned_blocks() : sized(bytes, sizeof(bytes), table, births, heap_ref(heap)) {}
};

// Blocks of an arena have no metadata: a free only implies that the block is of this arena.
constexpr misuses means_nothing =
    sizes_and_alignment | (misuse::double_free | misuse::double_free_later) | misuse::interior | misuse::leak;
// Scopes of a thread lie in one arena, and any of them takes blocks of an outer one.
constexpr misuses in_one_arena = means_nothing | misuse::other_instance;

template <class Arena>
[[nodiscard]] interface arena_row(const char* name, misuses allows = means_nothing) {
  return {.name = name, .make = maker<sized<Arena>>(), .allows = allows};
}

}  // namespace

std::span<const interface> stacks_and_arenas() {
  static const std::vector<interface> rows = {
      {.name = "stack_resource",
       .make = maker<sized<ashlar::stack_resource<>>>(),
       .allows = misuse::leak,
       .is_stack = true},
      {.name = "two_ended_stack, front", .make = maker<stack_end<true>>(), .allows = misuse::leak, .is_stack = true},
      {.name = "two_ended_stack, back", .make = maker<stack_end<false>>(), .allows = misuse::leak, .is_stack = true},
      {.name = "buffer_resource", .make = maker<buffer_alone>(), .allows = means_nothing},
      arena_row<ashlar::arena<>>("arena"),
      arena_row<ashlar::inline_arena<4096>>("inline_arena"),
      arena_row<ashlar::frame_arena<>>("frame_arena"),
      arena_row<ashlar::scratch_arena>("scratch_arena", in_one_arena),
      arena_row<ashlar::pmr::monotonic_buffer_resource>("pmr::monotonic_buffer_resource"),
      {.name = "static_arena_guard", .make = maker<planned_blocks>(), .allows = misuse::leak},
  };
  return rows;
}

}  // namespace fault_matrix
