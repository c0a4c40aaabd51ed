// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every size at an edge and every alignment: the result is an aligned block of its own, or a refusal.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/compositions/composition.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/live_blocks.hpp"
#include "tests/torture/every_resource.hpp"

namespace {

using namespace ashlar_test;

// Above the largest size that must succeed, and small enough that a refusal costs little.
constexpr std::size_t most_bytes = std::size_t{16} << 20;
constexpr std::size_t alignment_step = is_slow ? 512 : 2;

// Wraps at both ends of the range of `std::size_t`, which are edges too.
void add_neighbours(std::vector<std::size_t>& sizes, std::size_t edge, std::size_t reach) {
  for (std::size_t i = 0; i <= 2 * reach; ++i) sizes.push_back(edge - reach + i);
}

// Edges of cells, size classes, pages, slabs, slices, segments, and integer types.
std::vector<std::size_t> edge_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t edge = 8; edge <= 32'768; edge *= 2) add_neighbours(sizes, edge, 1);
  for (const std::size_t edge : {48u, 1000u, 1024u + 512u, 40'000u, 65'536u, 262'144u, 4'194'304u})
    add_neighbours(sizes, edge, 1);
  for (const std::size_t edge : {std::size_t{0}, ashlar::max_block_bytes, ashlar::max_size})
    add_neighbours(sizes, edge, 3);
  for (std::size_t bit = std::size_t{1} << 26; bit != 0; bit <<= 3) add_neighbours(sizes, bit, 1);
  for (const std::size_t back : {std::size_t{4096}, std::size_t{4'194'304}}) sizes.push_back(ashlar::max_size - back);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// Allocates one block and gives it back at once. Returns: whether there was one.
bool tries(composition& r, std::size_t bytes, std::size_t alignment) {
  void* const p = r.try_allocate(bytes, alignment);
  if (p == nullptr) return false;
  EXPECT_EQ(ashlar::address_of(p) % alignment, 0u) << bytes << " at " << alignment;
  EXPECT_LE(bytes, most_bytes);
  std::memset(p, 'a', std::min(bytes, std::size_t{1}));
  if (bytes != 0) std::memset(static_cast<std::byte*>(p) + bytes - 1, 'z', 1);
  r.deallocate(p, bytes, alignment);
  return true;
}

class every_edge : public ::testing::TestWithParam<tortured> {};

// A few blocks stay live and unchanged; after a refusal no more memory is held than before.
TEST_P(every_edge, is_served_or_refused) {
  if (!has_exceptions) GTEST_SKIP() << "some of it says no by throwing alone";
  counting_resource<> below;
  below.limit_bytes(most_bytes);
  const std::unique_ptr<composition> r = GetParam().make(below);
  live_blocks<composition> blocks(*r);
  for (const std::size_t bytes : {48u, 200u, 5000u}) ASSERT_TRUE(blocks.try_allocate(bytes, 16));
  const std::vector<std::size_t> sizes = edge_sizes();
  std::size_t served = 0;
  for (std::size_t alignment = 1; alignment != 0; alignment *= alignment_step) {
    for (const std::size_t bytes : sizes) {
      const holdings before = below.balance();
      const bool got = tries(*r, bytes, alignment);
      ASSERT_TRUE(got || below.balance().bytes <= before.bytes) << bytes << " at " << alignment;
      served += got ? 1 : 0;
    }
    ASSERT_TRUE(r->invariant()) << alignment;
  }
  EXPECT_TRUE(blocks.all_intact());
  EXPECT_GT(served, GetParam().reuses && !is_slow ? 1000u : 100u);
  blocks.free_all();
  EXPECT_TRUE(GetParam().reuses || r->traits.releases);
  if (!GetParam().reuses) r->release();
  EXPECT_TRUE(tries(*r, 48, 16));
}

#if defined(__cpp_exceptions)
// The throwing calls: they give a block, or throw `std::bad_alloc` and nothing else.
TEST_P(every_edge, throws_bad_alloc_alone) {
  counting_resource<> below;
  below.limit_bytes(most_bytes);
  const std::unique_ptr<composition> r = GetParam().make(below);
  for (std::size_t alignment = 1; alignment != 0; alignment *= 512)
    for (const std::size_t bytes : edge_sizes()) try {
        r->deallocate(r->allocate(bytes, alignment), bytes, alignment);
      } catch (const std::bad_alloc&) {
      }
  EXPECT_TRUE(r->invariant());
}
#endif

INSTANTIATE_TEST_SUITE_P(resources, every_edge, ::testing::ValuesIn(every_resource()), name_of_tortured);
INSTANTIATE_TEST_SUITE_P(adaptors, every_edge, ::testing::ValuesIn(every_adaptor()), name_of_tortured);

}  // namespace
