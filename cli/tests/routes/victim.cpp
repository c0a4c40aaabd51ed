// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program with sites of known addresses: `sites PLUGIN` prints their offsets, `work PLUGIN` uses them from threads, a
// child and a late module, `chains` by two ways, `survivors` so that an arena is pinned, `thinned` so that both are,
// less than they have had alive, `batches` fills and empties a pool, `temporaries` die at once, `handed_over` ones in
// another thread, `idle` ones keep pages, `holders` keeps a block in each of many threads, `blocked` maps a page behind
// a pool, `reloads PLUGIN` moves a module, `twice` frees a block twice.
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tests/routes/site.hpp"

ROUTE_SITE(pool_malloc, malloc @PLT, 8);
ROUTE_SITE(arena_malloc, malloc @PLT, 8);
ROUTE_SITE(inner_malloc, malloc @PLT, 24);
ROUTE_SITE(by_one_way, inner_malloc, 40);
ROUTE_SITE(by_other_way, inner_malloc, 8);

// Frames too large for a step: the low 32 bits of their offsets alone would be offsets of small ones.
extern "C" __attribute__((visibility("hidden"))) const char large_frame_site[], large_rbp_site[];
__asm__(".text\n.globl large_frame_site, large_rbp_site\n.hidden large_frame_site, large_rbp_site\n"
        ".cfi_startproc\n.cfi_def_cfa_offset 4294967328\nnop\nlarge_frame_site:\nnop\n.cfi_endproc\n"
        ".cfi_startproc\n.cfi_def_cfa_offset 32\n.cfi_offset %rbp, -4294967312\nnop\nlarge_rbp_site:\nnop\n"
        ".cfi_endproc\n");

namespace {

using make = void* (*)(std::size_t);

void print_offset(const char* name, const void* site) {
  Dl_info module;
  void* map = nullptr;
  if (dladdr1(site, &module, &map, RTLD_DL_LINKMAP) == 0) std::abort();
  const auto offset = reinterpret_cast<std::uintptr_t>(site) - static_cast<link_map*>(map)->l_addr;
  std::printf("%s %zu\n", name, static_cast<std::size_t>(offset));
}

void* load(const char* plugin) {
  void* const module = dlopen(plugin, RTLD_NOW);
  if (module == nullptr) std::abort();
  return module;
}

int print_sites(const char* plugin) {
  print_offset("pool", pool_malloc_site);
  print_offset("arena", arena_malloc_site);
  print_offset("inner", inner_malloc_site);
  print_offset("one", by_one_way_site);
  print_offset("other", by_other_way_site);
  print_offset("large_frame", large_frame_site);
  print_offset("large_rbp", large_rbp_site);
  using place = const void* (*)();
  print_offset("plugin", reinterpret_cast<place>(dlsym(load(plugin), "plugin_place"))());
  return 0;
}

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("broken: %s\n", what);
  std::fflush(stdout);
  std::abort();
}

void* filled(make from, std::size_t bytes, unsigned char with) {
  void* const p = from(bytes);
  expect(reinterpret_cast<std::uintptr_t>(p) % 16 == 0, "alignment");
  expect(malloc_usable_size(p) >= bytes, "usable size");
  return std::memset(p, with, bytes);
}

void check_and_free(void* p, std::size_t bytes, unsigned char with) {
  for (std::size_t i = 0; i != bytes; ++i) expect(static_cast<unsigned char*>(p)[i] == with, "contents");
  std::free(p);
}

constexpr std::size_t rounds = 2000, kept = 64;

/// Allocates, resizes and frees; hands every other block to another thread by `slots`.
void churn(std::atomic<void*>* slots, unsigned char with) {
  std::vector<void*> own(kept, nullptr);
  for (std::size_t i = 0; i != rounds; ++i) {
    const make from = i % 2 == 0 ? pool_malloc : arena_malloc;
    void* p = filled(from, 80, with);
    if (i % 7 == 0) p = std::realloc(p, 200), std::memset(p, with, 200), p = std::realloc(p, 80);
    void*& place = own[i * 31 % kept];
    if (place != nullptr) check_and_free(place, 80, with);
    place = p;
    if (i % 2 == 0) continue;
    void* const other = slots[i * 17 % kept].exchange(filled(from, 80, 9));
    if (other != nullptr) check_and_free(other, 80, 9);
  }
  for (void* const p : own)
    if (p != nullptr) check_and_free(p, 80, with);
}

void churn_in_threads(std::atomic<void*>* slots) {
  std::vector<std::thread> threads;
  for (unsigned char i = 1; i != 4; ++i) threads.emplace_back(churn, slots, i);
  for (std::thread& each : threads) each.join();
}

