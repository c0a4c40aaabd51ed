// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A map in the pools of the process, whose object file pool_in_bss.sh reads.
#include <functional>
#include <map>
#include <utility>

#include <ashlar/face/pool_allocator.hpp>

using pooled_map = std::map<int, int, std::less<>, ashlar::pool_allocator<std::pair<const int, int>>>;

void insert(pooled_map& numbers) { numbers[1] = 2; }
