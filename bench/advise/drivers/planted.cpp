// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program whose sites have effects of a known size: an object takes more or less work where its site is routed.
//
//     planted offsets                 the name of each site, its offset in this program, its effect in percent
//     planted work STEPS              the work, of which each routed site takes its effect more
//     planted spin STEPS              as many steps without any site
#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/tests/routes/site.hpp"

ROUTE_SITE(slower, malloc @PLT, 8);
ROUTE_SITE(faster, malloc @PLT, 8);
ROUTE_SITE(equal_a, malloc @PLT, 8);
ROUTE_SITE(equal_b, malloc @PLT, 8);
ROUTE_SITE(equal_c, malloc @PLT, 8);
ROUTE_SITE(equal_d, malloc @PLT, 8);
ROUTE_SITE(unrouted, malloc @PLT, 8);

namespace {

struct site {
  const char* name;
  void* (*make)(std::size_t);
  const char* place;
  long percent;
};

const site sites[] = {
    {"slower", slower, slower_site, 5},    {"faster", faster, faster_site, -5},   {"equal_a", equal_a, equal_a_site, 0},
    {"equal_b", equal_b, equal_b_site, 0}, {"equal_c", equal_c, equal_c_site, 0}, {"equal_d", equal_d, equal_d_site, 0},
};
constexpr long site_count = sizeof sites / sizeof *sites;
constexpr long objects = 100;  // of each site

void spend(long steps) {
  volatile unsigned sum = 1;
  for (long i = 0; i < steps; ++i) sum = sum * 1664525U + 1013904223U;
}

int print_offsets() {
  for (const site& each : sites) {
    Dl_info module;
    void* map = nullptr;
    if (dladdr1(each.place, &module, &map, RTLD_DL_LINKMAP) == 0) return 1;
    const auto offset = reinterpret_cast<std::uintptr_t>(each.place) - static_cast<link_map*>(map)->l_addr;
    std::printf("%s %zu %ld\n", each.name, static_cast<std::size_t>(offset), each.percent);
  }
  return 0;
}

/// Returns: whether the block lies far from those that no plan names. Slices of groups are in a range of their own.
bool is_routed(const void* block, const void* other) {
  const auto a = reinterpret_cast<std::uintptr_t>(block), b = reinterpret_cast<std::uintptr_t>(other);
  return (a < b ? b - a : a - b) >> 36 != 0;
}

int work(long steps) {
  void* const other = unrouted(64);
  for (long i = 0; i < objects; ++i) {
    for (const site& each : sites) {
      void* const block = each.make(64);
      const bool effect = is_routed(block, other);
      const long share = steps / (site_count * objects);
      spend(share + (effect ? each.percent * site_count * share / 100 : 0));
      std::free(block);
    }
  }
  std::free(other);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (std::strcmp(argv[1], "offsets") == 0) return print_offsets();
  const long steps = argc > 2 ? std::atol(argv[2]) : 1000000;
  if (std::strcmp(argv[1], "work") == 0) return work(steps);
  spend(steps);
  return 0;
}
