// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same three buffers planned by the compiler, by a written table and at the start of the program.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/heap/tiered_heap.hpp>
#include <ashlar/plan/pack.hpp>
#include <ashlar/plan/solve.hpp>

namespace ashlar_test::static_plans {

namespace plan = ashlar::plan;
using plan::buffer;

inline constexpr std::array<buffer, 3> lives{buffer::half_open(0, 64, 0, 2, 64), buffer::half_open(1, 32, 1, 3, 8),
                                             buffer::half_open(2, 64, 2, 4, 8)};
inline constexpr auto layout = plan::solve(lives);
using with_lives = ashlar::static_plan<layout, lives>;

// In the form of `ashlar plan --header`.
struct table {
  std::array<std::uint64_t, 2> ids, offsets, sizes;
  std::uint64_t height, alignment;
};
inline constexpr table written{{7, 8}, {0, 128}, {100, 50}, 178, 32};
using of_table = ashlar::static_plan<written>;

inline const std::vector<buffer> starts(lives.begin(), lives.end());  // clang 16 takes no member of an object
inline const plan::layout made = plan::solve(plan::problem{.buffers = starts});
using of_start = ashlar::static_plan<made, starts>;

}  // namespace ashlar_test::static_plans
