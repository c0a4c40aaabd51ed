// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A frame graph planned at compile time: the compiler checks the budget, and one addition finds a resource.
#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <ashlar/plan/pack.hpp>
#include <ashlar/resource/static_arena.hpp>

namespace plan = ashlar::plan;

namespace {

enum resource_id : std::size_t { shadow_map, gbuffer, lighting, bloom };

// First and last pass of each resource.
constexpr std::array<plan::buffer, 4> resources{
    plan::buffer::inclusive(shadow_map, 4 << 10, 0, 2, 256),
    plan::buffer::inclusive(gbuffer, 16 << 10, 1, 2, 256),
    plan::buffer::inclusive(lighting, 8 << 10, 2, 4, 256),
    plan::buffer::inclusive(bloom, 4 << 10, 3, 4, 256),
};
constexpr auto layout = plan::solve(resources);
static_assert(layout.height <= 28 << 10, "the frame no longer fits its budget");

alignas(256) std::array<std::byte, layout.height> memory;

}  // namespace

int main() {
  const ashlar::static_arena arena(memory.data(), memory.size(), layout);
  *arena.get<float>(lighting) = 1.0F;
  std::printf("%zu bytes for the frame, lighting at %zu\n", memory.size(),
              static_cast<std::size_t>(arena.get(lighting) - arena.base()));
}
