// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bounds of a stack, the rules that the cache lacks, by tables that the loader knows, and the walk by them, which
// the words of a known stack spare.
#include "cli/preload/stack_walk.hpp"

#include <algorithm>

#include <dlfcn.h>

#include <ashlar/base/lock.hpp>

#include "malloc/loaded_files.hpp"

namespace ashlar::recorder {

namespace {

constexpr std::uintptr_t page_bytes = 4096;
constexpr std::uintptr_t farthest = std::uintptr_t{8} << 20;  // from one event of a thread to the next

std::uintptr_t first_threads_end = 0;  // the stack of the first thread ends here; 0: unknown

/// On x86-64 the C library has the control block of a thread at the end of its stack, except for the first thread.
[[nodiscard]] std::uintptr_t end_of_stack() noexcept {
  const bool is_first = ::syscall(SYS_gettid) == ::getpid();
  return is_first ? first_threads_end : static_cast<std::uintptr_t>(::pthread_self());
}

using object_finder = int (*)(void*, drop_in::loaded_object*);

object_finder find_object = nullptr;

/// Of a file with a gap between its segments, the loader gives the bounds of the code alone; its tables stand before.
[[nodiscard]] frame_rule make_rule(std::uint64_t address) noexcept {
  drop_in::loaded_object object{};
  if (find_object(reinterpret_cast<void*>(address - 1), &object) != 0) return {};
  const std::byte *const header = object.eh_frame_header, *const code = static_cast<const std::byte*>(object.begin);
  if (header == nullptr) return {};  // a file without .eh_frame_hdr
  const bool is_apart = header < code;
  return compile_rule({.header = header,
                       .begin = is_apart ? header : code,
                       .end = is_apart ? code : static_cast<const std::byte*>(object.end)},
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
    if (!drop_in::is_readable(reinterpret_cast<const void*>(page))) return;
    stack.low = page;
  }
}

int walk_stack(std::uint64_t* to, std::uint32_t most, const void* frame_pointer, const stack_bounds& stack) noexcept {
  frame at = frame::caller_of(frame_pointer, stack);
  kept_frames kept(to, most);
  while (at.code != 0 && kept.add(at.code)) {
    const frame_rule rule = unpacked(frame_rules.at(at.code));
    if (rule.base == frame_base::none) break;
    if (ASHLAR_UNLIKELY(rule.base == frame_base::unknown || !at.step(rule, stack)))
      return -static_cast<int>(kept.count());
  }
  return static_cast<int>(kept.count());
}

namespace {

/// Returns: the word that ends a number of bytes behind the first frame's stack pointer.
[[nodiscard]] ASHLAR_INLINE std::uint64_t word_before(const frame& start, std::int32_t distance) noexcept {
  return word_at(start.stack_pointer + static_cast<std::uint64_t>(std::int64_t{distance}) - sizeof(std::uint64_t));
}

/// Returns: whether a walk from `start` would find the known stack.
[[nodiscard]] ASHLAR_INLINE bool holds(const known_stack& known, const frame& start,
                                       const stack_bounds& stack) noexcept {
  if (known.stack_pointer != start.stack_pointer || known.codes[0] != start.code) return false;
  if (known.generation != frame_rules.generation()) return false;
  if (static_cast<std::uint64_t>(known.extent) > stack.high - start.stack_pointer) return false;
  for (std::uint32_t i = 1; i < known.words; ++i)
    if (word_before(start, known.at[i]) != known.codes[i]) return false;
  return true;
}

/// The rules of a known stack, for frames at the same places: that they need no look-up breaks the chain in which each
/// frame waits for the one before.
class rules_nearby {
public:
  rules_nearby(const known_stack* near, std::uint32_t generation) noexcept
      : near_(near), count_(near == nullptr || near->generation != generation ? 0 : near->ruled) {}

  [[nodiscard]] ASHLAR_INLINE std::uint64_t at(const frame& f) noexcept {
    while (next_ < count_ && place() < f.stack_pointer) ++next_;
    const bool is_same = next_ < count_ && place() == f.stack_pointer && near_->codes[next_] == f.code;
    return is_same ? near_->rules[next_] : frame_rules.at(f.code);
  }

private:
  [[nodiscard]] ASHLAR_INLINE std::uint64_t place() const noexcept {
    return near_->stack_pointer + static_cast<std::uint64_t>(std::int64_t{near_->at[next_]});
  }

