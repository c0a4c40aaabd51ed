// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Senseless options: the resource works, refuses, or names the precondition that they violate.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <span>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/adaptor/chain.hpp>
#include <ashlar/base/growth.hpp>
#include <ashlar/face/pmr_monotonic.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/face/slot_map.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/tlsf_offsets.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/invariant_of.hpp"
#include "tests/support/live_blocks.hpp"
#include "tests/support/serialised_ref.hpp"

namespace {

using namespace ashlar_test;
using upstream_ref = ashlar::resource_ref<counting_resource<>>;

constexpr std::size_t huge = std::size_t{1} << (sizeof(void*) * 4 + 3);
constexpr std::array<std::size_t, 12> hostile = {
    0, 1, 2, 3, 7, 100, 4095, 1 << 20, huge, ashlar::max_block_bytes, ashlar::max_size - 1, ashlar::max_size};

/// The end of a child: by itself, or by a signal, with these words.
struct ending {
  int status = -1;
  std::string words;

  [[nodiscard]] bool is_good() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  [[nodiscard]] bool names_a_precondition() const {
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
           first_line_of(words).starts_with("ashlar: precondition: ");
  }
};

[[noreturn]] void run_in_child(int words, void (*use)(std::size_t, std::size_t), std::size_t a, std::size_t b) {
  ::dup2(words, STDERR_FILENO);
  ::dup2(words, STDOUT_FILENO);
  ::alarm(60);  // ends a child that waits forever
  use(a, b);
  std::fflush(stdout);
  std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
}

ending outcome_of(void (*use)(std::size_t, std::size_t), std::size_t a, std::size_t b) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) run_in_child(ends[1], use, a, b);
  ::close(ends[1]);
  ending how;
  std::array<char, 512> part{};
  for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;)
    how.words.append(part.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  ::waitpid(child, &how.status, 0);
  return how;
}

