// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Height, time and memory of the planner. Each instance as it is, mirrored in time, with rows shuffled and ids
// permuted, and, if a capacity is given, with one granule less.
//
//     plan [--capacity BYTES] [--effort exact] [--time SECONDS] [--naive] [--peer COMMAND] INSTANCE...
//       INSTANCE  FILE.csv | perfect:N | infeasible:N | random:N | frame:N | training:N
//       COMMAND   as in "minimalloc --capacity={capacity} --input={in} --output={out}"
//
// Times are the median of five solves on the calling thread and include everything except reading the file. Memory is
// the peak of operator new besides the problem. Not shown: other machines, and instances unlike these. Node counts do
// not depend on the machine.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>

#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/plan/csv.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

#include "memory.hpp"
#include "peer.hpp"
#include "reference.hpp"

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;

struct measured {
  plan::layout layout;
  double milliseconds = 0;
  std::size_t bytes = 0;
};

measured measure(const plan::problem& p, const plan::options& wanted) {
  std::array<double, 5> times{};
  measured m;
  const std::size_t before = ashlar::bench::heap.peak = ashlar::bench::heap.now;
  for (double& t : times) {
    const auto start = std::chrono::steady_clock::now();
    m.layout = plan::solve(p, wanted);
    t = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (t > 3000) times.fill(t);  // a long solve counts once
    if (t > 3000) break;
  }
  std::sort(times.begin(), times.end());
  m.milliseconds = times[2];
  m.bytes = ashlar::bench::heap.peak - before;
  return m;
}

plan::problem mirrored(plan::problem p) {
  std::uint64_t end = 0;
  for (const plan::buffer& b : p.buffers) end = std::max(end, b.death);
  for (plan::buffer& b : p.buffers) b = {b.id, b.size, b.alignment, end - b.death, end - b.birth};
  return p;
}

plan::problem shuffled(plan::problem p) {
  planner::splitmix random(1);
  for (std::size_t i = p.buffers.size(); i > 1; --i) std::swap(p.buffers[i - 1], p.buffers[random.index(i)]);
  return p;
}

plan::problem renamed(plan::problem p) {
  planner::splitmix random(2);
  for (std::size_t i = p.buffers.size(); i > 1; --i) std::swap(p.buffers[i - 1].id, p.buffers[random.index(i)].id);
  return p;
}

/// Returns: the greatest common divisor of all sizes.
std::uint64_t granule(const plan::problem& p) {
  std::uint64_t divisor = 0;
  for (const plan::buffer& b : p.buffers) divisor = std::gcd(divisor, b.size);
  return std::max<std::uint64_t>(1, divisor);
}

plan::problem load(const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const std::size_t count = colon == name.npos ? 0 : std::strtoull(name.c_str() + colon + 1, nullptr, 10);
  if (kind == "perfect") return planner::generate_perfect(count, 1024, count, 1024, 1);
  if (kind == "infeasible") return planner::generate_nearly_infeasible(count, 1024, count, 1024, 1);
  if (kind == "random") return planner::generate_random(count, 1);
  if (kind == "frame") return planner::generate_frame(count, 1);
  if (kind == "training") return planner::generate_training(count, 1);
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
  std::printf("  %-9s %-10s %14llu %9.5f %10.1f ms %8llu nodes %8.1f KiB%s\n", variant,
              std::string(name_of(l.status)).c_str(), static_cast<unsigned long long>(l.height),
              ratio(l.height, l.lower_bound), m.milliseconds, static_cast<unsigned long long>(l.stats.nodes),
              static_cast<double>(m.bytes) / 1024, plan::validate(p, l) ? "  INVALID" : "");
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

void print_peer(const std::string& command, const plan::problem& p, std::uint64_t capacity, std::uint64_t bound) {
  const ashlar::bench::peer_result r = ashlar::bench::run_peer(command, p, capacity);
  std::printf("  %-20s %14llu %9.5f %10.1f ms %s\n", "peer", static_cast<unsigned long long>(r.height),
              ratio(r.height, bound), r.milliseconds, r.fault.c_str());
}

struct request {
  plan::options wanted;
  bool naive = false;
  std::string peer;
  std::array<double, 4> sums{};
};

void run(const std::string& name, request& r) {
  const plan::problem p = load(name);
  std::printf("%s: %zu buffers\n", name.c_str(), p.buffers.size());
  r.sums[0] += print("as it is", p, r.wanted);
  r.sums[1] += print("mirrored", mirrored(p), r.wanted);
  r.sums[2] += print("shuffled", shuffled(p), r.wanted);
  r.sums[3] += print("renamed", renamed(p), r.wanted);
  const std::uint64_t bound = plan::solve(p, {.effort = plan::effort::fast}).lower_bound;
  if (r.wanted.capacity) {
    plan::options tighter = r.wanted;
    tighter.capacity = *tighter.capacity - std::min(*tighter.capacity, granule(p));
    print("tighter", p, tighter);
  }
  if (r.naive) print_naive(p, bound);
  if (!r.peer.empty()) print_peer(r.peer, p, r.wanted.capacity.value_or(bound), bound);
}

}  // namespace

int main(int argc, char** argv) {
  request r;
  for (int a = 1; a < argc; ++a) {
    const std::string word = argv[a];
    const bool more = a + 1 < argc;
    if (word == "--naive") r.naive = true;
    else if (word == "--capacity" && more) r.wanted.capacity = std::strtoull(argv[++a], nullptr, 10);
    else if (word == "--effort" && more)
      r.wanted.effort = argv[++a][0] == 'e' ? plan::effort::exact : plan::effort::fast;
    else if (word == "--time" && more)
      r.wanted.time = std::chrono::milliseconds(std::llround(1e3 * std::atof(argv[++a])));
    else if (word == "--peer" && more) r.peer = argv[++a];
    else run(word, r);
  }
  std::printf("sum of medians: %.1f ms, mirrored %.1f ms, shuffled %.1f ms, renamed %.1f ms\n", r.sums[0], r.sums[1],
              r.sums[2], r.sums[3]);
}
