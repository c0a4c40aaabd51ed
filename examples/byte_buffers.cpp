// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packets cut into parts without copying a byte: each part keeps the buffer alive, the last one returns it.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

#include <ashlar/face/byte_buffer.hpp>

namespace {

// Stands for a socket.
std::size_t receive(std::span<std::byte> into) {
  constexpr std::string_view arrived = "HDR1hello";
  std::ranges::copy(std::as_bytes(std::span(arrived)), into.begin());
  return arrived.size();
}

}  // namespace

int main() {
  ashlar::buffer_pool<1500> packets({.max_count = 64});
  auto packet = packets.view();
  packet = packet.first(receive(packet.bytes()));

  auto header = packet.take_front(4);
  const auto payload = packet;
  std::printf("%.*s carries %.*s; %u views of one buffer of %zu bytes\n", static_cast<int>(header.size()),
              reinterpret_cast<const char*>(header.data()), static_cast<int>(payload.size()),
              reinterpret_cast<const char*>(payload.data()), header.buffer().use_count(), packets.live() * 1500);

  header = {};
  packet = {};
  return packets.live() == 1 && payload.size() == 5 ? 0 : 1;
}