/// A wrong alignment is refused, and the block stays. Only libashlar has the call.
void resize_to_no_alignment() {
  using call = void* (*)(void*, void*, std::size_t, std::size_t);
  const auto resize = reinterpret_cast<call>(dlsym(RTLD_DEFAULT, "ashlar_heap_aligned_realloc"));
  if (resize == nullptr) return;
  void* const p = filled(pool_malloc, 80, 5);
  for (const std::size_t alignment : {0U, 3U}) expect(resize(nullptr, p, 40, alignment) == nullptr, "refusal");
  check_and_free(p, 80, 5);
}

int work(const char* plugin) {
  static std::atomic<void*> slots[kept];
  churn_in_threads(slots);
  if (const pid_t child = fork(); child == 0) {
    churn_in_threads(slots);
    std::_Exit(0);
  } else {
    int status = -1;
    waitpid(child, &status, 0);
    std::printf("child: %d\n", status);
  }
  for (auto& each : slots) std::free(each.load());
  const auto late = reinterpret_cast<make>(dlsym(load(plugin), "plugin_make"));
  for (int i = 0; i != 100; ++i) std::free(filled(late, 50, 3));
  std::free(filled(pool_malloc, 5000, 1));  // too large for a cell
  std::free(pool_malloc(0));
  resize_to_no_alignment();
  std::puts("done");
  return 0;
}

int chains() {
  for (int i = 0; i != 300; ++i) std::free(filled(i % 3 == 0 ? by_one_way : by_other_way, 80, 1));
  std::puts("done");
  return 0;
}

int survivors() {
  std::size_t sum = 0;
  for (std::size_t i = 0; i != 200'000; ++i) {
    void* const p = filled(arena_malloc, 112, 1);
    if (i % 40 != 0) std::free(p);
    else sum += malloc_usable_size(p) != 0 ? 1u : 0u;
  }
  std::printf("%zu\n", sum);
  return 0;
}

std::vector<void*> batch(make from = pool_malloc) {
  std::vector<void*> blocks(100'000);
  for (void*& each : blocks) each = filled(from, 80, 1);
  return blocks;
}

/// Of a batch every tenth block stays; a fifth as many follow.
int thinned() {
  for (const make from : {make(arena_malloc), make(pool_malloc)}) {
    const std::vector<void*> blocks = batch(from);
    for (std::size_t i = 0; i != blocks.size(); ++i)
      if (i % 10 != 0) std::free(blocks[i]);
    for (int i = 0; i != 20'000; ++i) expect(filled(from, 80, 1) != nullptr, "memory");
  }
  return 0;
}

/// Prints whether the last eight batches together fault on fewer pages than two batches have.
int batches() {
  rusage used{};
  long before = 0;
  for (int i = 0; i != 12; ++i) {
    if (i == 4) getrusage(RUSAGE_SELF, &used), before = used.ru_minflt;
    for (void* const p : batch()) std::free(p);
  }
  getrusage(RUSAGE_SELF, &used);
  std::printf("%s\n", used.ru_minflt - before < 4000 ? "few faults" : "many faults");
  return 0;
}

bool is_resident(void* p) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char state = 0;
  return mincore(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) / page * page), 1, &state) == 0 &&
         (state & 1) != 0;
}

/// Prints whether the pages of a freed batch are resident: at once, and after the process heap or an arena has grown.
int idle(const char* grower) {
  const std::vector<void*> blocks = batch();
  for (void* const p : blocks) std::free(p);
  const auto state = [&] {
    std::size_t resident = 0;
    for (void* const p : blocks) resident += is_resident(p) ? 1u : 0u;
    return resident > blocks.size() / 2 ? "resident" : "gone";
  };
  const char* const before = state();
  const make from = std::strcmp(grower, "arena") == 0 ? make(arena_malloc) : make(std::malloc);
  for (int i = 0; i != 20'000; ++i) expect(from(2000) != nullptr, "memory");
  std::printf("%s %s\n", before, state());
  return 0;
}

/// Prints how many of the threads' chunks have memory where no block has been.
int holders() {
  constexpr int count = 150;
  std::barrier all(count);
  std::atomic<int> resident = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i != count; ++i)
    threads.emplace_back([&] {
      auto* const p = static_cast<char*>(filled(pool_malloc, 80, 1));
      all.arrive_and_wait();
      resident += is_resident(p + 8192) ? 1 : 0;
      all.arrive_and_wait();
      std::free(p);
    });
  for (std::thread& each : threads) each.join();
  std::printf("%d\n", resident.load());
  return 0;
}

