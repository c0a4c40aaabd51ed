// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of frees of pointers to no live cell: twice, foreign, into the middle of a cell, after the pool's end.
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>

#include "tests/death/caught.hpp"
#include "tests/death/last_words.hpp"
#include "tests/death/pool_apis.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::block_pool;
using ashlar::fault;
using ashlar_test::api_pool;
using ashlar_test::caught_in;
using ashlar_test::free_api;
using ashlar_test::free_apis;
using ashlar_test::sentence_48;

const std::string double_free = sentence_48("double_free: freed a cell that is free");
const std::string invalid_free = sentence_48("invalid_free: freed a pointer that is not of this pool");
const std::string wrong_pool =
    "ashlar: wrong_pool: freed a cell of another pool, pointer 0x*, resource 0x*, owner 0x*, size 48";
const std::string misaligned_free = sentence_48("misaligned_free: freed a pointer into the middle of a cell");

std::vector<void*> take(auto& pool, std::size_t cells) {
  std::vector<void*> taken(cells);
  for (void*& cell : taken) cell = pool.allocate();
  return taken;
}

// Ends the rest of a test in its pools, which is not a leak.
template <class Pool>
class released {
public:
  explicit released(Pool& pool) : pool_(pool) {}
  ~released() { pool_.release(); }
  released(const released&) = delete;
  released& operator=(const released&) = delete;

private:
  Pool& pool_;
};

class pool_faults : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
};

fault caught_at_free(auto& pool, void* p) {
  const auto seen = caught_in([&] { pool.deallocate(p); });
  EXPECT_TRUE(seen.has_value());
  if (seen) {
    EXPECT_EQ(seen->pointer, p);
    EXPECT_EQ(seen->resource, &pool);
    EXPECT_EQ(seen->size, pool.cell_bytes());
  }
  return seen ? seen->kind : fault::precondition;
}

// Memory outside of the pool; the mapped page is not even readable.
struct foreign_memory {
  foreign_memory() : no_access(::mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), heap(4096) {}
  ~foreign_memory() { ::munmap(no_access, 1 << 16); }
  foreign_memory(const foreign_memory&) = delete;
  foreign_memory& operator=(const foreign_memory&) = delete;

  alignas(64) static inline std::array<std::byte, 64> in_static_memory = {};
  alignas(64) std::array<std::byte, 64> inside = {};
  void* no_access;
  std::vector<std::byte> heap;
};

std::vector<void*> sources_of(foreign_memory& memory, void* cell) {
  auto* const at = static_cast<std::byte*>(cell);
  return {memory.in_static_memory.data(),
          memory.inside.data(),  // on the stack
          memory.no_access,
          memory.heap.data(),
          at - 48,  // a header
          reinterpret_cast<void*>(std::uintptr_t{1}),
          reinterpret_cast<void*>(~std::uintptr_t{63})};
}

TEST_F(pool_faults, each_way_of_a_free_says_what_is_wrong_with_the_pointer) {
  foreign_memory memory;
  api_pool pool({.cell_bytes = 48, .cell_alignment = 16});
  api_pool other({.cell_bytes = 48, .cell_alignment = 16});
  const released<api_pool> at_the_end(pool);
  const released<api_pool> at_the_end_of_the_other(other);
  auto* const cell = static_cast<std::byte*>(pool.allocate());
  void* const free_cell = pool.allocate();
  void* const of_other = other.allocate();
  pool.deallocate(free_cell);
  for (const free_api& api : free_apis) {
    SCOPED_TRACE(api.name);
    ASHLAR_EXPECT_LAST_WORDS(api.free(pool, free_cell), double_free);
    ASHLAR_EXPECT_LAST_WORDS(api.free(pool, cell + 16), misaligned_free);
    ASHLAR_EXPECT_LAST_WORDS(api.free(pool, of_other), wrong_pool);
    for (void* const p : sources_of(memory, cell)) ASHLAR_EXPECT_LAST_WORDS(api.free(pool, p), invalid_free);
  }
}

