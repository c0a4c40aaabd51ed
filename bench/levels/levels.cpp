// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of a level of checking. One source, compiled at each level: levels_fast, levels_checked, levels_hardened.
//
//     levels_<level> <resource> <workload> [--windows N]     one cell, one JSON line, for bench/levels/levels.py
//     levels_<level> --cells                                 the list of cells

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/json_object.hpp"
#include "support/pmr_churn.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr std::size_t warm_up_windows = 3;

constexpr std::string_view level_name() {
  constexpr std::array<std::string_view, 3> names{"fast", "checked", "hardened"};
  return names[static_cast<std::size_t>(ashlar::checking_level)];
}

// A resource in the form of pmr_churn: frees have sizes, as those of containers.
template <class R>
class peer {
public:
  template <class... Args>
  explicit peer(const Args&... args) : resource_(args...) {}
  void* allocate(std::size_t bytes) { return resource_.allocate(bytes, alignment); }
  void deallocate(void* p, std::size_t bytes) { resource_.deallocate(p, bytes, alignment); }

private:
  static constexpr std::size_t alignment = 8;
  R resource_;
};

template <class R>
struct cells_of_64 : peer<R> {
  cells_of_64() : peer<R>(ashlar::block_pool_options{.cell_bytes = 64}) {}
};

struct costs {
  double median_ns;
  std::size_t pairs_per_window;
};

// `window()` returns the number of blocks that it allocated and freed.
template <class Window>
costs measure(std::size_t windows, Window window) {
  std::vector<double> ns(windows + warm_up_windows);
  std::size_t pairs = 0;
  for (double& each : ns) {
    const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    pairs = window();
    each = (clock_ms(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / static_cast<double>(pairs);
  }
  ns.erase(ns.begin(), ns.begin() + warm_up_windows);
  std::sort(ns.begin(), ns.end());
  return {ns[ns.size() / 2], pairs};
}

template <class Peer>
costs churn(std::string_view workload, std::size_t windows) {
  Peer made;
  pmr_churn work(workload);
  const costs of = measure(windows, [&] { return work.run_window(made); });
  work.finish(made);
  return of;
}

// A container grows, thins out, grows again, and ends.
template <class Container>
std::size_t run_container() {
  constexpr int count = 20'000;
  Container values;
  for (int i = 0; i < count; ++i) values.insert(values.end(), i);
  int number = 0;
  for (auto each = values.begin(); each != values.end(); ++number) each = number % 2 == 0 ? values.erase(each) : ++each;
  for (int i = count; i < count + count / 2; ++i) values.insert(values.end(), i);
  escape(&values);
  return count + count / 2;
}

template <class Lock>
costs containers(std::string_view workload, std::size_t windows) {
  using allocator = ashlar::pool_allocator<int, Lock>;
  if (workload == "list") return measure(windows, run_container<std::list<int, allocator>>);
  return measure(windows, run_container<std::set<int, std::less<int>, allocator>>);
}

struct row {
  std::string_view name;
  std::vector<std::string_view> workloads;
  costs (*run)(std::string_view workload, std::size_t windows);
};

const std::vector<row>& rows() {
  static const std::vector<std::string_view> one_size{"random"};
  static const std::vector<std::string_view> sizes{"mixed"};
  static const std::vector<std::string_view> engines{"mixed", "log", "frame"};
  static const std::vector<std::string_view> both{"list", "set"};
  static const std::vector<row> table{
      {"block_pool", one_size, churn<cells_of_64<ashlar::block_pool<>>>},
      {"shared_block_pool", one_size, churn<cells_of_64<ashlar::shared_block_pool<>>>},
      {"pool_set", sizes, churn<peer<ashlar::pool_set<>>>},
      {"shared_pool_set", sizes, churn<peer<ashlar::shared_pool_set<>>>},
      {"pool_allocator", both, containers<ashlar::one_thread>},
      {"pool_allocator_cached", both, containers<ashlar::thread_cached>},
      {"tlsf_resource", sizes, churn<peer<ashlar::tlsf_resource<>>>},
      {"local_heap", engines, churn<peer<ashlar::local_heap<>>>},
      {"heap", engines, churn<peer<ashlar::heap<>>>},
  };
  return table;
}

// The other levels are compared with `fast`, which counts as the only rival.
cell_list all_cells() {
  cell_list cells;
  const contender who = {level_name(), level_name(), ashlar::checking_level == ashlar::checking::fast};
  for (const row& each : rows())
    for (const std::string_view workload : each.workloads)
      cells.add(each.name, workload, who, {each.name, workload, level_name()});
  return cells;
}

std::string usage_text() { return "usage: levels_<level> <resource> <workload> [--windows N] | --cells"; }

void run(const command_line& line) {
  line.expect_words(2);
  const row& of = line.choice(0, rows(), [](const row& each) { return each.name; });
  const std::string_view workload = line.choice(1, of.workloads, [](std::string_view each) { return each; });
  const costs found = of.run(workload, line.number("--windows", 40, 1, 100'000));
  std::printf("%s\n", json_object()
                          .text("peer", level_name())
                          .number("median_ns", found.median_ns)
                          .count("pairs_per_window", found.pairs_per_window)
                          .str()
                          .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
