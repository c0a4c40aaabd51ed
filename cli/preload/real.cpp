// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the real allocation functions at the first call of any of them.
#include "cli/preload/real.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <sys/mman.h>

#include <ashlar/base/bits.hpp>

namespace ashlar::recorder {

namespace {

constexpr std::size_t unit = 2 * sizeof(void*);

std::atomic<std::size_t> bootstrap_used{0};
thread_local bool searching = false;

/// The unit before each block holds its size. The arena is written only once, so it is all zeros for calloc.
void* bootstrap_allocate(std::size_t bytes, std::size_t alignment = unit) noexcept {
  const std::size_t room = bytes > bootstrap_bytes ? bootstrap_bytes : ashlar::align_up(bytes, unit) + alignment + unit;
  const std::size_t at = bootstrap_used.fetch_add(room, std::memory_order_relaxed);
  if (at > bootstrap_bytes || bootstrap_bytes - at < room) {
    errno = ENOMEM;
    return nullptr;
  }
  std::byte* const p = ashlar::align_up(&bootstrap_arena[at] + unit, alignment);
  std::memcpy(p - unit, &bytes, sizeof bytes);
  return p;
}

#define ASHLAR_REAL_FUNCTIONS(DO)                                                                                 \
  DO(malloc), DO(calloc), DO(realloc), DO(free), DO(aligned_alloc), DO(posix_memalign), DO(memalign), DO(valloc), \
      DO(malloc_usable_size)
#define ASHLAR_NEXT(name) .name = reinterpret_cast<decltype(real.name)>(next_definition(#name))
#define ASHLAR_FIRST(name) .name = first_##name

void search() noexcept {
  searching = true;
  const real_functions found{ASHLAR_REAL_FUNCTIONS(ASHLAR_NEXT)};
  if (found.malloc != nullptr) real = found;
  searching = false;
}

/// Returns: whether the real functions are known now; if not, this call comes from the search itself.
bool known() noexcept {
  if (!searching) search();
  return !searching;
}

void* first_malloc(std::size_t bytes) { return known() ? real.malloc(bytes) : bootstrap_allocate(bytes); }

void* first_calloc(std::size_t n, std::size_t bytes) {
  if (known()) return real.calloc(n, bytes);
  std::size_t product = 0;
  return ashlar::checked_mul(n, bytes, product) ? bootstrap_allocate(product) : nullptr;
}

void* first_realloc(void* p, std::size_t bytes) {
  if (known()) return real.realloc(p, bytes);
  void* const fresh = bootstrap_allocate(bytes);
  if (fresh != nullptr && p != nullptr) {
    const std::size_t old = bootstrap_size(p);
    std::memcpy(fresh, p, old < bytes ? old : bytes);
  }
  return fresh;
}

void first_free(void* p) {
  if (known()) real.free(p);
}

void* first_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return known() ? real.aligned_alloc(alignment, bytes) : bootstrap_allocate(bytes, alignment);
}

int first_posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  if (known()) return real.posix_memalign(out, alignment, bytes);
  return (*out = bootstrap_allocate(bytes, alignment)) != nullptr ? 0 : ENOMEM;
}

void* first_memalign(std::size_t alignment, std::size_t bytes) {
  return known() ? real.memalign(alignment, bytes) : bootstrap_allocate(bytes, alignment);
}

void* first_valloc(std::size_t bytes) { return known() ? real.valloc(bytes) : bootstrap_allocate(bytes, 4096); }
std::size_t first_malloc_usable_size(void* p) { return known() ? real.malloc_usable_size(p) : bootstrap_size(p); }

}  // namespace

constinit real_functions real{ASHLAR_REAL_FUNCTIONS(ASHLAR_FIRST)};

alignas(unit) constinit std::byte bootstrap_arena[bootstrap_bytes]{};

std::size_t bootstrap_size(const void* p) noexcept {
  std::size_t bytes = 0;
  std::memcpy(&bytes, static_cast<const std::byte*>(p) - unit, sizeof bytes);
  return bytes;
}

void* map_memory(std::size_t bytes) noexcept {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void* next_definition(const char* name) noexcept { return dlsym(RTLD_NEXT, name); }

}  // namespace ashlar::recorder
