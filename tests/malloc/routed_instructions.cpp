// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Routed calls, of which some are counted. Started without a plan, the program starts itself again under one of its
// own.
#include <array>
#include <cstddef>
#include <cstdlib>

#include "cli/tests/routes/site.hpp"
#include "tests/malloc/own_plan.hpp"

ROUTE_SITE(pool_malloc, malloc @PLT, 8);
ROUTE_SITE(arena_malloc, malloc @PLT, 8);
ROUTE_SITE(inner_malloc, malloc @PLT, 24);
ROUTE_SITE(pool_by_two, inner_malloc, 40);
ROUTE_SITE(arena_by_two, inner_malloc, 8);
ROUTE_SITE(middle_malloc, inner_malloc, 24);
ROUTE_SITE(pool_by_three, middle_malloc, 8);
ROUTE_SITE(beside_chains, inner_malloc, 8);

#define COUNTED extern "C" __attribute__((noinline))
COUNTED void* counted_pool(std::size_t bytes) { return pool_malloc(bytes); }
COUNTED void* counted_arena(std::size_t bytes) { return arena_malloc(bytes); }
COUNTED void* counted_pool_by_two(std::size_t bytes) { return pool_by_two(bytes); }
COUNTED void* counted_arena_by_two(std::size_t bytes) { return arena_by_two(bytes); }
COUNTED void* counted_pool_by_three(std::size_t bytes) { return pool_by_three(bytes); }
COUNTED void* counted_beside_chains(std::size_t bytes) { return beside_chains(bytes); }
COUNTED void counted_free_of_pool(void* p) { std::free(p); }
COUNTED void counted_free_of_arena(void* p) { std::free(p); }

namespace {

using make = void* (*)(std::size_t);
using unmake = void (*)(void*);

[[nodiscard]] int start_again(char** arguments) {
  ashlar_test::own_plan plan("route 1 report");
  plan.group("pool 80 65536 1073741824 cells");
  plan.site(pool_malloc_site);
  plan.chain(inner_malloc_site, " 7 32 0"), plan.frame(pool_by_two_site, "");
  plan.chain(inner_malloc_site, " 7 32 0"), plan.frame(middle_malloc_site, " 7 32 0");
  plan.frame(pool_by_three_site, "");
  plan.group("arena 0 65536 1073741824 blocks");
  plan.site(arena_malloc_site);
  plan.chain(inner_malloc_site, " 7 32 0"), plan.frame(arena_by_two_site, "");
  setenv("LD_PRELOAD", ASHLAR_ROUTER, 1);
  return plan.start_again(arguments);
}

// A survivor of each group keeps its chunk from being empty; some calls before take the chunk.
void run(make counted, unmake counted_free) {
  std::array<void*, 150> blocks;
  for (void*& each : blocks) each = counted(80);
  for (std::size_t i = 1; i != blocks.size(); ++i) counted_free(blocks[i]);
}

}  // namespace

int main(int, char** arguments) {
  if (std::getenv("ASHLAR_ROUTE") == nullptr) return start_again(arguments);
  for (const make first : {pool_malloc, arena_malloc, pool_by_two, arena_by_two, pool_by_three, beside_chains})
    static_cast<void>(first(80));
  run(counted_pool, counted_free_of_pool);
  run(counted_pool_by_two, counted_free_of_pool);
  run(counted_pool_by_three, counted_free_of_pool);
  run(beside_chains, std::free);  // then the heap has free cells
  run(counted_beside_chains, std::free);
  run(counted_arena, counted_free_of_arena);
  run(counted_arena_by_two, counted_free_of_arena);
  return 0;
}
