// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the heap of one thread: the laws, a random walk over all its calls, exhausted memory, growth and purges.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/pattern.hpp"
#include "tests/support/resident.hpp"

namespace {

using ashlar::local_heap;
using ashlar_test::counting_resource;
using upstream_ref = ashlar::resource_ref<counting_resource<>>;
using heap_type = local_heap<upstream_ref>;

struct small_blocks : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 4096;
  counting_resource<> upstream;
  heap_type resource{{.max_bytes = std::size_t{16} << 20}, upstream};
};

// Cells, spans and huge blocks, and each kind over-aligned into the next.
struct blocks_of_all_kinds : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = std::size_t{8} << 20;
  static constexpr std::size_t largest = 150'000;
  static constexpr std::size_t most_live = 12;
  static constexpr std::size_t churn_steps = 40;
  static constexpr bool exhaustible = false;
  static constexpr bool bounded = sizeof(void*) == 4;  // too little address space for such alignments
  counting_resource<> upstream;
  heap_type resource{{}, upstream};
};

}  // namespace

namespace ashlar_test {
using heap_subjects = ::testing::Types<small_blocks, blocks_of_all_kinds>;
const bool tested = conforms("local_heap", heap_subjects{});
}  // namespace ashlar_test

namespace {

// A model of all live blocks, with contents that are verified at each access.
class heap_model {
public:
  explicit heap_model(unsigned seed) : random_(seed) {}
  ~heap_model() {
    while (!blocks_.empty()) free(0);
    EXPECT_TRUE(heap_.invariant());
  }

  void step() {
    const std::size_t what = below(16);
    if (what < 7 || blocks_.empty()) return allocate();
    if (what < 12) return free(below(blocks_.size()));
    if (what < 15) return resize(below(blocks_.size()));
    look(blocks_[below(blocks_.size())]);
  }

  void look_around() {
    ASSERT_TRUE(heap_.invariant());
    std::map<void*, std::size_t> seen;
    heap_.for_each_live([&](void* p, std::size_t bytes) { seen[p] = bytes; });
    ASSERT_EQ(seen.size(), blocks_.size());
    for (const block& each : blocks_) ASSERT_GE(seen[each.p], each.bytes);
    static_cast<void>(heap_.trim(below(2) << 20));
    ASSERT_TRUE(heap_.invariant());
    for (const block& each : blocks_) look(each);
  }

  [[nodiscard]] std::size_t live() const { return blocks_.size(); }

private:
  struct block {
    void* p;
    std::size_t bytes, alignment;
    std::uint32_t seed;
  };

  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }

