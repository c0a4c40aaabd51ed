// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bounds of a stack, the rules that the cache lacks, by tables that the loader knows, and the walk by them.
#include "cli/preload/stack_walk.hpp"

#include <cerrno>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>

namespace ashlar::recorder {

namespace {

constexpr std::uintptr_t page_bytes = 4096;
constexpr std::uintptr_t farthest = std::uintptr_t{8} << 20;  // from one event of a thread to the next

std::uintptr_t first_threads_end = 0;  // the stack of the first thread ends here; 0: unknown

/// The call reads the set of signals before it refuses to do anything with it.
[[nodiscard]] bool is_readable(std::uintptr_t address) noexcept {
  constexpr int nothing = -1;
  return ::syscall(SYS_rt_sigprocmask, nothing, address, nullptr, sizeof(std::uint64_t)) == 0 || errno != EFAULT;
}

/// On x86-64 the C library has the control block of a thread at the end of its stack, except for the first thread.
[[nodiscard]] std::uintptr_t end_of_stack() noexcept {
  const bool is_first = ::syscall(SYS_gettid) == ::getpid();
  return is_first ? first_threads_end : static_cast<std::uintptr_t>(::pthread_self());
}

/// The start of glibc's `struct dl_find_object`, and room for the rest of it.
struct loaded_object {
  std::uint64_t flags;
  const std::byte* begin;
  const std::byte* end;
  void* link_map;
  const std::byte* eh_frame_header;
  void* rest[8];
};

using object_finder = int (*)(void*, loaded_object*);

object_finder find_object = nullptr;

/// Of a file with a gap between its segments, the loader gives the bounds of the code alone; its tables stand before.
[[nodiscard]] frame_rule make_rule(std::uint64_t address) noexcept {
  loaded_object object{};
  if (find_object(reinterpret_cast<void*>(address - 1), &object) != 0) return {};
  const std::byte* const header = object.eh_frame_header;
  if (header == nullptr) return {};  // a file without .eh_frame_hdr
  const bool is_apart = header < object.begin;
  return compile_rule(
      {.header = header, .begin = is_apart ? header : object.begin, .end = is_apart ? object.begin : object.end},
      address);
}

}  // namespace

constinit rule_cache frame_rules;

bool rule_cache::prepare() noexcept {
#if defined(__x86_64__)
  find_object = reinterpret_cast<object_finder>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
#endif
  return find_object != nullptr;
}

std::uint64_t rule_cache::add(std::uint64_t address) noexcept {
  const std::uint64_t made = packed(make_rule(address));
  const ashlar::lock_scope hold(lock_);
  slot& s = find_slot(address);
  if (s.address.load(std::memory_order_relaxed) == address || count_ == most) return made;
  ++count_;
  s.rule.store(made, std::memory_order_release);  // who reads it sees that the address before it is gone
  s.address.store(address, std::memory_order_release);
  return made;
}

void rule_cache::forget() noexcept {
  const ashlar::lock_scope hold(lock_);
  next_generation();
  if (count_ == 0) return;
  for (slot& s : slots_) s.address.store(0, std::memory_order_relaxed);
  count_ = 0;
}

bool prepare_walk() noexcept {
  const void* const end = ::dlsym(RTLD_DEFAULT, "__libc_stack_end");
  if (end != nullptr) first_threads_end = *static_cast<const std::uintptr_t*>(end);
  return frame_rules.prepare();
}

// Neither the memory map of the process, whose reading takes long where threads are many, nor the C library's own call
// for the bounds, which allocates under a lock, and so may have called this.
void extend_stack(stack_bounds& stack, const void* frame) noexcept {
  const auto wanted = reinterpret_cast<std::uintptr_t>(frame);
  if (stack.high == 0) stack.low = stack.high = end_of_stack();
  if (wanted >= stack.low || stack.low - wanted > farthest) return;
  while (wanted < stack.low) {
    const std::uintptr_t page = (stack.low - 1) & ~(page_bytes - 1);
    if (!is_readable(page)) return;
    stack.low = page;
  }
}

int walk_stack(std::uint64_t* to, std::uint32_t most, const void* frame_pointer, const stack_bounds& stack) noexcept {
  frame at = frame::caller_of(frame_pointer, stack);
  std::uint32_t count = 0;
  while (at.code != 0) {
    to[count++] = at.code;
    if (count == most) break;
    const frame_rule rule = unpacked(frame_rules.at(at.code));
    if (rule.base == frame_base::none) break;
    if (ASHLAR_UNLIKELY(rule.base == frame_base::unknown || !at.step(rule, stack))) return -static_cast<int>(count);
  }
  return static_cast<int>(count);
}

}  // namespace ashlar::recorder
