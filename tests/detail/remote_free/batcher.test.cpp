// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the batcher's outcomes one by one, beside an oracle at random, and between threads.
#include <ashlar/detail/remote_free/batcher.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/remote_free/packet.hpp>
#include <ashlar/detail/support/atomics.hpp>

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

static_assert(sizeof(ashlar::detail::batcher<>) <= 10 * 1024, "one for each thread and pool");

auto all_to(inbox& to) {
  return [&to](std::uintptr_t) -> inbox& { return to; };
}

std::size_t cells_drained(inbox& from) {
  std::size_t cells = 0;
  ashlar::detail::drain(from,
                        [&](const freed_word& word) { cells += static_cast<std::size_t>(std::popcount(word.cells)); });
  return cells;
}

// Fills batcher and packets with cells of new words. Returns: the number of noted cells before a refusal.
std::size_t fill(tiny_batcher& b, inbox& to) {
  std::uintptr_t key = 100;
  while (b.add(key, 1, all_to(to)) == batch_result::noted) ++key;
  return key - 100;
}

TEST(batcher, sends_everything_when_what_is_noted_weighs_enough) {
  tiny_batcher b(1000);
  inbox to;
  EXPECT_EQ(b.add(100, 1, all_to(to), 400), batch_result::noted);
  EXPECT_EQ(b.add(100, 2, all_to(to), 700), batch_result::noted) << "the last may weigh more than is left";
  EXPECT_TRUE(to.is_empty());
  EXPECT_EQ(b.add(100, 4, all_to(to), 1), batch_result::noted);
  EXPECT_EQ(cells_drained(to), 2u);
  EXPECT_TRUE(b.invariant());
  EXPECT_TRUE(b.flush(all_to(to)));
  EXPECT_EQ(cells_drained(to), 1u);
  EXPECT_TRUE(b.is_idle());
}

TEST(batcher, starts_with_nothing) {
  const tiny_batcher b(10);
  EXPECT_EQ(b.noted(), 0u);
  EXPECT_TRUE(b.is_idle());
  EXPECT_TRUE(b.invariant());
}

TEST(batcher, notes_cells_and_sends_none_before_it_must) {
  inbox in;
  tiny_batcher b(10);
  EXPECT_EQ(b.add(1, 0b01, all_to(in)), batch_result::noted);
  EXPECT_EQ(b.add(1, 0b10, all_to(in)), batch_result::noted);
  EXPECT_EQ(b.noted(), 2u);
  EXPECT_FALSE(b.is_idle());
  EXPECT_TRUE(in.is_empty());
  b.hand_over([](const freed_word&) {});
}

TEST(batcher, notices_the_second_free_of_a_cell_it_has) {
  inbox in;
  tiny_batcher b(2);
  EXPECT_EQ(b.add(1, 1, all_to(in)), batch_result::noted);
  EXPECT_EQ(b.add(1, 1, all_to(in)), batch_result::already_noted);
  EXPECT_EQ(b.add(1, 2, all_to(in)), batch_result::noted);
  EXPECT_EQ(b.add(1, 2, all_to(in)), batch_result::already_noted) << "also when it holds all it may";
  EXPECT_EQ(b.noted(), 2u);
}

TEST(batcher, sends_all_when_it_holds_the_most) {
  inbox in;
  tiny_batcher b(3);
  for (const std::uint64_t bit : {1u, 2u, 4u}) EXPECT_EQ(b.add(1, bit, all_to(in)), batch_result::noted);
  EXPECT_TRUE(in.is_empty());
  EXPECT_EQ(b.add(1, 8, all_to(in)), batch_result::noted);
  EXPECT_EQ(b.noted(), 1u);
  EXPECT_EQ(cells_drained(in), 3u);
}

TEST(batcher, holds_at_least_one_cell) {
  inbox in;
  tiny_batcher b(0);
  EXPECT_EQ(b.add(1, 1, all_to(in)), batch_result::noted);
  EXPECT_EQ(b.add(1, 2, all_to(in)), batch_result::noted);
  EXPECT_EQ(b.noted(), 1u);
  EXPECT_EQ(cells_drained(in), 1u);
}

TEST(batcher, flush_sends_all) {
  inbox in;
  tiny_batcher b(100);
  for (std::uintptr_t key = 1; key <= 4; ++key) EXPECT_EQ(b.add(key, 1, all_to(in)), batch_result::noted);
  EXPECT_TRUE(b.flush(all_to(in)));
  EXPECT_EQ(b.noted(), 0u);
  EXPECT_FALSE(b.is_idle()) << "packets are under way";
  EXPECT_EQ(cells_drained(in), 4u);
  EXPECT_TRUE(b.is_idle());
  EXPECT_TRUE(b.flush(all_to(in)));
  EXPECT_TRUE(in.is_empty()) << "nothing to send";
}

TEST(batcher, refuses_without_waiting_while_no_packet_is_back) {
  inbox in;
  tiny_batcher b(1000);
  const std::size_t noted = fill(b, in);
  EXPECT_GE(noted, tiny.packets * tiny.words);
  EXPECT_TRUE(b.invariant());
  EXPECT_EQ(b.add(1, 1, all_to(in)), batch_result::refused);
  EXPECT_FALSE(b.flush(all_to(in)));
  EXPECT_NE(b.noted(), 0u) << "what is refused stays noted";
  const std::size_t arrived = cells_drained(in);
  EXPECT_EQ(b.add(1, 1, all_to(in)), batch_result::noted) << "the packets are back";
  EXPECT_TRUE(b.flush(all_to(in)));
  EXPECT_EQ(arrived + cells_drained(in), noted + 1);
}

