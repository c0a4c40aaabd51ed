// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quantities for people, three figures and a unit, and of people.
#pragma once

#include <cstdint>
#include <string>

namespace ashlar::cli {

/// 840 ns, 1.25 µs, 33.1 ms, 4.02 s, 3 min 12 s
[[nodiscard]] std::string human_time(double ns);
/// 17 B, 1.50 KiB, 33.1 MiB
[[nodiscard]] std::string human_bytes(double bytes);
/// 17, 1,234, 56.7 k, 3.21 M, 12.0 G
[[nodiscard]] std::string human_count(double count);
/// 1,234,567
[[nodiscard]] std::string grouped(std::uint64_t n);
/// 17 objects, 1 object, 56.7 k objects
[[nodiscard]] std::string human_count(double count, const char* noun);
/// 17 batches, 1 batch, 56.7 k batches
[[nodiscard]] std::string human_count(double count, const char* one, const char* many);
/// 1 site, 3 sites, 1,234 sites
[[nodiscard]] std::string counted(std::uint64_t n, const char* noun);
/// 1 process, 3 processes
[[nodiscard]] std::string counted(std::uint64_t n, const char* one, const char* many);
/// 3.2 %; < 0.1 %; 0 %
[[nodiscard]] std::string percent(double part, double whole);
/// Three figures: 0.123, 1.23, 12.3, 123, 12345
[[nodiscard]] std::string figures3(double value);

/// Returns: the seconds that "60", "60s" or "2m" are; negative for other texts, and outside of 0 to 1e6 s.
[[nodiscard]] double budget_seconds(const std::string& text);

}  // namespace ashlar::cli
