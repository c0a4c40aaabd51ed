// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The durations of a program's spans, in a file that the program maps: the span clock writes, `ashlar verify` reads.
//
//   | magic | used | naming | 32 names | durations: the name's index in the top byte, nanoseconds below |
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ashlar::cli {

/// Holds the number of the open file, which the program inherits.
inline constexpr const char* span_file_variable = "ASHLAR_SPANS";

inline constexpr std::uint64_t span_file_magic = 0x6e61'7073'6c73'6131;
inline constexpr std::size_t most_span_names = 32;
inline constexpr std::size_t most_spans = std::size_t{1} << 20;
inline constexpr unsigned span_name_shift = 56;

struct span_name {
  std::atomic<std::uint32_t> is_set;
  std::array<char, 60> text;  ///< Cut off; the last character is 0.
};

/// All zero but for the magic, at first. Thread safety: any threads of any processes.
struct span_file {
  std::uint64_t magic;
  std::atomic<std::uint64_t> used;    ///< Durations; beyond `most_spans` they were dropped.
  std::atomic<std::uint32_t> naming;  ///< 1: a thread adds a name.
  std::array<span_name, most_span_names> names;
  std::array<std::atomic<std::uint64_t>, most_spans> durations;
};

}  // namespace ashlar::cli
