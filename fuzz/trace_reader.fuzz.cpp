// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzzes the trace reader: any bytes end in events or in an error, with every promise of the event kept.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include <ashlar/trace/reader.hpp>

namespace {

using namespace ashlar::trace;

/// Puts right the checksums of the first headers it finds, so that the fuzzer gets behind them.
void mend(std::vector<std::byte>& image) {
  if (image.size() < file_header_bytes + 8) return;
  const std::size_t text = std::min<std::size_t>(get_word<std::uint32_t>(&image[56]), image.size());
  std::size_t at = file_header_bytes + text;
  if (at + 8 > image.size()) return;
  put_word(&image[at], checksum({image.data(), at}));
  for (at += 8; at + chunk_header_bytes <= image.size();) {
    const std::size_t room = image.size() - at - chunk_header_bytes;
    const std::size_t stored = std::min<std::size_t>(get_word<std::uint32_t>(&image[at + 24]), room);
    put_word(&image[at + 64], checksum({&image[at] + chunk_header_bytes, stored}));
    put_word(&image[at + 72], checksum({&image[at], chunk_header_bytes - 8}));
    at += chunk_header_bytes + stored;
  }
}

void require(bool promise) {
  if (!promise) std::abort();
}

void read(std::span<const std::byte> image, bool accept_prefix) {
  reader<> r(image, {.accept_prefix = accept_prefix});
  std::uint64_t time = 0;
  std::uint64_t last_object = 0;
  while (const auto e = r.next()) {
    require(e->time_ns >= time);
    time = e->time_ns;
    if (is_allocation(e->op) && e->object != 0) require(e->object == ++last_object);
    require(!is_release(e->op) || e->object <= last_object);
    require(e->old_object <= last_object);
  }
  require(!r.error() || r.error()->offset <= image.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  read(given, false);
  std::vector<std::byte> image(given.begin(), given.end());
  mend(image);
  read(image, size % 2 == 0);
  return 0;
}