  [[nodiscard]] std::size_t any_size() {
    const std::size_t kind = below(64);
    if (kind < 44) return below(600);
    if (kind < 60) return below(40'000);
    return kind < 63 ? below(700'000) : below(6'000'000);
  }

  // Of a large block, only the first and the last bytes hold the pattern.
  static constexpr std::size_t part = 700;
  static void fill(const block& b) {
    ashlar_test::write_pattern(b.p, std::min(b.bytes, part), b.seed);
    if (b.bytes > part) ashlar_test::write_pattern(static_cast<std::byte*>(b.p) + b.bytes - part, part, b.seed);
  }
  static void look(const block& b) {
    ASSERT_TRUE(b.bytes > part || ashlar_test::has_pattern(b.p, b.bytes, b.seed));
    if (b.bytes <= 2 * part) return;
    ASSERT_TRUE(ashlar_test::has_pattern(b.p, part, b.seed));
    ASSERT_TRUE(ashlar_test::has_pattern(static_cast<std::byte*>(b.p) + b.bytes - part, part, b.seed));
  }

  void hold(void* p, std::size_t bytes, std::size_t alignment) {
    ASSERT_NE(p, nullptr);
    ASSERT_TRUE(ashlar::detail::is_aligned(p, std::max(alignment, local_heap<>::least_alignment)));
    ASSERT_GE(heap_.usable_size(p), bytes);
    ASSERT_TRUE(heap_.owns(p) && heap_.owns(static_cast<std::byte*>(p) + bytes - (bytes != 0 ? 1 : 0)));
    blocks_.push_back({p, bytes, alignment, static_cast<std::uint32_t>(random_())});
    fill(blocks_.back());
  }

  void allocate() {
    const std::size_t bytes = any_size();
    const std::size_t alignment = below(4) == 0 ? std::size_t{1} << below(18) : 16;
    if (below(4) != 0) return hold(heap_.try_allocate(bytes, alignment), bytes, alignment);
    void* const zeroed = heap_.allocate_zeroed(bytes, alignment);
    const auto* const first = static_cast<const char*>(zeroed);
    ASSERT_TRUE(std::all_of(first, first + bytes, [](char byte) { return byte == 0; }));
    hold(zeroed, bytes, alignment);
  }

  void free(std::size_t index) {
    const block b = blocks_[index];
    look(b);
    blocks_[index] = blocks_.back();
    blocks_.pop_back();
    if (below(2) == 0) heap_.deallocate(b.p);
    else heap_.deallocate(b.p, b.bytes, b.alignment);
  }

  void resize(std::size_t index) {
    block b = blocks_[index];
    look(b);
    blocks_[index] = blocks_.back();
    blocks_.pop_back();
    const std::size_t bytes = below(3) == 0 ? any_size() : b.bytes + below(100'000);
    if (below(2) == 0) {
      const bool yes = heap_.try_expand(b.p, b.bytes, bytes, b.alignment);
      return yes ? hold(b.p, bytes, b.alignment) : hold(b.p, b.bytes, b.alignment);
    }
    const std::size_t alignment = std::size_t{1} << below(13);
    b.p = heap_.try_reallocate(b.p, bytes, alignment);
    ASSERT_NE(b.p, nullptr);
    ASSERT_TRUE(ashlar_test::has_pattern(b.p, std::min({b.bytes, bytes, part}), b.seed) || b.bytes < 2 * part);
    hold(b.p, bytes, alignment);
  }

  local_heap<> heap_;
  std::vector<block> blocks_;
  std::mt19937 random_;
};

TEST(local_heap, keeps_every_block_in_a_random_walk_over_its_whole_face) {
  if (sizeof(void*) == 4 && ashlar_test::has_asan) GTEST_SKIP() << "no address space for that";
  for (unsigned seed = 1; seed <= 2; ++seed) {
    heap_model model(seed);
    constexpr int steps = ashlar_test::is_slow ? 800 : 12'000;
    for (int step = 0; step < steps && !::testing::Test::HasFatalFailure(); ++step) {
      model.step();
      if (step % 500 == 0) model.look_around();
    }
  }
}

TEST(local_heap, compile_time_sizes_mix_with_others) {
  local_heap<> heap;
  void* const small = heap.allocate<48>();
  void* const aligned = heap.allocate<100, 256>();
  void* const large = heap.allocate<100'000>();
  EXPECT_EQ(heap.usable_size(small), 48u);
  EXPECT_TRUE(ashlar::detail::is_aligned(aligned, 256));
  EXPECT_GE(heap.usable_size(large), 100'000u);
  heap.deallocate<48>(small);
  heap.deallocate(aligned);
  heap.deallocate<100'000>(large);
  void* const again = heap.allocate(48);
  if (ashlar::checking_level < ashlar::checking::hardened) EXPECT_EQ(again, small);
  heap.deallocate(again);
  heap.deallocate(nullptr);
  EXPECT_TRUE(heap.invariant());
}

TEST(local_heap, resizes_in_place_where_there_is_room) {
  std::vector<std::unique_ptr<local_heap<>>> tried;
  void* p = nullptr;
  do {  // a first segment may be short, and what is behind it in use
    ASSERT_LT(tried.size(), 32U);
    tried.push_back(std::make_unique<local_heap<>>());
    p = tried.back()->allocate(100'000);
  } while (tried.back()->reallocate(p, 1'000'000) != p);
  local_heap<>& heap = *tried.back();
  EXPECT_GE(heap.usable_size(p), 1'000'000u);
  EXPECT_EQ(heap.reallocate(p, 70'000), p);
  void* const behind = heap.allocate(400'000);
  EXPECT_GT(behind, p);
  EXPECT_LT(ashlar::detail::address_of(behind) - ashlar::detail::address_of(p), 1'000'000u)
      << "the tail was given back";
  EXPECT_NE(heap.reallocate(p, 1'000'000), p);
  void* const small = heap.allocate(97);
  EXPECT_EQ(heap.reallocate(small, 111), small);
  EXPECT_NE(heap.reallocate(small, 113), small);
  EXPECT_TRUE(heap.try_expand(behind, 400'000, 400'001, 16));
  EXPECT_FALSE(heap.try_expand(behind, 400'001, 100, 16)) << "a sized free would look for a cell";
  EXPECT_FALSE(heap.try_expand(behind, 400'001, ashlar::detail::max_size, 16));
  EXPECT_FALSE(heap.try_shrink(behind, 400'001, 400'002, 16)) << "that is no shrinking";
  EXPECT_TRUE(heap.try_shrink(behind, 400'001, 100'000, 16));
  void* const tail = heap.allocate(200'000);
  EXPECT_LT(ashlar::detail::address_of(tail) - ashlar::detail::address_of(behind), 400'000u)
      << "the tail was given back";
  heap.deallocate(behind, 100'000);
}

// A cell may have a larger alignment than its class guarantees; a sized free must still find that class.
TEST(local_heap, reallocates_to_the_class_that_a_sized_free_goes_by) {
  local_heap<> heap;
  std::vector<void*> held;
  for (int i = 0; i < 64; ++i) held.push_back(heap.allocate(112));
  for (void*& each : held) {
    each = heap.reallocate(each, 112, 64);
    EXPECT_TRUE(ashlar::detail::is_aligned(each, 64));
    const bool is_exact = ashlar::checking_level >= ashlar::checking::hardened;
    EXPECT_EQ(heap.usable_size(each), is_exact ? 112 : ashlar::detail::size_classes::rounded(112, 64));
  }
  for (void* const each : held) heap.deallocate(each, 112, 64);
  EXPECT_TRUE(heap.invariant());
}

TEST(local_heap, a_small_block_with_pages_of_its_own_does_not_become_a_cell) {
  local_heap<> heap;
  void* const p = heap.allocate(100, std::size_t{8} << 20);
  EXPECT_TRUE(ashlar::detail::is_aligned(p, std::size_t{8} << 20));
  void* const moved = heap.reallocate(p, 4000);
  EXPECT_NE(moved, p);
  heap.deallocate(moved, 4000);
  EXPECT_TRUE(heap.invariant());
}

TEST(local_heap, lives_inside_a_given_region) {
  constexpr std::size_t bytes = std::size_t{6} << 20;
  ashlar::new_delete_resource memory;
  void* const region = memory.allocate(bytes, ashlar::detail::segment_bytes);
  {
    ashlar::buffer_resource buffer({static_cast<std::byte*>(region), bytes});
    local_heap<ashlar::resource_ref<ashlar::buffer_resource>> heap{ashlar::resource_ref(buffer)};
    std::size_t got = 0;
    while (void* const p = heap.try_allocate(1000)) {
      ASSERT_GE(p, region);
      ASSERT_LE(static_cast<std::byte*>(p) + 1000, static_cast<std::byte*>(region) + bytes);
      got += 1000;
    }
    EXPECT_GE(got,
              bytes - (std::size_t{1} << 20) - 2 * (ashlar::detail::first_slice - 1) * ashlar::detail::slice_bytes);
    EXPECT_TRUE(heap.invariant());
  }
  memory.deallocate(region, bytes, ashlar::detail::segment_bytes);
}

TEST(local_heap, all_that_is_free_is_for_any_size) {
  local_heap<> heap({.max_bytes = std::size_t{16} << 20});
  std::vector<void*> held;
  for (const std::size_t bytes : {std::size_t{400'000}, std::size_t{10} << 20, std::size_t{3} << 20}) {
    while (void* const p = heap.try_allocate(bytes)) held.push_back(p);
    ASSERT_FALSE(held.empty()) << bytes;
    for (; !held.empty(); held.pop_back()) heap.deallocate(held.back());
    for (std::size_t number = 1; number <= ashlar::detail::size_classes::count; ++number) {
      void* const p = heap.try_allocate(ashlar::detail::size_classes::bytes_of(number));
      ASSERT_NE(p, nullptr) << number;
      heap.deallocate(p);
    }
  }
  EXPECT_TRUE(heap.invariant());
}

TEST(local_heap, many_heaps_end_apart) {
  counting_resource<> upstream;
  std::vector<std::unique_ptr<heap_type>> heaps;
  for (int i = 0; i < 20; ++i) heaps.push_back(std::make_unique<heap_type>(upstream_ref(upstream)));
  EXPECT_EQ(upstream.allocations(), 0u);
  for (auto& each : heaps) static_cast<void>(each->allocate(30));
  EXPECT_FALSE(heaps[0]->owns(heaps[1]->allocate(30)));
  for (std::size_t i = 0; i < heaps.size(); i += 2) heaps[i].reset();
  EXPECT_EQ(upstream.balance().blocks, 10u);
  for (auto& each : heaps)
    if (each) EXPECT_TRUE(each->invariant());
}

// Returns: bytes of address space of this process.
std::size_t address_space() {
  unsigned long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) return 0;
  std::fclose(file);
  return pages * ashlar::os::pages::page_bytes();
}

TEST(local_heap, starts_in_little_address_space_and_uses_most_of_it) {
  if (!ashlar_test::residency_means_something || sizeof(void*) == 4) GTEST_SKIP();
  EXPECT_TRUE(ashlar_test::child_does([] {
    const std::size_t most = address_space() + (std::size_t{50} << 20);
    const rlimit limit{most, most};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return false;
    local_heap<> heap;
    std::size_t got = 0;
    void* last = nullptr;
    while (void* const p = heap.try_allocate(1000)) got += 1000, last = p;
    constexpr std::size_t least = ashlar::detail::first_slice > 2 ? 32 : 40;
    if (got < (least << 20) || !heap.invariant()) return false;
    heap.deallocate(last);
    void* const again = heap.try_allocate(1000);
    return ashlar::checking_level < ashlar::checking::hardened ? again == last : again != nullptr;
  }));
}

// Allocates and touches 40 MB of small blocks, and frees all but a twentieth of them.
void fill_and_free(local_heap<>& heap, std::vector<void*>& kept) {
  std::vector<void*> held;
  for (int i = 0; i < 40'000; ++i) {
    held.push_back(heap.allocate(1000));
    std::memset(held.back(), 1, 1000);
  }
  for (std::size_t i = 0; i < held.size(); ++i)
    if (i % 10 != 0 || i > 20'000) heap.deallocate(held[i]);
    else kept.push_back(held[i]);
}

TEST(local_heap, gives_memory_back_on_request) {
  if (!ashlar_test::residency_means_something) GTEST_SKIP();
  local_heap<> heap({.retain_bytes = std::size_t{1} << 30});
  const std::size_t before = ashlar_test::resident_bytes();
  std::vector<void*> kept;
  fill_and_free(heap, kept);
  EXPECT_GT(ashlar_test::resident_bytes() - before, std::size_t{38} << 20);
  EXPECT_GT(heap.trim(), std::size_t{24} << 20);
  EXPECT_LT(ashlar_test::resident_bytes() - before, std::size_t{16} << 20);
  for (void* const each : kept) ASSERT_TRUE(std::memchr(each, 1, 1000) == each);
  EXPECT_TRUE(heap.invariant());
}

TEST(local_heap, gives_memory_back_without_being_asked) {
  if (!ashlar_test::residency_means_something) GTEST_SKIP();
  local_heap<> heap({.retain_bytes = std::size_t{1} << 20, .decay_ms = 0});
  const std::size_t before = ashlar_test::resident_bytes();
  std::vector<void*> kept;
  fill_and_free(heap, kept);
  EXPECT_LT(ashlar_test::resident_bytes() - before, std::size_t{28} << 20);
  for (void* const each : kept) ASSERT_TRUE(std::memchr(each, 1, 1000) == each);
  EXPECT_TRUE(heap.invariant());
}

}  // namespace
