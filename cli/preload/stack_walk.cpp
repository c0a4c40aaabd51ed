// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cache of rules, and the walk.
#include "cli/preload/stack_walk.hpp"

#include <atomic>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/hints.hpp>

#include "cli/preload/frame_rules.hpp"

namespace ashlar::recorder {

namespace {

constexpr std::size_t cache_slots = std::size_t{1} << 16;
constexpr std::uint32_t max_rules = cache_slots / 2;
constexpr std::uintptr_t least_gap = std::uintptr_t{128} << 20;  // Linux maps nothing else so near to the stack's end

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
  s.rule.store(packed(made), std::memory_order_release);  // who reads it sees that the address before it is gone
  s.address.store(address, std::memory_order_release);
  return made;
}

[[nodiscard]] ASHLAR_INLINE frame_rule rule_at(std::uint64_t address) noexcept {
  const slot& s = find_slot(address);
  const std::uint64_t word = s.rule.load(std::memory_order_acquire);  // before the address is read again
  if (ASHLAR_UNLIKELY(s.address.load(std::memory_order_relaxed) != address)) return add_rule(address);
  return unpacked(word);
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

struct mapping {
  std::uintptr_t begin, end;
  bool is_main_stack;
};

/// The memory map of this process, line by line: "begin-end access offset device inode name".
class memory_map {
public:
  memory_map() noexcept : descriptor_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  memory_map(const memory_map&) = delete;
  memory_map& operator=(const memory_map&) = delete;
  ~memory_map() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// Returns: false at the end.
  [[nodiscard]] bool next(mapping& to) noexcept {
    to.begin = number();
    to.end = number();
    to.is_main_stack = false;
    for (int c = get(); c != '\n'; c = get()) {
      if (c < 0) return false;
      if (c == '[') to.is_main_stack = get() == 's' && get() == 't';
    }
    return true;
  }

private:
  /// Returns: the next character, or -1.
  [[nodiscard]] int get() noexcept {
    if (at_ == end_) {
      const ssize_t got = descriptor_ < 0 ? -1 : ::read(descriptor_, buffer_, sizeof buffer_);
      if (got <= 0) return -1;
      at_ = 0;
      end_ = static_cast<std::size_t>(got);
    }
    return buffer_[at_++];
  }
  /// Returns: the hexadecimal number before the next other character, which is taken too.
  [[nodiscard]] std::uintptr_t number() noexcept {
    std::uintptr_t value = 0;
    for (int c = get();; c = get())
      if (c >= '0' && c <= '9') value = value * 16 + static_cast<std::uintptr_t>(c - '0');
      else if (c >= 'a' && c <= 'f') value = value * 16 + static_cast<std::uintptr_t>(c - 'a') + 10;
      else return value;
  }

  int descriptor_;
  std::size_t at_ = 0, end_ = 0;
  char buffer_[1024];
};

/// Returns: the bytes to which the stack of the first thread may grow, as far as nothing else is mapped there.
[[nodiscard]] std::uintptr_t most_of_main_stack() noexcept {
  rlimit limit{};
  const bool is_limited = ::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < least_gap;
  return is_limited ? static_cast<std::uintptr_t>(limit.rlim_cur) : least_gap;
}

}  // namespace

bool prepare_walk() noexcept {
#if defined(__x86_64__)
  find_object = reinterpret_cast<object_finder>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
#endif
  return find_object != nullptr;
}

// The C library's own call for the bounds of a stack allocates under a lock, and so may have called this.
stack_bounds find_stack() noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  memory_map map;
  for (mapping found{}; map.next(found);)
    if (found.begin <= here && here < found.end)
      return {found.is_main_stack ? found.end - most_of_main_stack() : found.begin, found.end};
  return {};
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
