// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One heap for all threads: some load, another frees the loaded blocks; one thread builds a level and hands it over.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/heap/heap.hpp>

namespace {

using heap = ashlar::heap<>;
template <class T>
using on_heap = ashlar::allocator<T, heap>;
using text = std::basic_string<char, std::char_traits<char>, on_heap<char>>;
using level = std::map<int, text, std::less<>, on_heap<std::pair<const int, text>>>;

struct asset {
  void* bytes;
  std::size_t size;
};

class mailbox {
public:
  void put(const asset& loaded) {
    const std::lock_guard held(lock_);
    assets_.push_back(loaded);
  }
  std::vector<asset> take() {
    const std::lock_guard held(lock_);
    return std::exchange(assets_, {});
  }

private:
  std::mutex lock_;
  std::vector<asset> assets_;
};

constexpr std::size_t loaders = 3, assets_each = 2000;

void load(heap& memory, mailbox& to) {
  for (std::size_t i = 0; i < assets_each; ++i) {
    const std::size_t size = 100 + i * 97 % 40'000;
    void* const bytes = memory.allocate(size);
    std::memset(bytes, static_cast<int>(i % 256), size);
    to.put({bytes, size});
  }  // the thread ends; its blocks live on, and the next thread adopts its heap
}

// Frees blocks of other threads: gathered, and sent in parcels.
std::size_t draw(heap& memory, mailbox& from) {
  std::size_t good = 0;
  for (std::size_t drawn = 0; drawn < loaders * assets_each;)
    for (const asset& each : from.take()) {
      const auto* const bytes = static_cast<const unsigned char*>(each.bytes);
      if (bytes[0] == bytes[each.size - 1]) ++good;
      memory.deallocate(each.bytes);
      ++drawn;
    }
  return good;
}

bool stream(heap& memory) {
  mailbox loaded;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < loaders; ++i) threads.emplace_back([&] { load(memory, loaded); });
  const std::size_t good = draw(memory, loaded);
  for (std::thread& each : threads) each.join();
  std::printf("%zu assets, %zu heaps of threads that have ended\n", good, memory.parked());
  return good == loaders * assets_each;
}

// The thread that adopts detached blocks frees them as its own: nothing is sent.
bool hand_over(heap& memory) {
  level built{on_heap<level::value_type>{memory}};
  std::optional<heap::detached> blocks;
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) built.emplace(i, text("a name that is long enough", on_heap<char>{memory}));
    blocks.emplace(memory.detach());
  }).join();
  memory.adopt(std::move(*blocks));
  return built.size() == 1000 && built.at(999) == "a name that is long enough";
}

}  // namespace

int main() {
  heap memory({.max_bytes = std::size_t{512} << 20});
  const bool good = stream(memory) && hand_over(memory);
  std::printf("%zu bytes given back\n", memory.trim());  // those of sleeping threads as well
  return good && memory.held_bytes() == 0 && memory.invariant() ? 0 : 1;
}
