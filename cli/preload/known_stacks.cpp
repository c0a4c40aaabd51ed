// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares the words of a known stack, or walks again, with the rules of the stack before while frames are the same.
#include "cli/preload/known_stacks.hpp"

#include "cli/preload/rule_cache.hpp"

namespace ashlar::recorder {

namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

[[nodiscard]] bool same_by_frame_pointer(const known_stack& known, const frame& start) noexcept {
  std::uint64_t frame_pointer = start.frame_pointer;
  for (std::uint32_t i = 1; i < known.words; ++i) {
    const frame_rule rule = unpacked(known.rules[i - 1]);
    const std::uint64_t cfa = start.stack_pointer + known.at[i];
    if (rule.base == frame_base::frame_pointer &&
        frame_pointer + static_cast<std::uint64_t>(std::int64_t{rule.offset}) != cfa)
      return false;
    if (rule.saved_words != 0) frame_pointer = word_at(cfa - static_cast<std::uint64_t>(rule.saved_words) * word_bytes);
    if (word_at(cfa - word_bytes) != known.codes[i]) return false;
  }
  return true;
}

/// Returns: whether a walk from `start` would find the known stack.
[[nodiscard]] ASHLAR_INLINE bool holds(const known_stack& known, const frame& start,
                                       const stack_bounds& stack) noexcept {
  if (known.stack_pointer != start.stack_pointer || known.codes[0] != start.code) return false;
  if (known.generation != frame_rules.generation()) return false;
  if (known.at[known.words - 1U] > stack.high - start.stack_pointer) return false;
  if (ASHLAR_UNLIKELY(known.uses_frame_pointer)) return same_by_frame_pointer(known, start);
  for (std::uint32_t i = 1; i < known.words; ++i)
    if (word_at(start.stack_pointer + known.at[i] - word_bytes) != known.codes[i]) return false;
  return true;
}

/// The rules of a known stack, for frames at the same places: that they need no look-up breaks the chain in which each
/// frame waits for the one before.
class rules_nearby {
public:
  rules_nearby(const known_stack* near, std::uint32_t generation) noexcept
      : near_(near), count_(near == nullptr || near->generation != generation ? 0 : near->ruled) {}

  [[nodiscard]] ASHLAR_INLINE std::uint64_t at(const frame& f) noexcept {
    while (next_ < count_ && near_->stack_pointer + near_->at[next_] < f.stack_pointer) ++next_;
    const bool is_same =
        next_ < count_ && near_->stack_pointer + near_->at[next_] == f.stack_pointer && near_->codes[next_] == f.code;
    return is_same ? near_->rules[next_] : frame_rules.at(f.code);
  }

private:
  const known_stack* near_;
  std::uint32_t count_, next_ = 0;
};

/// Effects: `to` becomes the stack from `start` on. Returns: false if it has a frame without a rule.
[[nodiscard]] bool walk(known_stack& to, const frame& start, std::uint32_t most, const stack_bounds& stack,
                        const known_stack* near) noexcept {
  to.stack_pointer = 0;  // until all is known
  to.generation = frame_rules.generation();
  to.uses_frame_pointer = false;
  rules_nearby rules(near, to.generation);
  frame at = start;
  std::uint16_t n = 0;
  for (;; ++n) {
    const std::uint64_t distance = at.stack_pointer - start.stack_pointer;
    if (ASHLAR_UNLIKELY(distance > UINT32_MAX)) return false;
    to.codes[n] = at.code;
    to.at[n] = static_cast<std::uint32_t>(distance);
    if (at.code == 0 || n + 1U == most) break;
    to.rules[n] = rules.at(at);
    const frame_rule rule = unpacked(to.rules[n]);
    if (rule.base == frame_base::none) break;
    if (ASHLAR_UNLIKELY(rule.base == frame_base::unknown || !at.step(rule, stack))) return false;
    to.uses_frame_pointer = to.uses_frame_pointer || rule.base == frame_base::frame_pointer;
  }
  to.ruled = n;
  to.words = static_cast<std::uint16_t>(n + 1);
  to.count = at.code == 0 ? n : to.words;
  to.stack_pointer = start.stack_pointer;
  to.id = 0;
  return true;
}

}  // namespace

known_stack* known_stacks::find(std::uint32_t most, const void* function, const stack_bounds& stack) noexcept {
  const frame start = frame::caller_of(function, stack);
  if (ASHLAR_UNLIKELY(start.code == 0)) return nullptr;
  set& alike = set_of(start);
  known_stack& recent = alike.stacks[alike.recent];
  if (ASHLAR_LIKELY(holds(recent, start, stack))) return last_ = &recent;
  for (std::uint32_t i = 0; i < ways; ++i) {
    known_stack& other = alike.stacks[i];
    if (!holds(other, start, stack)) continue;
    alike.recent = i;
    return last_ = &other;
  }
  alike.recent = alike.next;
  alike.next = (alike.next + 1) % ways;
  known_stack& fresh = alike.stacks[alike.recent];
  if (!walk(fresh, start, most, stack, last_ == &fresh ? &recent : last_)) return nullptr;
  return last_ = &fresh;
}

}  // namespace ashlar::recorder
