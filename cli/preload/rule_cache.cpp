// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles the rules that the cache lacks; the loader knows the tables.
#include "cli/preload/rule_cache.hpp"

#include <dlfcn.h>

#include <ashlar/base/lock.hpp>

namespace ashlar::recorder {

namespace {

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
  const ashlar::detail::lock_scope hold(lock_);
  slot& s = find_slot(address);
  if (s.address.load(std::memory_order_relaxed) == address || count_ == most) return made;
  ++count_;
  s.rule.store(made, std::memory_order_release);  // who reads it sees that the address before it is gone
  s.address.store(address, std::memory_order_release);
  return made;
}

void rule_cache::forget() noexcept {
  const ashlar::detail::lock_scope hold(lock_);
  next_generation();
  if (count_ == 0) return;
  for (slot& s : slots_) s.address.store(0, std::memory_order_relaxed);
  count_ = 0;
}

}  // namespace ashlar::recorder
