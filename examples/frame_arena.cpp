// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A game's frames: the next frame may still read the results of this one; then their memory is reused.
#include <cstdio>
#include <utility>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/frame_arena.hpp>

namespace {

struct particle {
  float height = 0;
  float speed = 0;
};
using particles = std::vector<particle, ashlar::allocator<particle, ashlar::frame_arena<>>>;

particles moved(const particles& before, ashlar::frame_arena<>& memory) {
  particles now(memory);
  for (const particle& p : before)
    if (p.height > 0) now.push_back({p.height + p.speed, p.speed - 0.5F});
  now.push_back({1, 4});  // a new one each frame
  return now;
}

}  // namespace

int main() {
  ashlar::frame_arena<> memory;
  particles world(memory);
  for (int frame = 0; frame < 600; ++frame) {
    memory.next_frame();  // `world` is of the former frame: valid until the next call
    world = moved(world, memory);
  }
  const std::size_t held = memory.current().held_bytes() + memory.previous().held_bytes();
  std::printf("%zu particles, %zu bytes used in the last frame, %zu held\n", world.size(), memory.current().used(),
              held);
  const bool is_as_expected = !world.empty() && memory.owns(world.data()) && held <= 256 * 1024;
  world = particles(memory);  // before the memory ends
  return is_as_expected ? 0 : 1;
}
