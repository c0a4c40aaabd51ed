// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the resident bytes of a pool's slabs, with a million live cells and with ten, and of totals beyond 2^32.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"

namespace {

/// The default pages of a pool, with queries for their bytes and their residency.
class counted_pages {
public:
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    slabs_.push_back({pages_.allocate(bytes, alignment), bytes});
    return slabs_.back().data;
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    std::erase_if(slabs_, [p](const ashlar::block& each) { return each.data == p; });
    pages_.deallocate(p, bytes, alignment);
  }
  void prefault(void* p, std::size_t bytes) noexcept { pages_.prefault(p, bytes); }
  bool operator==(const counted_pages& other) const noexcept { return this == &other; }

  [[nodiscard]] std::size_t held_bytes() const {
    std::size_t held = 0;
    for (const ashlar::block& each : slabs_) held += each.size;
    return held;
  }
  [[nodiscard]] std::size_t resident_bytes() const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::size_t resident = 0;
    for (const ashlar::block& each : slabs_) {
      std::vector<unsigned char> pages((each.size + page - 1) / page);
      EXPECT_EQ(::mincore(each.data, each.size, pages.data()), 0);
      resident +=
          page * static_cast<std::size_t>(std::ranges::count_if(pages, [](unsigned char p) { return (p & 1) != 0; }));
    }
    return resident;
  }

private:
  ashlar::page_resource pages_;
  std::vector<ashlar::block> slabs_;
};

// Bytes and bits that a cell costs by design: at hardened also a guard and two more bits.
double cost_of(std::size_t cell_bytes) {
  const std::size_t stride = ashlar::detail::make_slab_geometry({.cell_bytes = cell_bytes}).cell_stride();
  return static_cast<double>(stride) + static_cast<double>(ashlar::detail::cell_bitmaps) / 8;
}

/// A pool with cells that were all written to.
struct filled_pool {
  counted_pages upstream;
  ashlar::block_pool<ashlar::resource_ref<counted_pages>> pool;

  filled_pool(std::size_t cells, std::size_t cell_bytes) : pool({.cell_bytes = cell_bytes}, upstream) {
    for (std::size_t i = 0; i < cells; ++i) std::memset(pool.allocate(), 1, cell_bytes);
  }
  ~filled_pool() {
    pool.release();
    EXPECT_EQ(upstream.held_bytes(), 0u);
  }
};

// Beyond strides and bits, 2 %; what is held and not touched, one slab more.
TEST(density, a_million_cells_cost_their_bytes_a_bit_each_and_two_percent) {
  for (const std::size_t cell_bytes : {1u, 2u, 3u, 4u, 8u, 12u, 16u, 24u, 40u, 48u, 100u, 512u, 4096u}) {
    const std::size_t cells =
        std::min(std::size_t{ashlar_test::is_watched ? 300'000 : 1'000'000}, (std::size_t{256} << 20) / cell_bytes);
    const double promise = static_cast<double>(cells) * cost_of(cell_bytes) * 1.02;
    const filled_pool full(cells, cell_bytes);
    const auto slab_bytes = static_cast<double>(full.pool.slab_bytes());
    EXPECT_LE(static_cast<double>(full.upstream.held_bytes()), promise + slab_bytes) << cell_bytes;
    if (ashlar_test::is_watched || cell_bytes > 100) continue;  // the tool's own memory is not the pool's
    EXPECT_LE(static_cast<double>(full.upstream.resident_bytes()), promise) << cell_bytes;
  }
}

TEST(density, ten_cells_hold_four_pages_at_most) {
  for (std::size_t cell_bytes = 1; cell_bytes <= 1024; ++cell_bytes)
    ASSERT_LE(filled_pool(10, cell_bytes).upstream.resident_bytes(), 16u * 1024u) << cell_bytes;
}

using ashlar::detail::slab;
using ashlar::detail::slab_set;

constexpr std::uint32_t most_cells = 0x7FFF'FFFF;

/// A slab that claims 2^31 - 1 cells: it has its header, and the first word of its bitmap.
struct alignas(64) claimed_slab {
  std::byte header[sizeof(slab)];
  std::uint64_t word;

  slab* format() noexcept {
    slab* const made = slab::format(header, this, header, 64);
    made->capacity = made->free = most_cells;
    return made;
  }
};

TEST(counts, of_all_slabs_pass_2_to_the_32) {
  if constexpr (ashlar::detail::has_guards) GTEST_SKIP() << "the other bitmaps would lie behind all words of the first";
  if constexpr (sizeof(std::size_t) == 8) {
    const auto geometry = ashlar::detail::make_slab_geometry(
        {.cell_bytes = 1, .cell_alignment = 1, .slab_bytes = ashlar::detail::largest_slab});
    std::array<claimed_slab, 3> memory;
    slab_set set;
    for (claimed_slab& each : memory) set.add(each.format());
    EXPECT_EQ(set.capacity(), 3 * std::size_t{most_cells});
    EXPECT_GT(set.capacity(), std::numeric_limits<std::uint32_t>::max());
    const ashlar::detail::cell_batch taken = set.take_batch(geometry, 64);
    EXPECT_EQ(taken.mask, ~std::uint64_t{0});
    EXPECT_EQ(set.taken(), 64u);
    EXPECT_TRUE(set.has_free());
    for (claimed_slab& each : memory)
      if (auto* const one = reinterpret_cast<slab*>(each.header); one->free == most_cells) set.remove(one);
    EXPECT_EQ(set.capacity(), most_cells);
    EXPECT_EQ(set.slabs(), 1u);
  }
}

}  // namespace
