// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files that the memory map of the process names, and fields of its status, read without an allocation or a lock of
// the loader; and the object that glibc finds for an address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <link.h>

#include <ashlar/base/bits.hpp>

#include "malloc/system.hpp"

namespace ashlar::drop_in {

/// The start of `dl_find_object` of glibc, and room for the rest of it.
struct loaded_object {
  std::uint64_t flags;
  const void* begin;
  const void* end;
  const link_map* map;
  const std::byte* eh_frame_header;
  void* rest[8];

  [[nodiscard]] bool has(const void* address) const noexcept { return begin <= address && address < end; }
};

/// Calls of `next` return the lines of a file. A line longer than the buffer is cut off. Async-signal-safe.
class file_lines {
public:
  explicit file_lines(const char* path) noexcept : file_(files::open(path, O_RDONLY)) {}
  file_lines(const file_lines&) = delete;
  file_lines& operator=(const file_lines&) = delete;
  ~file_lines() {
    if (file_ >= 0) files::close(file_);
  }

  /// Returns: whether there is a line; it is valid until the next call, and without its newline.
  [[nodiscard]] bool next(std::string_view& line) noexcept {
    std::size_t bytes = 0;
    for (char c = 0; get(c);) {
      if (c == '\n') return line = {line_, bytes}, true;
      if (bytes < sizeof line_) line_[bytes++] = c;
    }
    line = {line_, bytes};
    return bytes != 0;
  }

private:
  [[nodiscard]] bool get(char& c) noexcept {
    if (at_ == end_) {
      const long got = file_ >= 0 ? files::read(file_, buffer_) : 0;
      if (got <= 0) return false;
      at_ = buffer_;
      end_ = buffer_ + got;
    }
    return c = *at_++, true;
  }

  int file_;
  const char* at_ = buffer_;
  const char* end_ = buffer_;
  char buffer_[1024];
  char line_[512];
};

/// Returns: the fields of /proc/PID/status of these names, "Name:    123 kB", in bytes; 0 where there is none. Takes no
/// lock and allocates nothing.
template <std::size_t N>
[[nodiscard]] std::array<std::uint64_t, N> status_fields(const char* path,
                                                         const std::string_view (&names)[N]) noexcept {
  std::array<std::uint64_t, N> found{};
  file_lines lines(path);
  for (std::string_view line; lines.next(line);)
    for (std::size_t i = 0; i < N; ++i) {
      // `starts_with` needs the C++ library.
      if (std::string_view(line.data(), detail::min(line.size(), names[i].size())) != names[i]) continue;
      std::size_t at = detail::min(line.find_first_of("0123456789"), line.size());
      std::uint64_t kib = 0;
      for (; at < line.size() && line[at] >= '0' && line[at] <= '9'; ++at)
        kib = kib * 10 + static_cast<std::uint64_t>(line[at] - '0');
      if (at < line.size()) found[i] = kib * 1024;  // not of a field that is cut off
    }
  return found;
}

/// A line of the memory map: `begin-end permissions offset device inode path`.
struct map_line {
  std::uintptr_t begin = 0, end = 0;
  std::string_view path;  ///< empty for memory without a file

  explicit map_line(std::string_view text) noexcept {
    begin = number(text);
    text.remove_prefix(detail::min<std::size_t>(1, text.size()));
    end = number(text);
    if (const std::size_t at = text.find('/'); at != text.npos) path = {text.data() + at, text.size() - at};
  }

private:
  [[nodiscard]] static std::uintptr_t number(std::string_view& text) noexcept {
    std::uintptr_t value = 0;
    while (!text.empty()) {
      const auto digit = std::string_view("0123456789abcdef").find(text.front());
      if (digit == std::string_view::npos) break;
      value = value * 16 + digit;
      text.remove_prefix(1);
    }
    return value;
  }
};

/// Effects: calls `f(path, offset)` for the file that an address lies in, with its distance from the first byte of the
/// file in memory; no call for other addresses. Complexity: reads the memory map.
template <class F>
void find_loaded_file(const void* p, F f) noexcept {
  const auto wanted = reinterpret_cast<std::uintptr_t>(p);
  file_lines lines("/proc/self/maps");
  std::uintptr_t first = 0;
  char last[256];  // the end of the path of the file before, or all of it
  std::size_t last_bytes = 0;
  for (std::string_view text; lines.next(text);) {
    const map_line line(text);
    if (line.path.empty()) continue;
    const std::size_t bytes = detail::min(line.path.size(), sizeof last);
    const std::string_view end = {line.path.data() + line.path.size() - bytes, bytes};
    if (end != std::string_view{last, last_bytes}) first = line.begin;
    if (wanted >= line.begin && wanted < line.end) return f(line.path, wanted - first);
    std::memcpy(last, end.data(), bytes);
    last_bytes = bytes;
  }
}

}  // namespace ashlar::drop_in
