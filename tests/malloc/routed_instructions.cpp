// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Routed calls, of which some are counted. Started without a plan, the program starts itself again under one of its
// own.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <link.h>
#include <unistd.h>

#include "cli/tests/routes/site.hpp"
#include "malloc/route/build_ids.hpp"

ROUTE_SITE(pool_malloc, malloc @PLT, 8);
ROUTE_SITE(arena_malloc, malloc @PLT, 8);
ROUTE_SITE(inner_malloc, malloc @PLT, 24);
ROUTE_SITE(pool_by_two, inner_malloc, 40);
ROUTE_SITE(arena_by_two, inner_malloc, 8);
ROUTE_SITE(middle_malloc, inner_malloc, 24);
ROUTE_SITE(pool_by_three, middle_malloc, 8);

#define COUNTED extern "C" __attribute__((noinline))
COUNTED void* counted_pool(std::size_t bytes) { return pool_malloc(bytes); }
COUNTED void* counted_arena(std::size_t bytes) { return arena_malloc(bytes); }
COUNTED void* counted_pool_by_two(std::size_t bytes) { return pool_by_two(bytes); }
COUNTED void* counted_arena_by_two(std::size_t bytes) { return arena_by_two(bytes); }
COUNTED void* counted_pool_by_three(std::size_t bytes) { return pool_by_three(bytes); }
COUNTED void counted_free_of_pool(void* p) { std::free(p); }
COUNTED void counted_free_of_arena(void* p) { std::free(p); }

namespace {

using make = void* (*)(std::size_t);
using unmake = void (*)(void*);

int note_program(dl_phdr_info* info, std::size_t, void* plan) {
  constexpr const char* digits = "0123456789abcdef";
  std::string& text = *static_cast<std::string*>(plan);
  for (const unsigned char byte : ashlar::route::build_id_of(*info)) text += {digits[byte >> 4], digits[byte & 15]};
  const auto frame = [&](const char* site, const char* step) {
    char words[64];
    const auto offset = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(site) - info->dlpi_addr);
    std::snprintf(words, sizeof words, " 0 %llx%s", offset, step);
    text += words;
  };
  text += "\ng pool 80 65536 1073741824 cells\ns", frame(pool_malloc_site, "");
  text += "\ns", frame(inner_malloc_site, " 7 32 0"), frame(pool_by_two_site, "");
  text += "\ns", frame(inner_malloc_site, " 7 32 0"), frame(middle_malloc_site, " 7 32 0");
  frame(pool_by_three_site, "");
  text += "\ng arena 0 65536 1073741824 blocks\ns", frame(arena_malloc_site, "");
  text += "\ns", frame(inner_malloc_site, " 7 32 0"), frame(arena_by_two_site, "");
  return 1;  // the first module is the program
}

[[nodiscard]] int start_again(char** arguments) {
  std::string plan = "route 1 report\nm ";
  dl_iterate_phdr(note_program, &plan);
  setenv("ASHLAR_ROUTE", plan.c_str(), 1);
  setenv("LD_PRELOAD", ASHLAR_ROUTER, 1);
  execv(arguments[0], arguments);
  std::perror(arguments[0]);
  return 1;
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
  for (const make first : {pool_malloc, arena_malloc, pool_by_two, arena_by_two, pool_by_three})
    static_cast<void>(first(80));
  run(counted_pool, counted_free_of_pool);
  run(counted_pool_by_two, counted_free_of_pool);
  run(counted_pool_by_three, counted_free_of_pool);
  run(counted_arena, counted_free_of_arena);
  run(counted_arena_by_two, counted_free_of_arena);
  return 0;
}
