// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bounded pool of equal blocks for a packet queue or a voice manager: null when it is full.
#include <cstdio>
#include <vector>

#include <ashlar/resource/block_pool.hpp>

int main() {
  ashlar::block_pool<> packets({.cell_bytes = 1500, .max_count = 1000});
  packets.reserve(1000);  // from here on, no call asks the operating system

  std::vector<void*> queue;
  while (void* const packet = packets.try_allocate())  // null when 1000 are live, never an exception
    queue.push_back(packet);
  std::printf("%zu packets of %zu bytes, capacity %zu\n", queue.size(), packets.cell_bytes(), packets.capacity());

  packets.deallocate(queue.back());
  queue.back() = packets.try_allocate();  // room for one again
  const bool has_room_again = queue.back() != nullptr;

  std::size_t visited = 0;
  packets.for_each_live([&](void*) { ++visited; });
  for (void* const packet : queue) packets.deallocate(packet);
  std::printf("%zu visited, %zu live, %zu bytes given back\n", visited, packets.live(), packets.trim());
  return has_room_again && visited == 1000 && packets.live() == 0 ? 0 : 1;
}
