// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A map in one of the pools of the process, or without one, or without one beside the store of pages, whose bytes of
// code pool_size.sh counts.
#include <functional>
#include <map>
#include <utility>

#if defined(ASHLAR_TEST_LOCK)
#include <ashlar/face/pool_allocator.hpp>
using map_type = std::map<int, int, std::less<>, ashlar::pool_allocator<std::pair<const int, int>, ASHLAR_TEST_LOCK>>;
#else
using map_type = std::map<int, int, std::less<>>;
#endif

void insert(map_type& numbers) { numbers[1] = 2; }
void erase(map_type& numbers) { numbers.erase(1); }

#if defined(ASHLAR_TEST_STORE)
#include <cstddef>

#include <ashlar/resource/page_store.hpp>

void* take(std::size_t bytes) { return ashlar::page_store().allocate(bytes, alignof(void*)); }
void give(void* p, std::size_t bytes) { ashlar::page_store().deallocate(p, bytes, alignof(void*)); }
#endif
