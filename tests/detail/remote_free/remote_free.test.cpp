// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of parcels: every cell that was listed arrives once, for any sizes; of the batcher beside an oracle, which
// frees each cell twice. Their models prove them between threads.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/remote_free/batcher.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/support/batcher_model.hpp"

namespace {

using carrier = ashlar::detail::parcel_carrier<>;
using open_parcel = ashlar::detail::open_parcel<>;

constexpr std::size_t word = sizeof(std::uintptr_t);
static_assert(carrier::capacity(2 * word) == 0 && carrier::capacity(8 * word) == 6, "the words behind its head");
static_assert(carrier::capacity(4096) == 14, "those of two cache lines");

// Dead cells of several sizes, in memory that is whole again at the end.
class cells {
public:
  ~cells() {
    for (const cell& each : all_) ashlar::detail::mark_live(each.memory.get(), each.bytes);
  }

  void* make(std::size_t bytes) {
    all_.push_back({std::unique_ptr<block[]>(new block[bytes / sizeof(block)]), bytes});
    std::memset(all_.back().memory.get(), 0xa5, bytes);  // the client's last words
    ashlar::detail::mark_free(all_.back().memory.get(), bytes);
    return all_.back().memory.get();
  }

  [[nodiscard]] std::vector<void*> sorted() const {
    std::vector<void*> found;
    for (const cell& each : all_) found.push_back(each.memory.get());
    std::sort(found.begin(), found.end());
    return found;
  }

private:
  struct alignas(16) block {
    std::byte bytes[16];
  };
  struct cell {
    std::unique_ptr<block[]> memory;
    std::size_t bytes;
  };
  std::vector<cell> all_;
};

void add(open_parcel& to, void* cell, std::size_t bytes) {
  if (!to.try_add(cell)) to.begin_carrier(cell, bytes);
}

std::vector<void*> unpacked(carrier* top) {
  std::vector<void*> found;
  ashlar::detail::for_each_of_parcel(top, [&](void* cell) {
    ashlar::detail::mark_live(cell, word);
    std::memset(cell, 0xff, word);  // as the link of a free list
    found.push_back(cell);
  });
  return found;
}

TEST(parcel, every_cell_arrives_once) {
  std::mt19937 random(3);
  for (std::size_t count = 1; count < 200; ++count) {
    cells all;
    open_parcel open;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = 16 * (1 + random() % (random() % 2 == 0 ? 2 : 20));
      add(open, all.make(size), size);
    }
    EXPECT_EQ(open.cells(), count);
    EXPECT_GE(open.bytes(), 16 * count);
    std::vector<void*> found = unpacked(open.close());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, all.sorted());
  }
}

using parcel_queue = ashlar::detail::parcel_queue<>;

TEST(parcel_queue, ends_where_a_double_free_made_a_circle) {
  parcel_queue queue;
  std::array<carrier, 2> parcels{};
  for (carrier* each : {&parcels[0], &parcels[1], &parcels[0]}) queue.push(each, 1);
  int taken = 0, twice = 0;
  while (queue.take([&](carrier*) { ++twice; }) != nullptr) ++taken;
  EXPECT_EQ(twice, 1);
  EXPECT_LE(taken, 3);
}

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
