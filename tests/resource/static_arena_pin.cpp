// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls whose machine code static_arena_pin.sh checks.
#include <array>
#include <cstddef>

#include <ashlar/plan/pack.hpp>
#include <ashlar/resource/static_arena.hpp>

namespace plan = ashlar::plan;

static constexpr std::array<plan::buffer, 3> lives{
    plan::buffer::half_open(0, 64, 0, 2), plan::buffer::half_open(1, 32, 1, 3), plan::buffer::half_open(2, 64, 2, 4)};
static constexpr auto layout = plan::solve(lives);

extern "C" std::byte* get_known(void* base) { return ashlar::static_arena(base, layout.height, layout).get(1); }

extern "C" std::byte* get_any(void* base, std::size_t position) {
  return ashlar::static_arena(base, layout.height, layout).get(position);
}

extern "C" float* get_typed(void* base, std::size_t position) {
  return ashlar::static_arena(base, layout.height, layout).get<float>(position);
}
