// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resources inside objects that come and go: the time of a life with three blocks of 64 bytes, and what two thousand
// such resources hold while they are alive.
//
// lives <life|alive> <peer> [--rounds N]    one cell of the table per process, one JSON line
// lives --cells                             the list of cells

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/pmr_monotonic.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/slot_map.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

#if ASHLAR_BENCH_HAS_BOOST
#include <boost/pool/pool.hpp>
#endif

namespace bench {
namespace {

constexpr std::size_t blocks = 3, block_bytes = 64, alive = 2000;

void write(void* p) noexcept {
  *static_cast<volatile char*>(p) = 1;
  escape(p);
}

struct no_resource {
  void* allocate(std::size_t bytes, std::size_t) noexcept { return std::malloc(bytes); }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { std::free(p); }
};

#if ASHLAR_BENCH_HAS_BOOST
class boost_pool {
public:
  void* allocate(std::size_t, std::size_t) { return pool_.malloc(); }
  void deallocate(void* p, std::size_t, std::size_t) { pool_.free(p); }

private:
  boost::pool<> pool_{block_bytes};
};
#endif

template <class Pool>
struct cells_of : Pool {
  cells_of() : Pool(ashlar::block_pool_options{.cell_bytes = block_bytes}) {}
};

struct object {
  char bytes[block_bytes];
};

using objects_in_a_block = ashlar::object_pool<object, ashlar::with_capacity<ashlar::dynamic_capacity>>;

// Pools of objects, whose blocks are the objects.
template <class Pool>
class objects_of {
public:
  void* allocate(std::size_t, std::size_t) { return pool_.acquire(); }
  void deallocate(void* p, std::size_t, std::size_t) { pool_.release(static_cast<object*>(p)); }

private:
  Pool pool_ = make();
  static Pool make() {
    if constexpr (std::is_default_constructible_v<Pool>) return Pool();
    else return Pool(1000);
  }
};

class counted_objects {
public:
  void* allocate(std::size_t, std::size_t) {
    held_[count_] = pool_.make();
    return held_[count_++].get();
  }
  void deallocate(void*, std::size_t, std::size_t) { held_[--count_] = nullptr; }

private:
  using pool_type = ashlar::ref_pool<object>;
  pool_type pool_;
  std::array<decltype(pool_.make()), blocks> held_ = {};
  std::size_t count_ = 0;
};

class objects_behind_handles {
public:
  void* allocate(std::size_t, std::size_t) {
    handles_[count_] = objects_.emplace();
    return objects_.get(handles_[count_++]);
  }
  void deallocate(void*, std::size_t, std::size_t) { objects_.erase(handles_[--count_]); }

private:
  ashlar::slot_map<object> objects_;
  std::array<ashlar::slot_handle<object>, blocks> handles_ = {};
  std::size_t count_ = 0;
};

template <class R>
void use(R& resource) {
  std::array<void*, blocks> taken{};
  for (void*& each : taken) write(each = resource.allocate(block_bytes, 16));
  for (std::size_t i = blocks; i-- != 0;) resource.deallocate(taken[i], block_bytes, 16);
}

// The median of windows, each of which lasts for some milliseconds or 400 lives.
template <class R>
double life_ns(std::size_t windows) {
  constexpr int lives = 400;
  std::vector<double> times;
  for (std::size_t i = 0; i < windows; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (int life = 0; life < lives; ++life) {
      R resource;
      use(resource);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count() / lives);
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(windows / 2));
  return times[windows / 2];
}

// Each has three live blocks. Objects and their memory count, what makes the list does not. std::pmr's synchronized
// pool takes a key of the process, of which glibc has 1,024: of as many as there are.
template <class R>
double alive_bytes() {
  static std::array<R*, alive> all;
  static std::array<std::array<void*, blocks>, alive> taken;
  all.fill(nullptr);
  for (auto& each : taken) each.fill(&each);
  anonymous_bytes();
  const std::uint64_t before = anonymous_bytes();
  std::size_t made = 0;
  try {
    for (; made < alive; ++made) {
      all[made] = new R;
      for (void*& each : taken[made]) write(each = all[made]->allocate(block_bytes, 16));
    }
  } catch (const std::system_error&) {
  }
  return static_cast<double>(anonymous_bytes() - before) / static_cast<double>(made);
}

struct row {
  contender who;
  std::size_t object_bytes;
  double (*life)(std::size_t windows);
  double (*alive)();
};

template <class R, class Object = R>
constexpr row row_of(std::string_view name, std::string_view what, bool rival = true) {
  return {{name, what, rival}, sizeof(Object), life_ns<R>, alive_bytes<R>};
}

constexpr row rows[] = {
    row_of<no_resource>("malloc", "malloc alone", false),
    row_of<std::pmr::unsynchronized_pool_resource>("pmr_pool", "pmr unsynchronized pool"),
    row_of<std::pmr::synchronized_pool_resource>("pmr_shared_pool", "pmr synchronized pool"),
    row_of<std::pmr::monotonic_buffer_resource>("pmr_monotonic", "pmr monotonic", false),
#if ASHLAR_BENCH_HAS_BOOST
    row_of<boost_pool, boost::pool<>>("boost_pool", "boost::pool"),
#endif
    row_of<cells_of<ashlar::block_pool<>>>("ashlar", "ashlar::block_pool"),
    row_of<ashlar::fixed_block_pool<block_bytes>>("ashlar_fixed", "ashlar::fixed_block_pool"),
    row_of<ashlar::pool_set<>>("ashlar_set", "ashlar::pool_set"),
    row_of<cells_of<ashlar::shared_block_pool<>>>("ashlar_shared", "ashlar::shared_block_pool"),
    row_of<ashlar::shared_pool_set<>>("ashlar_shared_set", "ashlar::shared_pool_set"),
    row_of<ashlar::arena<>>("ashlar_arena", "ashlar::arena"),
    row_of<ashlar::stack_resource<>>("ashlar_stack", "ashlar::stack_resource"),
    row_of<ashlar::tlsf_resource<>>("ashlar_tlsf", "ashlar::tlsf_resource"),
    row_of<objects_of<objects_in_a_block>, objects_in_a_block>("ashlar_objects", "ashlar::object_pool(1000)"),
    row_of<objects_of<ashlar::object_pool<object>>, ashlar::object_pool<object>>("ashlar_growing",
                                                                                 "ashlar::object_pool, growing"),
    row_of<counted_objects, ashlar::ref_pool<object>>("ashlar_ref_pool", "ashlar::ref_pool"),
    row_of<objects_behind_handles, ashlar::slot_map<object>>("ashlar_slot_map", "ashlar::slot_map"),
    row_of<ashlar::local_heap<>>("ashlar_local_heap", "ashlar::local_heap"),
    row_of<ashlar::heap<>>("ashlar_heap", "ashlar::heap"),
    row_of<ashlar::pmr::unsynchronized_pool_resource>("ashlar_pmr", "ashlar::pmr unsynchronized pool"),
    row_of<ashlar::pmr::synchronized_pool_resource>("ashlar_pmr_shared", "ashlar::pmr synchronized pool"),
    row_of<ashlar::pmr::monotonic_buffer_resource>("ashlar_pmr_monotonic", "ashlar::pmr monotonic"),
};

constexpr std::array<std::string_view, 2> groups{"life", "alive"};

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view group : groups)
    for (const row& r : rows) cells.add(group, "", r.who, {group, r.who.name});
  return cells;
}

std::string usage_text() { return "usage: lives <life|alive> <peer> [--rounds N] | --cells\npeers:" + names_of(rows); }

void run(const command_line& line) {
  line.expect_words(2);
  const std::string_view group = line.choice(0, groups, [](std::string_view each) { return each; });
  const row& r = line.row(1, rows);
  const std::size_t windows = line.number("--rounds", 25, 1, 10'000);
  json_object answer = answer_of(r.who.name, line.argv());
  answer.count("object_bytes", r.object_bytes);
  if (group == "life") answer.number("life_ns", r.life(windows));
  else answer.number("alive_bytes", r.alive());
  std::puts(answer.str().c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