// Blocks of all kinds, on memory that soon runs out.
template <class R>
void use_some(R& r) {
  live_blocks<R> blocks(r);
  for (int round = 0; round < 3; ++round)
    for (const std::size_t bytes : {48u, 1u, 0u, 5000u, 200u, 48u, 100'000u})
      static_cast<void>(blocks.try_allocate(bytes, 8));
  EXPECT_TRUE(blocks.all_intact() && invariant_of(r));
}

// A constructor may throw when memory has run out.
template <class Use>
void on_little_memory(Use use) {
  counting_resource<> below;
  below.limit_bytes(std::size_t{4} << 20);
#if defined(__cpp_exceptions)
  try {
    use(below);
  } catch (const std::bad_alloc&) {
  }
#else
  use(below);
#endif
}

template <class R, class Options>
void use_made_of(const Options& options) {
  on_little_memory([&](counting_resource<>& below) {
    R r(options, below);
    use_some(r);
  });
}

struct attempt {
  const char* name;
  void (*use)(std::size_t a, std::size_t b);
};

using shared_ref = serialised_ref<>;

void arena_options(std::size_t a, std::size_t b) {
  use_made_of<ashlar::arena<upstream_ref>>(ashlar::arena_options{.initial_bytes = a, .max_growth_bytes = b});
}
void arena_limit(std::size_t a, std::size_t b) {
  use_made_of<ashlar::arena<upstream_ref>>(ashlar::arena_options{.initial_bytes = a, .max_bytes = b});
}
void pool_cells(std::size_t a, std::size_t b) {
  use_made_of<ashlar::block_pool<upstream_ref>>(ashlar::block_pool_options{.cell_bytes = a, .cell_alignment = b});
}
void pool_slabs(std::size_t a, std::size_t b) {
  use_made_of<ashlar::block_pool<upstream_ref>>(ashlar::block_pool_options{.cell_bytes = a, .slab_bytes = b});
}
void pool_bounds(std::size_t a, std::size_t b) {
  use_made_of<ashlar::block_pool<upstream_ref>>(
      ashlar::block_pool_options{.cell_bytes = 48, .max_count = a, .retain_slabs = b});
}
void shared_pool_slabs(std::size_t a, std::size_t b) {
  use_made_of<ashlar::shared_block_pool<shared_ref>>(ashlar::block_pool_options{.cell_bytes = a, .slab_bytes = b});
}
void set_options(std::size_t a, std::size_t b) {
  const ashlar::pool_set_options options{.max_cell_bytes = a, .max_growth_count = b, .retain_slabs = a};
  use_made_of<ashlar::pool_set<upstream_ref>>(options);
  use_made_of<ashlar::shared_pool_set<shared_ref>>(options);
}
void heap_options(std::size_t a, std::size_t b) {
  use_made_of<ashlar::local_heap<upstream_ref>>(
      ashlar::heap_options{.max_bytes = a, .retain_bytes = b, .max_cached_cells = b});
  use_made_of<ashlar::local_heap<upstream_ref>>(ashlar::heap_options{.retain_bytes = a, .max_cached_cells = b});
}
void tlsf_growth(std::size_t a, std::size_t b) {
  use_made_of<ashlar::tlsf_resource<upstream_ref>>(
      ashlar::tlsf_resource_options{.growth = {.smallest = a, .largest = b}});
}
void tlsf_divisor(std::size_t a, std::size_t b) {
  use_made_of<ashlar::tlsf_resource<upstream_ref>>(
      ashlar::tlsf_resource_options{.growth = {.divisor = a}, .retain_regions = b});
}
void tlsf_buffer(std::size_t a, std::size_t b) {
  alignas(64) static std::array<std::byte, 8192> memory;
  ashlar::tlsf_resource<ashlar::null_resource> r(
      std::span<std::byte>(memory).subspan(b % 64, std::min<std::size_t>(a, 8000)));
  use_some(r);
}
void stack_growth(std::size_t a, std::size_t b) {
  use_made_of<ashlar::stack_resource<upstream_ref>>(
      ashlar::stack_resource_options{.initial_bytes = a, .max_growth_bytes = b});
}
void offsets_options(std::size_t a, std::size_t b) {
  on_little_memory([&](counting_resource<>& below) {
    using offsets = ashlar::tlsf_offsets<std::uint32_t, upstream_ref>;
    offsets range(1u << 20, {.granule = a, .max_count = b}, below);
    const auto first = range.allocate(100, 1);
    const auto second = range.try_allocate(5000, 64);
    range.deallocate(first.handle);
    if (second) range.deallocate(second.handle);
    EXPECT_TRUE(range.invariant());
  });
}
void slot_map_options(std::size_t a, std::size_t b) {
  on_little_memory([&](counting_resource<>& below) {
    ashlar::slot_map<int, upstream_ref> map({.max_count = a, .first_generation = static_cast<std::uint32_t>(b)}, below);
    const auto one = map.emplace(7);
    EXPECT_EQ(*map.get(one), 7);
    map.erase(one);
    EXPECT_EQ(map.get(one), nullptr);
  });
}
void chain_options(std::size_t a, std::size_t b) {
  on_little_memory([&](counting_resource<>& below) {
    ashlar::chain<ashlar::buffer_resource, upstream_ref> r({.max_count = a, .retain_count = a, .room_bytes = b}, {},
                                                           below);
    use_some(r);
  });
}
template <class Face>
void pmr_options(std::size_t a, std::size_t b) {
  std::pmr::pool_options options;
  options.max_blocks_per_chunk = a;
  options.largest_required_pool_block = b;
  Face face(options);
  for (const std::size_t bytes : {48u, 1u, 5000u, 100'000u}) face.deallocate(face.allocate(bytes, 8), bytes, 8);
}
void monotonic_options(std::size_t a, std::size_t b) {
  on_little_memory([&](counting_resource<>& below) {
    ashlar::pmr_resource<upstream_ref> bridge(below);
    ashlar::pmr::monotonic_buffer_resource face(a, &bridge);
    static_cast<void>(face.allocate(std::min<std::size_t>(b, 5000), 8));
    EXPECT_TRUE(face.invariant());
  });
}

constexpr attempt attempts[] = {
    {"arena_options", &arena_options},
    {"arena_limit", &arena_limit},
    {"pool_cells", &pool_cells},
    {"pool_slabs", &pool_slabs},
    {"pool_bounds", &pool_bounds},
    {"shared_pool_slabs", &shared_pool_slabs},
    {"set_options", &set_options},
    {"heap_options", &heap_options},
    {"tlsf_growth", &tlsf_growth},
    {"tlsf_divisor", &tlsf_divisor},
    {"tlsf_buffer", &tlsf_buffer},
    {"stack_growth", &stack_growth},
    {"offsets_options", &offsets_options},
    {"slot_map_options", &slot_map_options},
    {"chain_options", &chain_options},
    {"pmr_unsynchronized", &pmr_options<ashlar::pmr::unsynchronized_pool_resource>},
    {"pmr_synchronized", &pmr_options<ashlar::pmr::synchronized_pool_resource>},
    {"monotonic_options", &monotonic_options},
};

class hostile_options : public ::testing::TestWithParam<attempt> {};

TEST_P(hostile_options, work_or_are_refused_by_name) {
  if (!has_exceptions) GTEST_SKIP() << "some of it says no by throwing alone";
  const std::size_t step = is_slow ? 4 : 1;  // a child takes milliseconds there
  std::ostringstream wrong;                  // reported at the end, since a child inherits earlier failures
  for (std::size_t i = 0; i < hostile.size(); ++i)
    for (std::size_t j = i % step; j < hostile.size(); j += step) {
      const ending how = outcome_of(GetParam().use, hostile[i], hostile[j]);
      if (!how.is_good() && !how.names_a_precondition())
        wrong << hostile[i] << ", " << hostile[j] << ": status " << how.status << ": " << how.words.substr(0, 600)
              << '\n';
    }
  EXPECT_EQ(wrong.str(), "");
}

std::string name_of_attempt(const ::testing::TestParamInfo<attempt>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(torture, hostile_options, ::testing::ValuesIn(attempts), name_of_attempt);

}  // namespace
