// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of the fault matrix: heaps, and TLSF.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ashlar/heap/bounded_heap.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/heap/remote_freer.hpp>
#include <ashlar/heap/tiered_heap.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/death/matrix/subjects.hpp"

namespace fault_matrix {
namespace {

using namespace ashlar;

struct planned {
  std::array<std::uint64_t, 1> offsets, sizes;
  std::uint64_t height, alignment;
};
constexpr planned one_buffer{{0}, {64}, 64, 64};
using tiered = tiered_heap<static_plan<one_buffer>>;

struct freed_remote : owning_subject<owner_heap<>> {
  void* take(std::size_t bytes) override { return resource_.allocate(bytes, block_alignment); }
  void give(void* p, std::size_t, std::size_t) override { freer.defer_free(resource_, p); }
  void trim() override {
    freer.flush();
    owning_subject::trim();
  }

  remote_freer<> freer;
};

struct block_kind {
  const char* name;
  std::size_t exact;
  std::size_t loose;
};
constexpr block_kind cell = {"", 64, 37};
constexpr block_kind byte_word = {", 8 bytes", 8, 5};
constexpr block_kind page = {", 4 KiB", 4096, 4000};
constexpr block_kind run = {", 256 KiB", std::size_t{256} << 10, 200'001};
constexpr block_kind huge = {", 8 MiB", std::size_t{8} << 20, 7'000'001};
constexpr block_kind header_and_block = {"", 56, 37};  // it fills its granules
constexpr block_kind large = {", 64 KiB", (std::size_t{64} << 10) - 8, 50'001};

using maker_type = std::function<std::unique_ptr<subject>()>;

void add(std::vector<interface>& rows, const std::string& name, const maker_type& with_size,
         const maker_type& without_size, std::initializer_list<block_kind> kinds, misuses allows) {
  for (const block_kind& kind : kinds) {
    rows.push_back({.name = name + ", sized" + kind.name,
                    .make = with_size,
                    .exact = kind.exact,
                    .loose = kind.loose,
                    .allows = allows});
    rows.push_back({.name = name + kind.name,
                    .make = without_size,
                    .exact = kind.exact,
                    .loose = kind.loose,
                    .cannot_express = sizes_and_alignment,
                    .allows = allows | misuse::null_pointer});
  }
}

}  // namespace

std::span<const interface> heaps() {
  static const std::vector<interface> rows = [] {
    constexpr std::size_t bounded_bytes = std::size_t{4} << 20;
    using bounded = bounded_heap<page_resource>;
    std::vector<interface> made;
    add(made, "tlsf_resource", maker<sized<tlsf_resource<>>>(), maker<unsized<tlsf_resource<>>>(),
        {header_and_block, large}, {});
    add(made, "local_heap", maker<sized<local_heap<>>>(), maker<unsized<local_heap<>>>(),
        {cell, byte_word, page, run, huge}, misuse::leak);
    add(made, "owner_heap", maker<sized<owner_heap<>>>(), maker<unsized<owner_heap<>>>(), {cell}, misuse::leak);
    made.push_back({.name = "remote_freer",
                    .make = maker<freed_remote>(),
                    .cannot_express = sizes_and_alignment,
                    .allows = misuse::leak | misuse::null_pointer});
    add(made, "heap", maker<sized<heap<>>>(), maker<unsized<heap<>>>(), {cell, run, huge}, misuse::leak);
    add(made, "tiered_heap", maker<sized<tiered>>(), maker<unsized<tiered>>(), {cell}, misuse::leak);
    add(made, "bounded_heap", maker<sized<bounded>>(bounded_bytes), maker<unsized<bounded>>(bounded_bytes),
        {cell, large}, misuse::leak);
    return made;
  }();
  return rows;
}

}  // namespace fault_matrix
