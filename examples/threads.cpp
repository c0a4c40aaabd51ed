// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads and pools: a list built in one thread and destroyed in another, and messages from a pool shared by both.
#include <cstdint>
#include <cstdio>
#include <list>
#include <mutex>
#include <new>
#include <numeric>
#include <thread>
#include <utility>

#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

namespace {

using shared_list = std::list<int, ashlar::pool_allocator<int>>;

// One thread fills a list, another adds it up and destroys it: its nodes go back in packets.
std::int64_t hand_over_a_list() {
  shared_list numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::int64_t sum = 0;
  std::thread([&sum, moved = std::move(numbers)] {
    sum = std::accumulate(moved.begin(), moved.end(), std::int64_t{0});
  }).join();
  return sum;
}

struct message {
  int from;
  int text;
};

// Messages go through a mailbox with its own lock; the pool needs none.
int send_messages(int count) {
  ashlar::shared_block_pool pool({.cell_bytes = sizeof(message)});
  std::mutex guard;
  std::list<message*> mailbox;
  std::thread producer([&] {
    for (int i = 0; i < count; ++i) {
      auto* const sent = ::new (pool.allocate()) message{1, i};
      const std::lock_guard held(guard);
      mailbox.push_back(sent);
    }
  });
  int received = 0;
  while (received < count) {
    std::list<message*> arrived;
    {
      const std::lock_guard held(guard);
      arrived.swap(mailbox);
    }
    for (message* each : arrived) pool.deallocate(each);
    received += static_cast<int>(arrived.size());
  }
  producer.join();
  return pool.live() == 0 ? received : 0;
}

}  // namespace

int main() {
  const std::int64_t sum = hand_over_a_list();
  const int received = send_messages(100'000);
  std::printf("sum %lld, %d messages, no node left\n", static_cast<long long>(sum), received);
  return sum == 4'999'950'000 && received == 100'000 ? 0 : 1;
}
