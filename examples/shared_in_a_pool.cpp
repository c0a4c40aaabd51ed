// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// std::shared_ptr without malloc: object and counts are one cell, of your own pool or of a process-wide one.
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <ashlar/face/shared_pooled.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

namespace {

struct session {
  explicit session(int number) : id(number) {}
  int id;
  char request[100] = {};
};

}  // namespace

int main() {
  // The standard library determines the size of a cell. Any thread may drop the last pointer.
  ashlar::shared_block_pool<> pool(ashlar::shared_cell_options<session>());
  pool.reserve(1000);
  std::shared_ptr<session> mine = ashlar::allocate_shared_pooled<session>(pool, 1);
  const std::weak_ptr<session> watcher = mine;
  std::thread([theirs = std::move(mine)]() mutable {
    std::printf("session %d ends in another thread\n", theirs->id);
    theirs.reset();
  }).join();
  std::printf("%s; cells of %zu bytes, of which %zu is live for the watcher\n", watcher.expired() ? "gone" : "there",
              pool.cell_bytes(), pool.live());

  // The same without a pool object, and reserved ahead.
  ashlar::with_shared_pool<session>([](auto& cells) { cells.reserve(1000); });
  const auto other = ashlar::allocate_shared_pooled<session>(2);
  std::size_t live = 0;
  ashlar::with_shared_pool<session>([&](auto& cells) { live = cells.live(); });
  std::printf("session %d is one of %zu\n", other->id, live);
  return watcher.expired() && live == 1 ? 0 : 1;
}
