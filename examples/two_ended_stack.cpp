// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A level is loaded into one end of a buffer while the loader's scratch memory comes and goes at the other.
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include <ashlar/resource/two_ended_stack.hpp>

namespace {

struct texture {
  std::byte* pixels;
  std::size_t bytes;
};

// Reads packed bytes into scratch memory and unpacks them to their final place.
texture load(ashlar::two_ended_stack& memory, std::size_t packed_bytes) {
  const auto scratch = memory.back().mark();
  void* const packed = memory.back().allocate(packed_bytes, 16);
  std::memset(packed, 7, packed_bytes);

  const std::size_t bytes = 4 * packed_bytes;
  auto* const pixels = static_cast<std::byte*>(memory.front().allocate(bytes, 64));
  for (std::size_t i = 0; i < bytes; ++i) pixels[i] = static_cast<std::byte*>(packed)[i / 4];

  memory.back().rewind(scratch);
  return {pixels, bytes};
}

}  // namespace

int main() {
  alignas(64) static std::array<std::byte, 64 * 1024> buffer;
  ashlar::two_ended_stack memory(buffer);
  const auto before_level = memory.front().mark();

  for (int level = 1; level <= 3; ++level) {
    std::size_t loaded = 0;
    for (std::size_t packed = 1000; packed <= 5000; packed += 1000) loaded += load(memory, packed).bytes;
    std::printf("level %d: %zu bytes loaded, %zu in use, %zu at most with scratch memory\n", level, loaded,
                memory.used(), memory.high_water());
    if (memory.back().used() != 0) return 1;
    memory.front().rewind(before_level);
  }

  // A block that does not fit is refused, and nothing is lost.
  const bool refused = memory.front().try_allocate(65 * 1024, 16) == nullptr;
  std::printf("%zu bytes are free\n", memory.available());
  return refused && memory.used() == 0 ? 0 : 1;
}
