// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of `machine`. The C library's own mappings do not come here.
#include "tests/huge_pages/machine.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <mutex>
#include <set>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ashlar_test {
namespace {

constexpr std::size_t page = machine::page_bytes;

struct state {
  std::mutex lock;
  std::set<std::uintptr_t> used;  // the addresses of huge pages in mappings
  std::size_t left = 0;
  std::size_t wishes = 0;
  std::string mistakes;
};

state& machine_state() {
  static state& all = *new state;
  return all;
}

std::uintptr_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

void* map_of_system(void* at, std::size_t bytes, int protection, int flags) {
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, flags, -1, 0));
}

// Returns: `f(state)`, called under the lock.
template <class F>
auto locked(F f) {
  state& all = machine_state();
  const std::lock_guard held(all.lock);
  return f(all);
}

// Returns: whether a huge page lies in the range.
bool has_huge(const state& all, std::uintptr_t from, std::size_t bytes) {
  const auto first = all.used.lower_bound(from / page * page);
  return first != all.used.end() && *first < from + bytes;
}

int refuse(state& all, const char* call, std::size_t bytes) {
  all.mistakes += std::string(call) + " of " + std::to_string(bytes) + " bytes; ";
  errno = EINVAL;
  return -1;
}

void* map_huge(state& all, std::size_t bytes, int protection, int flags) {
  constexpr int of_two_mib = 21 << 26;
  if (bytes == 0 || bytes % page != 0 || (flags & of_two_mib) != of_two_mib || (flags & MAP_NORESERVE) != 0)
    return refuse(all, "mmap", bytes), MAP_FAILED;
  if (all.left < bytes / page) return errno = ENOMEM, MAP_FAILED;
  void* const raw = map_of_system(nullptr, bytes + page, protection, MAP_PRIVATE | MAP_ANONYMOUS);
  if (raw == MAP_FAILED) return raw;
  const std::uintptr_t from = (address_of(raw) + page - 1) / page * page;
  for (std::uintptr_t at = from; at != from + bytes; at += page) all.used.insert(at);
  all.left -= bytes / page;
  return reinterpret_cast<void*>(from);  // what is left in front and after stays mapped
}

}  // namespace

void machine::set_aside(std::size_t pages) {
  locked([&](state& all) {
    all.left = pages;
    all.wishes = 0;
    all.mistakes.clear();
  });
}

std::size_t machine::pages_left() {
  return locked([](const state& all) { return all.left; });
}

std::size_t machine::pages_used() {
  return locked([](const state& all) { return all.used.size(); });
}

std::size_t machine::wishes() {
  return locked([](const state& all) { return all.wishes; });
}

std::string machine::mistakes() {
  return locked([](const state& all) { return all.mistakes; });
}

bool machine::has(const void* p) {
  return locked([&](const state& all) { return has_huge(all, address_of(p), 1); });
}

}  // namespace ashlar_test

using namespace ashlar_test;

extern "C" {

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if ((flags & MAP_HUGETLB) == 0)
    return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
  state& all = machine_state();
  const std::lock_guard held(all.lock);
  return map_huge(all, bytes, protection, flags);
}

int munmap(void* p, std::size_t bytes) noexcept {
  state& all = machine_state();
  const std::lock_guard held(all.lock);
  if (has_huge(all, address_of(p), bytes)) {
    if (address_of(p) % page != 0 || bytes % page != 0) return refuse(all, "munmap", bytes);
    for (std::uintptr_t from = address_of(p), at = from; at != from + bytes; at += page) all.left += all.used.erase(at);
  }
  return static_cast<int>(::syscall(SYS_munmap, p, bytes));
}

// Linux rounds the end of a range down to whole huge pages.
int madvise(void* p, std::size_t bytes, int advice) noexcept {
  state& all = machine_state();
  const std::lock_guard held(all.lock);
  if (advice == MADV_HUGEPAGE) ++all.wishes;
  if (has_huge(all, address_of(p), bytes)) {
    if (advice == MADV_HUGEPAGE) return refuse(all, "madvise", bytes);
    if (advice == MADV_DONTNEED && (address_of(p) % page != 0 || bytes % page != 0))
      return refuse(all, "discard", bytes);
  }
  return static_cast<int>(::syscall(SYS_madvise, p, bytes, advice));
}

int mprotect(void* p, std::size_t bytes, int protection) noexcept {
  state& all = machine_state();
  const std::lock_guard held(all.lock);
  if (has_huge(all, address_of(p), bytes) && (address_of(p) % page != 0 || bytes % page != 0))
    return refuse(all, "mprotect", bytes);
  return static_cast<int>(::syscall(SYS_mprotect, p, bytes, protection));
}

void* mremap(void* p, std::size_t bytes, std::size_t new_bytes, int flags, ...) noexcept {
  std::va_list rest;
  va_start(rest, flags);
  void* const place = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  state& all = machine_state();
  const std::lock_guard held(all.lock);
  if (has_huge(all, address_of(p), bytes)) return refuse(all, "mremap", bytes), MAP_FAILED;
  return reinterpret_cast<void*>(::syscall(SYS_mremap, p, bytes, new_bytes, flags, place));
}
}
