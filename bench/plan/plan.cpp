// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How low and how fast does the planner plan? One line an instance, as it is, mirrored in time and with rows shuffled.
//
//   plan [--capacity BYTES] [--naive] FILE.csv | perfect:N | random:N | frame:N | training:N ...
//
// Times are the median of five solves on the calling thread and include everything but reading the file. What it does
// not show: other machines, and instances unlike these. Node counts do not depend on the machine.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <ashlar/plan/csv.hpp>
#include <ashlar/plan/generate.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

#include "reference.hpp"

namespace {

namespace plan = ashlar::plan;

struct measured {
  plan::layout layout;
  double milliseconds = 0;
};

measured measure(const plan::problem& p, const plan::options& wanted) {
  std::array<double, 5> times{};
  measured m;
  for (double& t : times) {
    const auto start = std::chrono::steady_clock::now();
    m.layout = plan::solve(p, wanted);
    t = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (t > 3000) times.fill(t);  // long solves once
    if (t > 3000) break;
  }
  std::sort(times.begin(), times.end());
  m.milliseconds = times[2];
  return m;
}

plan::problem mirrored(plan::problem p) {
  std::uint64_t end = 0;
  for (const plan::buffer& b : p.buffers) end = std::max(end, b.death);
  for (plan::buffer& b : p.buffers) b = {b.id, b.size, b.alignment, end - b.death, end - b.birth};
  return p;
}

plan::problem shuffled(plan::problem p) {
  plan::splitmix random(1);
  for (std::size_t i = p.buffers.size(); i > 1; --i) std::swap(p.buffers[i - 1], p.buffers[random.index(i)]);
  return p;
}

plan::problem load(const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const std::size_t count = colon == name.npos ? 0 : std::strtoull(name.c_str() + colon + 1, nullptr, 10);
  if (kind == "perfect") return plan::generate_perfect(count, 1024, count, 1024, 1);
  if (kind == "random") return plan::generate_random(count, 1);
  if (kind == "frame") return plan::generate_frame(count, 1);
  if (kind == "training") return plan::generate_training(count, 1);
  std::ifstream in(name, std::ios::binary);
  plan::csv_result r = plan::parse_csv(std::string(std::istreambuf_iterator<char>(in), {}));
  if (r.ok()) return std::move(r.document.content);
  std::fprintf(stderr, "%s: %s\n", name.c_str(), r.error->text().c_str());
  std::exit(1);
}

double ratio(std::uint64_t height, std::uint64_t bound) {
  return static_cast<double>(height) / static_cast<double>(std::max<std::uint64_t>(1, bound));
}

double print(const char* variant, const plan::problem& p, const plan::options& wanted) {
  const measured m = measure(p, wanted);
  const plan::layout& l = m.layout;
  std::printf("  %-9s %-10s %14llu %9.5f %10.1f ms %8llu nodes%s\n", variant, std::string(name_of(l.status)).c_str(),
              static_cast<unsigned long long>(l.height), ratio(l.height, l.lower_bound), m.milliseconds,
              static_cast<unsigned long long>(l.stats.nodes), plan::validate(p, l) ? "  INVALID" : "");
  std::fflush(stdout);
  return m.milliseconds;
}

void print_naive(const plan::problem& p, std::uint64_t bound) {
  using ashlar::bench::fit;
  const auto line = [&](const char* name, bool by_life, fit rule) {
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t height = naive_height(p, ashlar::bench::greatest_first(p, by_life), rule);
    const auto t = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::printf("  %-20s %14llu %9.5f %10.1f ms\n", name, static_cast<unsigned long long>(height), ratio(height, bound),
                t);
  };
  line("largest, lowest", false, fit::lowest);
  line("largest, tightest", false, fit::tightest);
  line("longest, tightest", true, fit::tightest);
}

}  // namespace

int main(int argc, char** argv) {
  plan::options wanted;
  bool naive = false;
  std::array<double, 3> sums{};
  for (int a = 1; a < argc; ++a) {
    const std::string word = argv[a];
    if (word == "--naive") {
      naive = true;
    } else if (word == "--capacity" && a + 1 < argc) {
      wanted.capacity = std::strtoull(argv[++a], nullptr, 10);
    } else {
      const plan::problem p = load(word);
      std::printf("%s: %zu buffers\n", word.c_str(), p.buffers.size());
      sums[0] += print("as it is", p, wanted);
      sums[1] += print("mirrored", mirrored(p), wanted);
      sums[2] += print("shuffled", shuffled(p), wanted);
      if (naive) print_naive(p, load_bound_of(plan::make_model(plan::make_shapes(p))).height);
    }
  }
  std::printf("sum of medians: %.1f ms, mirrored %.1f ms, shuffled %.1f ms\n", sums[0], sums[1], sums[2]);
}
