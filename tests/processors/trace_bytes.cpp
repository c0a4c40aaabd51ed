// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a trace and reads it: its bytes have the same sum on every processor of 64 bits, and its events come back.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <ashlar/trace/reader.hpp>
#include <ashlar/trace/sink.hpp>
#include <ashlar/trace/writer.hpp>

namespace {

using ashlar::trace::event;
using ashlar::trace::operation;

/// Allocations and frees of all sizes and ages, the same at every call.
std::vector<event> program() {
  std::vector<event> events;
  std::uint64_t state = 42, time = 0;
  for (std::uint32_t object = 1; object <= 5000; ++object) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    time += state >> 44;
    events.push_back({.time_ns = time,
                      .thread = (object - 1) % 3,
                      .op = operation::malloc_,
                      .size = state >> (20 + state % 40),
                      .object = object});
    if (object % 3 == 0) events.push_back({.time_ns = ++time, .op = operation::free_, .object = object - 2});
  }
  return events;
}

std::vector<std::byte> image_of(const std::vector<event>& events) {
  std::vector<std::byte> image;
  ashlar::trace::writer<ashlar::trace::raw_codec, ashlar::trace::memory_sink> to(
      ashlar::trace::memory_sink{image}, {.command_line = {"program"}, .process = 7, .start_unix_ns = 5});
  for (const event& each : events)
    if (!to.append(each)) return {};
  if (!to.close()) return {};
  return image;
}

std::uint64_t sum_of(const std::vector<std::byte>& image) {
  std::uint64_t sum = 14695981039346656037u;
  for (const std::byte each : image) sum = (sum ^ static_cast<std::uint64_t>(each)) * 1099511628211u;
  return sum;
}

}  // namespace

int main() {
  constexpr std::uint64_t expected = 0x94bc2ea71e08d018;
  const std::vector<event> events = program();
  const std::vector<std::byte> image = image_of(events);
  ashlar::trace::reader<> from{std::span<const std::byte>(image)};
  std::size_t same = 0;
  while (auto each = from.next()) {
    each->slot = 0;  // the reader gives it
    if (same == events.size() || *each != events[same]) break;
    ++same;
  }
  const std::uint64_t sum = sum_of(image);
  std::printf("%zu bytes, sum %llx; %zu of %zu events\n", image.size(), static_cast<unsigned long long>(sum), same,
              events.size());
  return sum == expected && same == events.size() ? 0 : 1;
}
