// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Payloads of the chunks without events: call stacks, mapped modules, names of spans and threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/trace_tables.hpp>
#include <ashlar/detail/trace/varint.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

inline constexpr std::size_t max_stack_frames = 255;

/// Returns: the largest size of a stack of `frames`, in bytes.
[[nodiscard]] constexpr std::size_t stack_bound(std::size_t frames) noexcept { return (frames + 1) * max_varint_bytes; }

/// Effects: appends one stack: its length, then each frame's distance from the one before. Returns: the end of the
/// output.
constexpr std::byte* put_stack(std::byte* to, std::span<const std::uint64_t> frames) noexcept {
  to = put_varint(to, frames.size());
  std::uint64_t last = 0;
  for (const std::uint64_t frame : frames) {
    to = put_varint(to, zigzag(frame - last));
    last = frame;
  }
  return to;
}

/// A payload of stacks starts with the id of its first one.
[[nodiscard]] inline bool get_stacks(std::span<const std::byte> payload, std::uint32_t count,
                                     trace::stack_table& stacks) {
  byte_cursor from(payload);
  if (from.varint() != std::uint64_t{stacks.size()} + 1) return false;
  std::vector<std::uint64_t> frames;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t n = from.varint();
    if (!from.ok() || n > max_stack_frames) return false;
    frames.clear();
    for (std::uint64_t frame = 0; frames.size() < n;) frames.push_back(frame += unzigzag(from.varint()));
    if (!from.ok()) return false;
    stacks.add(frames);
  }
  return from.at_end();
}

/// Returns: the largest size of a module, in bytes.
[[nodiscard]] constexpr std::size_t module_bound(std::size_t path_bytes, std::size_t id_bytes) noexcept {
  return 5 * max_varint_bytes + path_bytes + id_bytes;
}

inline std::byte* put_text(std::byte* to, std::string_view text) noexcept {
  to = put_varint(to, text.size());
  for (const char c : text) *to++ = static_cast<std::byte>(c);
  return to;
}

/// A module as a recorder has it, without owning a string.
struct module_view {
  std::uint64_t begin = 0, end = 0, bias = 0;
  std::string_view path, build_id;  // the id in hexadecimal
};

inline std::byte* put_module(std::byte* to, const module_view& m) noexcept {
  to = put_varint(put_varint(put_varint(to, m.begin), m.end - m.begin), zigzag(m.bias - m.begin));
  return put_text(put_text(to, m.path), m.build_id);
}

[[nodiscard]] inline std::string get_text(byte_cursor& from) {
  std::string text;
  for (const std::byte b : from.bytes(from.varint())) text.push_back(static_cast<char>(b));
  return text;
}

[[nodiscard]] inline bool get_modules(std::span<const std::byte> payload, std::uint32_t count,
                                      std::vector<trace::mapped_module>& modules) {
  byte_cursor from(payload);
  for (std::uint32_t i = 0; i < count && from.ok(); ++i) {
    trace::mapped_module m;
    m.begin = from.varint();
    m.end = m.begin + from.varint();
    m.bias = m.begin + unzigzag(from.varint());
    m.path = get_text(from);
    m.build_id = get_text(from);
    if (!from.ok() || m.end < m.begin) return false;
    modules.push_back(std::move(m));
  }
  return from.ok() && from.at_end();
}

inline constexpr std::size_t max_name_bytes = 255;

/// Returns: the largest size of a name, in bytes.
[[nodiscard]] constexpr std::size_t name_bound(std::size_t bytes) noexcept { return max_varint_bytes + bytes; }

/// A payload of names starts with the id of its first one.
[[nodiscard]] inline bool get_names(std::span<const std::byte> payload, std::uint32_t count, trace::name_table& names) {
  byte_cursor from(payload);
  if (from.varint() != std::uint64_t{names.size()} + 1) return false;
  for (std::uint32_t i = 0; i < count && from.ok(); ++i) {
    std::string name = get_text(from);
    if (!from.ok() || name.size() > max_name_bytes) return false;
    names.add(std::move(name));
  }
  return from.ok() && from.at_end();
}

/// The memory of a process, in bytes. A trace has the greatest of its chunks.
struct memory_figures {
  std::uint64_t resident = 0;   ///< Its peak.
  std::uint64_t anonymous = 0;  ///< Resident at once, and no file's.
  std::uint64_t foreign = 0;    ///< Of it the recorder's, or inherited by a fork, at most.
};

inline constexpr std::uint32_t memory_figure_count = 3;

constexpr std::byte* put_memory(std::byte* to, const memory_figures& m) noexcept {
  return put_varint(put_varint(put_varint(to, m.resident), m.anonymous), m.foreign);
}

/// Effects: each figure becomes the greater one. Figures behind those are a later version's.
[[nodiscard]] inline bool get_memory(std::span<const std::byte> payload, std::uint32_t count,
                                     memory_figures& m) noexcept {
  byte_cursor from(payload);
  if (count < memory_figure_count) return false;
  for (std::uint64_t* const figure : {&m.resident, &m.anonymous, &m.foreign}) {
    const std::uint64_t read = from.varint();
    if (read > *figure) *figure = read;
  }
  return from.ok();
}

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