  const known_stack* near_;
  std::uint32_t count_, next_ = 0;
};

/// The words by which the frame pointers of a walk are known: the function that asks has saved the first one.
class frame_pointer_words {
public:
  /// Effects: notes a step from a frame to the next, whose stack pointer is `distance` bytes from the first one's.
  ASHLAR_INLINE void step(const frame_rule& rule, std::uint64_t frame_pointer, std::int32_t distance) noexcept {
    if (rule.base == frame_base::frame_pointer && !is_noted_) {
      codes_[count_] = frame_pointer;
      at_[count_++] = saved_at_;
      is_noted_ = true;
    }
    if (rule.saved_words == 0) return;
    saved_at_ = distance - (rule.saved_words - 1) * 8;
    is_noted_ = false;
  }

  /// Effects: appends them to the words of `to`. Returns: false if there is no room for all.
  [[nodiscard]] bool append(known_stack& to) const noexcept {
    if (to.words + count_ > int{known_stack::most_words}) return false;
    for (std::uint16_t i = 0; i < count_; ++i) {
      to.codes[to.words] = codes_[i];
      to.at[to.words++] = at_[i];
    }
    return true;
  }

private:
  std::int32_t saved_at_ = -8;  // below the first return address
  bool is_noted_ = false;
  std::uint16_t count_ = 0;
  std::uint64_t codes_[known_stack::most_words];
  std::int32_t at_[known_stack::most_words];
};

/// Effects: `to` becomes the stack from `start` on. Returns: false if it has a frame without a rule.
[[nodiscard]] bool walk(known_stack& to, const frame& start, std::uint32_t most, const stack_bounds& stack,
                        const known_stack* near) noexcept {
  to.stack_pointer = 0;  // until all is known
  to.generation = frame_rules.generation();
  if (ASHLAR_UNLIKELY(stack.high - start.stack_pointer > INT32_MAX)) return false;
  rules_nearby rules(near, to.generation);
  frame_pointer_words pointers;
  kept_frames kept(to.frames.data(), most);
  frame at = start;
  std::uint16_t n = 0;
  for (;; ++n) {
    to.codes[n] = at.code;
    to.at[n] = static_cast<std::int32_t>(at.stack_pointer - start.stack_pointer);
    if (at.code == 0 || !kept.add(at.code)) break;
    const std::uint64_t word = rules.at(at);
    if (n < known_stack::most_frames) to.rules[n] = word;
    const frame_rule rule = unpacked(word);
    if (rule.base == frame_base::none) break;
    const std::uint64_t frame_pointer = at.frame_pointer;
    if (ASHLAR_UNLIKELY(rule.base == frame_base::unknown || !at.step(rule, stack))) return false;
    pointers.step(rule, frame_pointer, static_cast<std::int32_t>(at.stack_pointer - start.stack_pointer));
  }
  to.ruled = std::min<std::uint16_t>(n, known_stack::most_frames);
  to.words = static_cast<std::uint16_t>(n + 1);
  to.count = static_cast<std::uint16_t>(kept.count());
  to.extent = to.at[n];
  if (pointers.append(to)) to.stack_pointer = start.stack_pointer;
  to.id = 0;
  return true;
}

}  // namespace

std::size_t known_stacks::set_of(const frame& start, const stack_bounds& stack) noexcept {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
  std::uint64_t mixed = ((start.code << 32 | start.code >> 32) ^ start.stack_pointer) * odd;
  const frame_rule rule = unpacked(frame_rules.at(start.code));
  frame next = start;
  if (rule.base == frame_base::stack_pointer && next.step(rule, stack)) mixed = (mixed ^ next.code) * odd;
  return static_cast<std::size_t>(mixed >> (64 - set_bits));
}

known_stack* known_stacks::find(std::uint32_t most, const void* function, const stack_bounds& stack) noexcept {
  const frame start = frame::caller_of(function, stack);
  if (ASHLAR_UNLIKELY(start.code == 0)) return nullptr;
  const std::size_t alike = set_of(start, stack);
  std::uint8_t& recent = recent_[alike];
  known_stack* const all = &stacks_[alike * ways];
  if (ASHLAR_LIKELY(holds(all[recent], start, stack))) return last_ = &all[recent];
  for (std::uint8_t i = 0; i < ways; ++i) {
    if (!holds(all[i], start, stack)) continue;
    recent = i;
    return last_ = &all[i];
  }
  known_stack* const near = last_;
  recent = next_[alike];
  next_[alike] = static_cast<std::uint8_t>((recent + 1) % ways);
  last_ = &all[recent];
  return walk(*last_, start, most, stack, near == last_ ? nullptr : near) ? last_ : nullptr;
}

}  // namespace ashlar::recorder
