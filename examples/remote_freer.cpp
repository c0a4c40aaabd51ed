// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An asset streamer allocates from its own heap, a render thread frees: many blocks for one atomic operation.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/heap/remote_freer.hpp>

namespace {

struct mesh {
  std::byte* vertices;
  std::size_t bytes;
};

// Meshes on their way from the streamer to the renderer.
class stream {
public:
  void put(const mesh& loaded) {
    const std::lock_guard held(lock_);
    meshes_.push_back(loaded);
  }
  std::vector<mesh> take() {
    const std::lock_guard held(lock_);
    return std::exchange(meshes_, {});
  }

private:
  std::mutex lock_;
  std::vector<mesh> meshes_;
};

constexpr std::size_t meshes = 20'000;

// The owner: it alone allocates, usually without a lock. Remote frees arrive meanwhile.
void load(ashlar::owner_heap<>& memory, stream& to) {
  for (std::size_t i = 0; i < meshes; ++i) {
    const std::size_t bytes = i % 100 == 0 ? 300'000 : 64 + i * 31 % 4000;
    auto* const vertices = static_cast<std::byte*>(memory.allocate(bytes));
    std::memset(vertices, static_cast<int>(i % 256), bytes);
    to.put({vertices, bytes});
  }
}

// Returns: the number of meshes drawn completely.
std::size_t render(ashlar::owner_heap<>& memory, stream& from) {
  ashlar::remote_freer<> freer;  // of this thread, for any number of heaps; its destructor sends the rest
  std::size_t whole = 0;
  for (std::size_t drawn = 0; drawn < meshes;) {
    for (const mesh& each : from.take()) {
      if (each.vertices[0] == each.vertices[each.bytes - 1]) ++whole;
      freer.defer_free(memory, each.vertices);
      ++drawn;
    }
    freer.flush();  // the end of the frame: no free is kept back
  }
  return whole;
}

}  // namespace

int main() {
  ashlar::owner_heap<> memory({.retain_bytes = std::size_t{4} << 20});
  stream loaded;
  std::atomic<std::size_t> whole = 0;
  std::thread streamer([&] { load(memory, loaded); });
  std::thread renderer([&] { whole = render(memory, loaded); });
  streamer.join();
  renderer.join();  // its freer has ended, so the heap may end

  // The streamer has ended, so this thread may be the owner.
  std::size_t live = 0;
  memory.for_each_live([&](void*, std::size_t) { ++live; });
  std::printf("%zu meshes drawn, %zu live, %zu bytes held\n", whole.load(), live, memory.held_bytes());
  static_cast<void>(memory.trim());
  return whole == meshes && live == 0 && memory.held_bytes() == 0 && memory.invariant() ? 0 : 1;
}
