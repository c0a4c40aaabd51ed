// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the batcher beside an oracle, which frees each cell twice; its models prove it between threads.
#include <cstddef>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include <ashlar/detail/remote_free/batcher.hpp>

#include "tests/support/batcher_model.hpp"

namespace {

using ashlar::detail::batch_shape;
using ashlar_test::batcher_model;

constexpr batch_shape tiny = {.packets = 2, .words = 3, .slot_count = 2};

static_assert(sizeof(ashlar::detail::batcher<>) <= 9 * 1024 + 64, "one for each thread and pool");

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
    run_beside_the_oracle<tiny>(0, seed, false);  // holds one
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

}  // namespace
