// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A frame with planned targets, a streaming thread that allocates, and one free for both kinds of blocks.
#include <array>
#include <cstddef>
#include <cstdio>
#include <thread>
#include <vector>

#include <ashlar/heap/tiered_heap.hpp>
#include <ashlar/plan/pack.hpp>

namespace {

namespace plan = ashlar::plan;

enum target : std::size_t { shadow_map, gbuffer, lighting, bloom };

// First and last pass of each target; the compiler places them.
constexpr std::array<plan::buffer, 4> targets{
    plan::buffer::inclusive(shadow_map, 4 << 10, 0, 2, 256),
    plan::buffer::inclusive(gbuffer, 16 << 10, 1, 2, 256),
    plan::buffer::inclusive(lighting, 8 << 10, 2, 4, 256),
    plan::buffer::inclusive(bloom, 4 << 10, 3, 4, 256),
};
constexpr auto layout = plan::solve(targets);

using engine_memory = ashlar::tiered_heap<ashlar::static_plan<layout, targets>>;

const char* name_of(ashlar::heap_tier tier) {
  constexpr const char* names[] = {"planned", "own", "shared", "none"};
  return names[static_cast<std::size_t>(tier)];
}

// All resources of a pass are freed by the same call.
void finish(engine_memory& memory, const std::vector<void*>& used) {
  for (void* const each : used) {
    std::printf("  %s\n", name_of(memory.tier_of(each)));
    memory.deallocate(each);
  }
}

}  // namespace

int main() {
  engine_memory memory;
  void* const commands = memory.allocate(500);
  void* mesh = nullptr;
  std::thread([&] { mesh = memory.allocate(30'000); }).join();

  memory.advance(2);  // the next pass: with checks on, only live targets can be resolved
  auto* const light = memory.resolve<float>(lighting);
  *light = 1.0F;

  const ashlar::tier_statistics sums = memory.statistics();
  std::printf("planned %zu bytes, %zu live; own %zu, shared %zu\n", sums.planned.planned_bytes, sums.planned.live_bytes,
              sums.own.all.live_bytes, sums.shared.all.live_bytes);
  finish(memory, {light, commands, mesh});
  return memory.statistics().shared.all.live_blocks == 0 && memory.invariant() ? 0 : 1;
}
