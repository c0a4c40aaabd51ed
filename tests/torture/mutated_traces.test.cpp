// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traces of real programs with flipped bits and with swapped, doubled and cut chunks: read, summarised and compiled for
// a replay.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/study/summariser.hpp>
#include <ashlar/study/window_compiler.hpp>

#include "tests/support/hostile_trace.hpp"
#include "tests/support/stress.hpp"

namespace {

using image = std::vector<std::byte>;

image read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The seeds of the fuzz target: recordings of small programs.
std::vector<image> real_traces() {
  const auto folder = std::filesystem::path(__FILE__).parent_path() / ".." / ".." / "fuzz" / "corpus" / "trace_reader";
  std::vector<std::filesystem::path> paths;
  for (const auto& each : std::filesystem::directory_iterator(folder)) paths.push_back(each.path());
  std::ranges::sort(paths);  // the same mutations on every machine
  std::vector<image> all;
  for (const auto& each : paths) all.push_back(read_file(each));
  return all;
}

class mutator {
public:
  explicit mutator(std::uint32_t seed) : random_(seed) {}

  [[nodiscard]] image operator()(const std::vector<image>& traces) {
    image changed = traces[below(traces.size())];
    for (std::size_t times = 1 + below(4); times != 0; --times) change(changed, traces[below(traces.size())]);
    if (below(4) != 0) ashlar_test::mend_trace(changed);  // otherwise it ends at the first checksum
    return changed;
  }

  [[nodiscard]] std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

private:
  void change(image& bytes, const image& other) {
    switch (below(7)) {
      case 0: return flip(bytes);
      case 1: return bytes.resize(below(bytes.size() + 1));
      case 2: return splice(bytes, other);
      case 3: return splice(bytes, bytes);  // a piece twice
      case 4: return cut(bytes);
      case 5: return put_extreme(bytes);
      default: return flip(bytes);
    }
  }

  void flip(image& bytes) {
    for (std::size_t times = 1 + below(8); times != 0 && !bytes.empty(); --times)
      bytes[below(bytes.size())] ^= std::byte{1} << below(8);
  }

  void splice(image& bytes, const image& from) {
    const std::size_t begin = below(from.size());
    const image piece(from.begin() + offset(begin), from.begin() + offset(begin + below(from.size() - begin + 1)));
    bytes.insert(bytes.begin() + offset(below(bytes.size() + 1)), piece.begin(), piece.end());
    bytes.resize(std::min<std::size_t>(bytes.size(), std::size_t{20} << 10));
  }

  void cut(image& bytes) {
    const std::size_t begin = below(bytes.size());
    const std::size_t end = begin + below(bytes.size() - begin + 1);
    bytes.erase(bytes.begin() + offset(begin), bytes.begin() + offset(end));
  }

  // An extreme number, which a field may not survive.
  void put_extreme(image& bytes) {
    constexpr std::uint64_t extremes[] = {0, 1, 0x7f, 0x80, 0xffff'ffff, std::uint64_t{1} << 63, ~std::uint64_t{0}};
    const std::uint64_t value = extremes[below(std::size(extremes))];
    const auto raw = std::as_bytes(std::span(&value, 1));
    const std::size_t count = std::size_t{1} << below(4);
    if (bytes.size() < count) return;
    std::copy_n(raw.begin(), count, bytes.begin() + offset(below(bytes.size() - count + 1)));
  }

  [[nodiscard]] static std::ptrdiff_t offset(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

  std::mt19937 random_;
};

// Runs `report` and `replay` on the events. Returns: whether their figures agree.
bool is_understood(const image& bytes, bool accept_prefix) {
  ashlar::study::summariser summary;
  std::size_t compiled = 0;
  const auto count = [&](const ashlar::detail::replay_window& w) { compiled += w.operations.size(); };
  ashlar::detail::window_compiler compiler(count, 64);
  const bool kept = ashlar_test::keeps_promises(bytes, accept_prefix, [&](const ashlar::trace::event& e) {
    summary.add(e);
    compiler.add(e);
  });
  const auto counts = compiler.finish();
  static_cast<void>(summary.finish());
  return kept && counts.operations <= compiled;
}

TEST(mutated_traces, real_ones_are_sound) {
  for (const image& each : real_traces()) {
    std::size_t events = 0;
    EXPECT_TRUE(ashlar_test::keeps_promises(each, false, [&](const ashlar::trace::event&) { ++events; }));
    EXPECT_GT(events, 100u);
  }
}

// ASHLAR_STRESS=100 makes 200,000 of them.
TEST(mutated_traces, end_in_events_or_in_an_error) {
  const std::vector<image> traces = real_traces();
  ASSERT_FALSE(traces.empty());
  const std::size_t times = ashlar_test::stress_rounds(2000);
  for (std::size_t seed = 0; seed < times; ++seed) {
    mutator mutate(static_cast<std::uint32_t>(seed));
    const image changed = mutate(traces);
    ASSERT_TRUE(is_understood(changed, mutate.below(2) == 0)) << "seed " << seed;
  }
}

}  // namespace
