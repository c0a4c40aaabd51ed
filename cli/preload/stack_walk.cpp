// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cache of rules, and the walk.
#include "cli/preload/stack_walk.hpp"

#include <atomic>

#include <dlfcn.h>
#include <pthread.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/hints.hpp>

#include "cli/preload/frame_rules.hpp"

namespace ashlar::recorder {

namespace {

constexpr std::size_t cache_slots = std::size_t{1} << 16;
constexpr std::uint32_t max_rules = cache_slots / 2;
constexpr std::uintptr_t main_stack_bytes = std::uintptr_t{128} << 20;  // Linux maps nothing else so near to its end

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

/// A rule in one word, so that it is read whole.
[[nodiscard]] constexpr std::uint64_t packed(const frame_rule& r) noexcept {
  return static_cast<std::uint32_t>(r.offset) | std::uint64_t{static_cast<std::uint16_t>(r.saved_words)} << 32 |
         std::uint64_t{static_cast<std::uint8_t>(r.base)} << 48;
}
[[nodiscard]] constexpr frame_rule unpacked(std::uint64_t word) noexcept {
  return {.offset = static_cast<std::int32_t>(static_cast<std::uint32_t>(word)),
          .saved_words = static_cast<std::int16_t>(static_cast<std::uint16_t>(word >> 32)),
          .base = static_cast<frame_base>(static_cast<std::uint8_t>(word >> 48))};
}

struct slot {
  std::atomic<std::uint64_t> address = 0;  ///< 0 = empty.
  std::atomic<std::uint64_t> rule = 0;     ///< Written before the address is released.
};

constinit slot cache[cache_slots];
constinit spin_lock cache_lock;
std::uint32_t rules = 0;
object_finder find_object = nullptr;
const std::uintptr_t* main_stack_end = nullptr;

[[nodiscard]] ASHLAR_INLINE slot& find_slot(std::uint64_t address) noexcept {
  for (std::size_t at = address ^ address >> 16;; ++at) {
    slot& s = cache[at % cache_slots];
    const std::uint64_t there = s.address.load(std::memory_order_acquire);  // pairs with the release in add_rule()
    if (there == address || there == 0) return s;
  }
}

[[nodiscard]] frame_rule make_rule(std::uint64_t address) noexcept {
  loaded_object object{};
  if (find_object(reinterpret_cast<void*>(address - 1), &object) != 0) return {};
  return compile_rule({.header = object.eh_frame_header, .begin = object.begin, .end = object.end}, address);
}

ASHLAR_COLD frame_rule add_rule(std::uint64_t address) noexcept {
  const frame_rule made = make_rule(address);
  const ashlar::detail::lock_scope hold(cache_lock);
  slot& s = find_slot(address);
  if (s.address.load(std::memory_order_relaxed) == address || rules == max_rules) return made;
  ++rules;
  s.rule.store(packed(made), std::memory_order_relaxed);
  s.address.store(address, std::memory_order_release);
  return made;
}

[[nodiscard]] ASHLAR_INLINE frame_rule rule_at(std::uint64_t address) noexcept {
  const slot& s = find_slot(address);
  if (ASHLAR_UNLIKELY(s.address.load(std::memory_order_relaxed) != address)) return add_rule(address);
  return unpacked(s.rule.load(std::memory_order_relaxed));
}

[[nodiscard]] ASHLAR_INLINE std::uint64_t word_at(std::uintptr_t address) noexcept {
  return *reinterpret_cast<const std::uint64_t*>(address);
}

/// The registers of a frame that lead to the next one.
struct frame {
  std::uint64_t code, stack_pointer, frame_pointer;

  /// Effects: becomes the caller's. Returns: false if it cannot be found on this stack.
  [[nodiscard]] ASHLAR_INLINE bool step(const frame_rule& rule, const stack_bounds& stack) noexcept {
    const std::uint64_t base = rule.base == frame_base::stack_pointer ? stack_pointer : frame_pointer;
    const std::uint64_t cfa = base + static_cast<std::uint64_t>(std::int64_t{rule.offset});
    if (cfa <= stack_pointer || cfa > stack.high || cfa % sizeof(std::uint64_t) != 0) return false;
    const auto saved = static_cast<std::uint64_t>(rule.saved_words) * sizeof(std::uint64_t);
    if (cfa - stack_pointer < saved) return false;
    if (saved != 0) frame_pointer = word_at(cfa - saved);
    code = word_at(cfa - sizeof(std::uint64_t));
    stack_pointer = cfa;
    return true;
  }
};

}  // namespace

bool prepare_walk() noexcept {
#if defined(__x86_64__)
  find_object = reinterpret_cast<object_finder>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  main_stack_end = static_cast<const std::uintptr_t*>(dlsym(RTLD_DEFAULT, "__libc_stack_end"));
#endif
  return find_object != nullptr && main_stack_end != nullptr;
}

stack_bounds find_stack() noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), top = *main_stack_end;
  if (here < top && top - here < main_stack_bytes) return {top - main_stack_bytes, top};
  pthread_attr_t facts;
  if (pthread_getattr_np(pthread_self(), &facts) != 0) return {};
  void* low = nullptr;
  std::size_t bytes = 0;
  const bool known = pthread_attr_getstack(&facts, &low, &bytes) == 0;
  pthread_attr_destroy(&facts);
  const auto begin = reinterpret_cast<std::uintptr_t>(low);
  return known ? stack_bounds{begin, begin + bytes} : stack_bounds{};
}

int walk_stack(std::uint64_t* to, std::uint32_t most, const void* frame_pointer, const stack_bounds& stack) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(frame_pointer);
  if (ASHLAR_UNLIKELY(!stack.has(start) || stack.high - start < 2 * sizeof(std::uint64_t))) return -1;
  frame at{.code = word_at(start + sizeof(std::uint64_t)),
           .stack_pointer = start + 2 * sizeof(std::uint64_t),
           .frame_pointer = word_at(start)};
  std::uint32_t count = 0;
  while (count < most && at.code != 0) {
    to[count++] = at.code;
    const frame_rule rule = rule_at(at.code);
    if (rule.base == frame_base::none) break;
    if (ASHLAR_UNLIKELY(rule.base == frame_base::unknown || !at.step(rule, stack))) return -1;
  }
  return static_cast<int>(count);
}

void forget_rules() noexcept {
  const ashlar::detail::lock_scope hold(cache_lock);
  if (rules == 0) return;
  for (slot& s : cache) s.address.store(0, std::memory_order_relaxed);
  rules = 0;
}

void reset_walk() noexcept { cache_lock.unlock(); }

}  // namespace ashlar::recorder
