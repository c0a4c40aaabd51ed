// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A map in the pools of the process, whose object file pool_in_bss.sh reads.
#include <functional>
#include <map>
#include <utility>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/pool_allocator.hpp>

using entry = std::pair<const int, int>;
using pooled_map = std::map<int, int, std::less<>, ashlar::pool_allocator<entry>>;
using map_of_one_thread = std::map<int, int, std::less<>, ashlar::pool_allocator<entry, ashlar::one_thread>>;

void insert(pooled_map& numbers) { numbers[1] = 2; }
void insert_in_one_thread(map_of_one_thread& numbers) { numbers[1] = 2; }
