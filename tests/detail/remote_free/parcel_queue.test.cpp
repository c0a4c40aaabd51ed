// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the queue of parcels: one at a time comes out, also while others are added.
#include <ashlar/detail/remote_free/parcel_queue.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using carrier = ashlar::detail::parcel_carrier<>;
using parcel_queue = ashlar::detail::parcel_queue<>;

carrier* take_from(parcel_queue& queue) {
  return queue.take([](carrier*) { ADD_FAILURE() << "sent once"; });
}

TEST(parcel_queue, gives_each_parcel_once) {
  parcel_queue queue;
  EXPECT_TRUE(queue.is_empty());
  EXPECT_EQ(take_from(queue), nullptr);
  std::array<carrier, 4> parcels{};
  queue.push(&parcels[0], 10);
  queue.push(&parcels[1], 20);
  EXPECT_FALSE(queue.is_empty());
  EXPECT_EQ(queue.bytes(), 30u);
  std::array<int, 4> taken{};
  const auto take = [&] { ++taken[static_cast<std::size_t>(take_from(queue) - parcels.data())]; };
  take();
  EXPECT_FALSE(queue.is_empty()) << "one was taken out of the inbox and waits";
  queue.push(&parcels[2], 30);
  take();
  take();
  queue.push(&parcels[3], 40);
  take();
  EXPECT_EQ(taken, (std::array<int, 4>{1, 1, 1, 1}));
  EXPECT_TRUE(queue.is_empty());
  EXPECT_EQ(take_from(queue), nullptr);
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST(parcel_queue, ends_where_a_double_free_made_a_circle) {
  parcel_queue queue;
  std::array<carrier, 2> parcels{};
  for (carrier* each : {&parcels[0], &parcels[1], &parcels[0]}) queue.push(each, 1);
  int taken = 0, twice = 0;
  while (queue.take([&](carrier*) { ++twice; }) != nullptr) ++taken;
  EXPECT_EQ(twice, 1);
  EXPECT_LE(taken, 3);
}

TEST(parcel_queue, loses_none_while_threads_add) {
  constexpr std::size_t senders = 3, each = 2000;
  parcel_queue queue;
  std::vector<carrier> parcels(senders * each);
  std::atomic<std::size_t> ended = 0;
  std::vector<std::thread> threads;
  for (std::size_t sender = 0; sender < senders; ++sender)
    threads.emplace_back([&, sender] {
      for (std::size_t i = 0; i < each; ++i) {
        parcels[sender * each + i].below = sender;
        queue.push(&parcels[sender * each + i], 1);
      }
      ++ended;
    });
  std::array<std::size_t, senders> arrived{};
  for (bool is_last = false; !is_last;) {
    is_last = ended == senders;
    while (carrier* const top = take_from(queue)) ++arrived[top->below];
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arrived, (std::array<std::size_t, senders>{each, each, each}));
}

}  // namespace