TEST(batcher, refuses_at_the_bound_too_and_does_not_exceed_it) {
  inbox in;
  tiny_batcher b(1);
  std::size_t noted = 0;
  while (b.add(noted + 1, 1, all_to(in)) == batch_result::noted) ++noted;
  EXPECT_EQ(b.noted(), 1u);
  for (int again = 0; again < 3; ++again) EXPECT_EQ(b.add(90, 1, all_to(in)), batch_result::refused);
  EXPECT_EQ(b.noted(), 1u);
  EXPECT_EQ(cells_drained(in) + b.noted(), noted);
}

TEST(batcher, hands_over_what_it_could_not_send) {
  inbox in;
  tiny_batcher b(1000);
  const std::size_t noted = fill(b, in);
  std::size_t handed_over = 0;
  b.hand_over([&](const freed_word& word) { handed_over += static_cast<std::size_t>(std::popcount(word.cells)); });
  EXPECT_EQ(b.noted(), 0u);
  EXPECT_EQ(b.add(1, 1, all_to(in)), batch_result::noted) << "its table is empty again";
  EXPECT_EQ(handed_over + cells_drained(in), noted);
  EXPECT_TRUE(b.invariant());
}

TEST(batcher, hands_over_a_packet_that_is_being_filled) {
  inbox in;
  tiny_batcher b(1000);
  std::vector<std::uintptr_t> keys;
  while (b.noted() <= tiny.slot_count)  // so that at least one was displaced into a packet
    EXPECT_EQ(b.add(keys.emplace_back(keys.size() + 1), 1, all_to(in)), batch_result::noted);
  std::size_t words = 0;
  b.hand_over([&](const freed_word&) { ++words; });
  EXPECT_EQ(words, keys.size());
  EXPECT_TRUE(in.is_empty());
  EXPECT_TRUE(b.is_idle());
}

TEST(batcher, sends_to_one_owner_at_a_time) {
  std::array<inbox, 2> in;
  tiny_batcher b(1000);
  const auto route = [&](std::uintptr_t key) -> inbox& { return in[key % 2]; };
  for (std::uintptr_t key = 1; key <= 4; ++key) ASSERT_EQ(b.add(key, 1, route), batch_result::noted);
  while (!b.flush(route))
    for (std::size_t owner = 0; owner < in.size(); ++owner)
      ashlar::detail::drain(in[owner], [&](const freed_word& word) { EXPECT_EQ(word.key % 2, owner); });
  for (std::size_t owner = 0; owner < in.size(); ++owner)
    ashlar::detail::drain(in[owner], [&](const freed_word& word) { EXPECT_EQ(word.key % 2, owner); });
  EXPECT_TRUE(b.is_idle());
}

TEST(batcher, drops_what_is_for_a_closed_inbox_and_keeps_its_packets) {
  inbox in;
  tiny_batcher b(1000);
  ASSERT_EQ(in.close(), nullptr);
  for (std::uintptr_t key = 1; key <= 100; ++key) ASSERT_EQ(b.add(key, 1, all_to(in)), batch_result::noted);
  EXPECT_TRUE(b.flush(all_to(in)));
  EXPECT_TRUE(b.is_idle());
  EXPECT_TRUE(b.invariant());
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
      case 2: ASSERT_TRUE(model->drain_all()); break;
      case 3:
      case 4: ASSERT_TRUE(model->drain(random() % model_type::owners)); break;
      case 5: ASSERT_TRUE(model->add(near)); break;
      case 6: ASSERT_TRUE(!closes || random() % 50 != 0 || model->close(random() % model_type::owners)); break;
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

TEST(batcher, goes_on_beside_an_oracle_when_owners_end) {
  for (unsigned seed = 10; seed < 16; ++seed) {
    run_beside_the_oracle<tiny>(50, seed, true);
    run_beside_the_oracle<batch_shape{}>(500, seed, true);
  }
}

// Each freeing thread owns the cells of the words with its number; the owner gives every cell back to be freed again.
class remote_frees {
public:
  using small =
      ashlar::detail::batcher<ashlar::detail::default_atomics, batch_shape{.packets = 4, .words = 7, .slot_count = 8}>;
  static constexpr std::size_t freers = 3;
  static constexpr std::size_t words = 40;  // for each freeing thread
  static constexpr unsigned rounds = ashlar_test::cases_of_build(20, 50);

  void free_all(std::size_t who) {
    small b(500);
    std::mt19937 random(static_cast<unsigned>(who));
    const auto route = [this](std::uintptr_t) -> auto& { return in_; };
    for (std::size_t left = std::size_t{rounds} * words * 64; left != 0;) {
      const std::size_t cell = who * words * 64 + random() % (words * 64);
      // Acquire pairs with the owner's release: the freeing thread has the cell.
      if (is_live_[cell].load(std::memory_order_acquire) == 0) continue;
      is_live_[cell].store(0, std::memory_order_relaxed);
      contents_[cell] = static_cast<unsigned>(cell);  // plain: an early free is a race
      while (b.add(cell / 64, std::uint64_t{1} << (cell % 64), route) != batch_result::noted) std::this_thread::yield();
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
  void flush(small& b) {
    while (!b.flush([this](std::uintptr_t) -> auto& { return in_; })) std::this_thread::yield();
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
