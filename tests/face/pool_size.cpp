// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A map in one of the pools of the process, whose bytes of code pool_size.sh counts.
#include <functional>
#include <map>
#include <utility>

#include <ashlar/face/pool_allocator.hpp>

using number = std::pair<const int, int>;
using pooled_map = std::map<int, int, std::less<>, ashlar::pool_allocator<number, ASHLAR_TEST_LOCK>>;

void insert(pooled_map& numbers) { numbers[1] = 2; }
void erase(pooled_map& numbers) { numbers.erase(1); }
