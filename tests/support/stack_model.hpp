// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A random walk over a stack beside a trivial one: a vector of blocks and of the stack's state before each.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/detail/stack/stack_order.hpp>

#include "tests/support/live_blocks.hpp"

namespace ashlar_test {

/// Returns: the bytes that a block of `bytes` takes in a stack at an ordinary alignment.
[[nodiscard]] constexpr std::size_t taken(std::size_t bytes) {
  return ashlar::detail::stack_order::label_bytes(1) + ashlar::detail::stack_bytes(bytes);
}

/// Pushes, pops, marks and rewinds at random. After each step it compares the state of the stack with its former state
/// at the same height: any padding that does not come back is found at once.
template <class Stack>
class stack_model {
public:
  stack_model(Stack& stack, unsigned seed) : stack_(stack), blocks_(stack), random_(seed) {}

  void step() {
    switch (below(8)) {
      case 0: return mark();
      case 1: return rewind();
      case 2:
      case 3:
      case 4: return pop();
      default: return push();
    }
  }

  void push() {
    const std::size_t bytes = below(16) == 0 ? below(20'000) : below(200);
    const std::size_t alignment = std::size_t{1} << (below(4) == 0 ? below(13) : below(6));
    const std::size_t before = stack_.used();
    if (!blocks_.try_allocate(bytes, alignment)) {
      EXPECT_EQ(stack_.used(), before);
      ++refusals_;
      return;
    }
    used_before_.push_back(before);
    EXPECT_TRUE(ashlar::is_aligned(blocks_[blocks_.size() - 1].data, alignment));
    EXPECT_TRUE(stack_.owns(blocks_[blocks_.size() - 1].data));
    EXPECT_GE(stack_.used(), before + bytes);
    most_ = most_ < stack_.used() ? stack_.used() : most_;
  }

  void pop() {
    if (used_before_.empty()) return;
    blocks_.free(blocks_.size() - 1);
    EXPECT_EQ(stack_.used(), used_before_.back());
    used_before_.pop_back();
    while (!marks_.empty() && marks_.back().depth > used_before_.size()) marks_.pop_back();
  }

  void mark() { marks_.push_back({used_before_.size(), stack_.used(), stack_.mark()}); }

  // At times to an older marker than the last; markers above it are invalid from then on, the marker itself stays
  // valid.
  void rewind() {
    if (marks_.empty()) return;
    while (marks_.size() > 1 && below(3) == 0) marks_.pop_back();
    const marked& to = marks_.back();
    while (blocks_.size() > to.depth) static_cast<void>(blocks_.forget(blocks_.size() - 1));
    used_before_.resize(to.depth);
    stack_.rewind(to.marker);
    EXPECT_EQ(stack_.used(), to.used);
  }

  [[nodiscard]] bool all_intact() const { return blocks_.all_intact(); }
  [[nodiscard]] std::size_t depth() const { return used_before_.size(); }
  [[nodiscard]] std::size_t most_used() const { return most_; }
  [[nodiscard]] std::size_t refusals() const { return refusals_; }

private:
  struct marked {
    std::size_t depth;
    std::size_t used;
    typename Stack::marker marker;
  };

  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  Stack& stack_;
  live_blocks<Stack> blocks_;
  std::vector<std::size_t> used_before_;
  std::vector<marked> marks_;
  std::mt19937 random_;
  std::size_t most_ = 0;
  std::size_t refusals_ = 0;
};

}  // namespace ashlar_test
