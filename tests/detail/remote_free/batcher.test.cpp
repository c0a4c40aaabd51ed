// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the batcher's outcomes one by one, beside an oracle at random, and between threads.
#include <ashlar/detail/remote_free/batcher.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/atomics.hpp>
#include <ashlar/detail/remote_free/batcher.hpp>

#include "tests/support/batcher_model.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::detail::batch_result;
using ashlar::detail::batch_shape;
using ashlar::detail::freed_word;
using ashlar_test::batcher_model;

constexpr batch_shape tiny = {.packets = 2, .words = 3, .slot_count = 2};
using tiny_batcher = ashlar::detail::batcher<ashlar::detail::default_atomics, tiny>;
using inbox = tiny_batcher::inbox_type;

static_assert(sizeof(ashlar::detail::batcher<>) <= 9 * 1024 + 64, "one for each thread and pool");

std::size_t cells_drained(inbox& from) {
  std::size_t cells = 0;
  ashlar::detail::drain(from,
                        [&](const freed_word& word) { cells += static_cast<std::size_t>(std::popcount(word.cells)); });
  return cells;
}

TEST(batcher, notices_the_second_free_of_a_cell_it_has) {
  inbox in;
  tiny_batcher b(in, 2);
  EXPECT_EQ(b.add({1, 1}), batch_result::noted);
  EXPECT_EQ(b.add({1, 1}), batch_result::already_noted);
  EXPECT_EQ(b.add({1, 2}), batch_result::noted);
  EXPECT_EQ(b.add({1, 2}), batch_result::already_noted) << "also when it holds all it may";
  EXPECT_EQ(b.noted(), 2u);
}

TEST(batcher, holds_at_least_one_cell) {
  inbox in;
  tiny_batcher b(in, 0);
  EXPECT_EQ(b.add({1, 1}), batch_result::noted);
  EXPECT_EQ(b.add({1, 2}), batch_result::noted);
  EXPECT_EQ(b.noted(), 1u);
  EXPECT_EQ(cells_drained(in), 1u);
}

TEST(batcher, refuses_at_the_bound_too_and_does_not_exceed_it) {
  inbox in;
  tiny_batcher b(in, 1);
  std::size_t noted = 0;
  while (b.add({noted + 1, 1}) == batch_result::noted) ++noted;
  EXPECT_EQ(b.noted(), 1u);
  for (int again = 0; again < 3; ++again) EXPECT_EQ(b.add({90, 1}), batch_result::refused);
  EXPECT_EQ(b.noted(), 1u);
  EXPECT_EQ(cells_drained(in) + b.noted(), noted);
}

template <batch_shape Shape>
void run_beside_the_oracle(std::size_t most_held, unsigned seed, bool closes) {
  using model_type = batcher_model<Shape>;
  const auto model = std::make_unique<model_type>(most_held);
  std::mt19937 random(seed);
  std::size_t base = 0;
  for (int step = 0; step < 8000; ++step) {
    if (random() % 64 == 0) base = random() % model_type::cells;
    const std::size_t near = (base + random() % 200) % model_type::cells;
    switch (random() % 64) {
      case 0: ASSERT_TRUE(model->flush()); break;
      case 1: ASSERT_TRUE(model->hand_over()); break;
      case 2: ASSERT_TRUE(model->drain()); break;
      case 3: ASSERT_TRUE(model->add(near)); break;
      case 4: ASSERT_TRUE(!closes || random() % 50 != 0 || model->close()); break;
      default: ASSERT_TRUE(model->add_whatever_it_takes(near, random() % 2 == 0)); break;
    }
  }
  EXPECT_TRUE(model->finish());
}

TEST(batcher, loses_and_doubles_nothing_beside_an_oracle) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    run_beside_the_oracle<tiny>(1, seed, false);
    run_beside_the_oracle<tiny>(50, seed, false);
    run_beside_the_oracle<batch_shape{.packets = 1, .words = 1, .slot_count = 2}>(30, seed, false);
    run_beside_the_oracle<batch_shape{}>(2730, seed, false);
  }
}

TEST(batcher, goes_on_beside_an_oracle_when_the_pool_ends) {
  for (unsigned seed = 10; seed < 16; ++seed) {
    run_beside_the_oracle<tiny>(50, seed, true);
    run_beside_the_oracle<batch_shape{}>(500, seed, true);
  }
}

// Each freeing thread has the cells of the words with its number; the owner gives every cell back to be freed again.
class remote_frees {
public:
  using small =
      ashlar::detail::batcher<ashlar::detail::default_atomics, batch_shape{.packets = 4, .words = 7, .slot_count = 8}>;
  static constexpr std::size_t freers = 3;
  static constexpr std::size_t words = 40;  // for each freeing thread
  static constexpr unsigned rounds = ashlar_test::cases_of_build(20, 50);

  void free_all(std::size_t who) {
    small b(in_, 500);
    std::mt19937 random(static_cast<unsigned>(who));
    for (std::size_t left = std::size_t{rounds} * words * 64; left != 0;) {
      const std::size_t cell = who * words * 64 + random() % (words * 64);
      // Acquire pairs with the owner's release: the freeing thread has the cell.
      if (is_live_[cell].load(std::memory_order_acquire) == 0) continue;
      is_live_[cell].store(0, std::memory_order_relaxed);
      contents_[cell] = static_cast<unsigned>(cell);  // plain: an early free is a race
      while (b.add({cell / 64, std::uint64_t{1} << (cell % 64)}) != batch_result::noted) std::this_thread::yield();
      if (--left % 1000 == 0) flush(b);
    }
    flush(b);
    while (!b.is_idle()) std::this_thread::yield();
  }

  void own() {
    for (std::size_t left = std::size_t{freers} * rounds * words * 64; left != 0;) {
      if (in_.is_empty()) std::this_thread::yield();
      ashlar::detail::drain(in_, [&](const freed_word& word) {
        for (std::uint64_t rest = word.cells; rest != 0; rest &= rest - 1, --left)
          take(word.key * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      });
    }
  }

private:
  static void flush(small& b) {
    while (!b.flush()) std::this_thread::yield();
  }

  void take(std::size_t cell) {
    ASSERT_EQ(is_live_[cell].load(std::memory_order_relaxed), 0) << "freed twice";
    ASSERT_EQ(contents_[cell], cell);
    contents_[cell] = ~0u;
    is_live_[cell].store(1, std::memory_order_release);
  }

  static std::vector<std::atomic<unsigned char>> all_live() {
    std::vector<std::atomic<unsigned char>> cells(freers * words * 64);
    for (auto& each : cells) each = 1;
    return cells;
  }

  small::inbox_type in_;
  std::vector<std::atomic<unsigned char>> is_live_ = all_live();
  std::vector<unsigned> contents_ = std::vector<unsigned>(freers * words * 64);
};

TEST(batcher, brings_each_free_of_several_threads_to_the_owner_once) {
  const auto all = std::make_unique<remote_frees>();
  std::vector<std::thread> threads;
  for (std::size_t who = 0; who < remote_frees::freers; ++who) threads.emplace_back([&, who] { all->free_all(who); });
  all->own();
  for (std::thread& each : threads) each.join();
}

}  // namespace