// Forms of a second free, each for cells from a byte to 64 KiB.
template <class Shape>
void for_each_size(Shape shape) {
  for (const std::size_t cell_bytes : {1u, 3u, 8u, 24u, 48u, 100u, 512u, 4096u, 65536u}) {
    SCOPED_TRACE(cell_bytes);
    block_pool<> pool({.cell_bytes = cell_bytes});
    const released<block_pool<>> at_the_end(pool);
    void* const pin = pool.allocate();  // keeps the first slab
    shape(pool);
    EXPECT_NE(pin, nullptr);
  }
}

// The first owner's second free looks right, since the cell is live again; then the second owner's is the double one.
TEST_F(pool_faults, a_double_free_after_reuse_is_seen_at_the_next_free) {
  for_each_size([](auto& pool) {
    std::vector<void*> all = take(pool, 64);
    void* const first = all.front();
    pool.deallocate(first);
    void* again = pool.allocate();
    while (again != first) all.push_back(again), again = pool.allocate();
    pool.deallocate(first);
    EXPECT_EQ(caught_at_free(pool, again), fault::double_free);
  });
}

TEST_F(pool_faults, a_double_free_is_an_invalid_free_once_the_slab_has_gone) {
  block_pool<> pool({.cell_bytes = 48, .retain_slabs = 0});
  void* const cell = pool.allocate();
  pool.deallocate(cell);
  static_cast<void>(pool.trim());
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(cell), invalid_free);
}

TEST_F(pool_faults, a_cell_never_handed_out_is_a_double_free) {
  for_each_size([](auto& pool) {
    auto* const first = static_cast<std::byte*>(pool.allocate());
    EXPECT_EQ(caught_at_free(pool, first + pool.cell_stride()), fault::double_free);
  });
}

TEST_F(pool_faults, every_offset_but_a_cells_start_is_misaligned) {
  for_each_size([](auto& pool) {
    const std::size_t size = pool.cell_bytes();
    auto* const cell = static_cast<std::byte*>(pool.allocate());
    for (const std::size_t offset : {std::size_t{1}, std::size_t{8}, std::size_t{16}, size / 2, size - 1,
                                     std::size_t{4096}, size + 1, 3 * size - 1}) {
      if (offset % pool.cell_stride() == 0 || !pool.owns(cell + offset)) continue;
      EXPECT_EQ(caught_at_free(pool, cell + offset), fault::misaligned_free) << offset;
    }
  });
}

TEST_F(pool_faults, a_cell_of_a_pool_that_has_ended_is_an_invalid_free) {
  api_pool other({.cell_bytes = 48, .cell_alignment = 16});
  std::optional<api_pool> gone(std::in_place, ashlar::block_pool_options{.cell_bytes = 48, .cell_alignment = 16});
  void* const cell = gone->allocate();
  gone->release();
  gone.reset();
  ASHLAR_EXPECT_LAST_WORDS(other.deallocate(cell), invalid_free);
}

// The address is in use again, in a pool that has not handed it out.
TEST_F(pool_faults, an_address_that_another_pool_reuses_is_that_pools) {
  using pool_type = block_pool<ashlar::resource_ref<ashlar::buffer_resource>>;
  const ashlar::block_pool_options options = {.cell_bytes = 48, .slab_bytes = 4096};
  alignas(4096) static std::array<std::byte, 4096> memory;
  ashlar::buffer_resource buffer(memory);
  std::vector<void*> old;
  {
    pool_type gone(options, buffer);
    old = take(gone, 10);
    gone.release();
  }
  pool_type next(options, buffer);
  void* const cell = next.allocate();
  ASSERT_EQ(cell, old[0]);
  EXPECT_EQ(caught_at_free(next, old[9]), fault::double_free);
  next.deallocate(cell);
}

}  // namespace
