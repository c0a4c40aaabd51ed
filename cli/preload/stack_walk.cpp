// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bounds of a stack, and the walk by rules.
#include "cli/preload/stack_walk.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ashlar/detail/support/hints.hpp>

#include "cli/preload/rule_cache.hpp"

namespace ashlar::recorder {

namespace {

constexpr std::uintptr_t least_gap = std::uintptr_t{128} << 20;  // Linux maps nothing else so near to the stack's end

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

bool prepare_walk() noexcept { return frame_rules.prepare(); }

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
  frame at = frame::caller_of(frame_pointer, stack);
  if (ASHLAR_UNLIKELY(at.code == 0)) return -1;
  std::uint32_t count = 0;
  while (at.code != 0) {
    to[count++] = at.code;
    if (count == most) break;
    const frame_rule rule = unpacked(frame_rules.at(at.code));
    if (rule.base == frame_base::none) break;
    if (ASHLAR_UNLIKELY(rule.base == frame_base::unknown || !at.step(rule, stack))) return -1;
  }
  return static_cast<int>(count);
}

void forget_rules() noexcept { frame_rules.forget(); }

void reset_walk() noexcept {
  frame_rules.reset();
  frame_rules.next_generation();
}

}  // namespace ashlar::recorder