int temporaries() {
  void* const survivor = pool_malloc(80);
  for (int i = 0; i != 100'000; ++i) std::free(pool_malloc(80));
  std::free(survivor);
  return 0;
}

/// Another thread frees a batch.
int handed_over() {
  const std::vector<void*> blocks = batch();
  std::thread([&] {
    for (void* const p : blocks) std::free(p);
  }).join();
  std::free(pool_malloc(80));
  return 0;
}

/// Returns: whether the block lies in the same group as another one: slices are far from each other.
bool is_beside(const void* p, const void* routed) {
  constexpr std::uintptr_t slice = std::uintptr_t{1} << 34;
  return (reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(routed) + slice / 2) < slice;
}

std::size_t count_beside(const std::vector<void*>& blocks, const void* routed) {
  std::size_t n = 0;
  for (const void* const each : blocks) n += is_beside(each, routed) ? 1u : 0u;
  return n;
}

/// Returns: the end of the mapping that has the address.
std::uintptr_t end_of_mapping(const void* p) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  std::uintptr_t begin = 0, end = 0;
  while (std::fscanf(maps, "%zx-%zx%*[^\n]", &begin, &end) == 2)
    if (reinterpret_cast<std::uintptr_t>(p) - begin < end - begin) break;
  std::fclose(maps);
  return end;
}

/// Prints how many blocks of a batch are routed: behind a mapping, after it is gone, and after the blocks are freed.
int blocked() {
  void* const first = pool_malloc(80);
  void* const place = reinterpret_cast<void*>(end_of_mapping(first));
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  expect(mmap(place, 4096, PROT_NONE, flags, -1, 0) == place, "the place behind the pool");
  const std::vector<void*> before = batch();
  munmap(place, 4096);
  const std::vector<void*> meanwhile = batch();
  for (void* const p : before) check_and_free(p, 80, 1);
  for (void* const p : meanwhile) check_and_free(p, 80, 1);
  const std::vector<void*> after = batch();
  const bool is_part = count_beside(before, first) > 10'000 && count_beside(before, first) < 20'000;
  std::printf("%s %zu %zu\n", is_part ? "part" : "other", count_beside(meanwhile, first), count_beside(after, first));
  return 0;
}

long mapped_pages() {
  long pages = 0;
  std::FILE* const from = std::fopen("/proc/self/statm", "r");
  expect(std::fscanf(from, "%ld", &pages) == 1, "statm");
  std::fclose(from);
  return pages;
}

/// Loads the plugin and unloads it. Returns: where its site was; `routed`: counts blocks in the group of another one.
std::uintptr_t reload(const char* plugin, const void* other, int& routed) {
  void* const module = load(plugin);
  void* const p = reinterpret_cast<make>(dlsym(module, "plugin_make"))(50);
  routed += is_beside(p, other) ? 1 : 0;
  std::free(p);
  using place = const void* (*)();
  const auto site = reinterpret_cast<std::uintptr_t>(reinterpret_cast<place>(dlsym(module, "plugin_place"))());
  dlclose(module);
  return site;
}

/// Prints how many of 200 loads at two places have routed, and whether they took memory.
int reloads(const char* plugin) {
  const void* const other = pool_malloc(80);
  int routed = 0, moved = 0;
  long before = 0;
  for (int i = 0; i != 100; ++i) {
    const std::uintptr_t site = reload(plugin, other, routed), page = site / 4096 * 4096;
    void* const blocker = mmap(reinterpret_cast<void*>(page), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    moved += reload(plugin, other, routed) != site ? 1 : 0;
    munmap(blocker, 4096);
    if (i == 1) before = mapped_pages();
  }
  constexpr long pages_of_segment = 1024;  // by which the process heap grows
  const long grown = mapped_pages() - before, segments = grown / pages_of_segment;
  std::printf("%d of 200 routed, %d moved, %s\n", routed, moved,
              segments >= 0 && segments <= 1 && grown % pages_of_segment < 50 ? "no memory" : "memory");
  return 0;
}

int free_twice() {
  std::vector<void*> blocks = batch();
  for (void* const p : blocks) std::free(p);
  std::free(blocks.front());
  return 0;
}

const std::map<std::string, int (*)()> modes{
    {"chains", chains},           {"survivors", survivors}, {"thinned", thinned},
    {"batches", batches},         {"holders", holders},     {"temporaries", temporaries},
    {"handed_over", handed_over}, {"blocked", blocked},     {"twice", free_twice}};

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (const auto found = modes.find(what); found != modes.end()) return found->second();
  if (argc < 3) return 2;
  if (what == "idle") return idle(argv[2]);
  if (what == "reloads") return reloads(argv[2]);
  return what == "sites" ? print_sites(argv[2]) : work(argv[2]);
}
