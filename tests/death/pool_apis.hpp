// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every form of a free of a 48-byte cell to a pool, for tests that misuse each.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string>

#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/resource/block_pool.hpp>

namespace ashlar_test {

inline constexpr std::size_t api_cell_bytes = 48;

struct alignas(16) api_cell {
  std::byte bytes[api_cell_bytes];
};

using api_pool = ashlar::block_pool<>;

struct free_api {
  const char* name;
  void (*free)(api_pool& pool, void* p);
};

inline void free_by_traits(api_pool& pool, void* p) {
  using allocator = ashlar::allocator<api_cell, api_pool>;
  allocator from(pool);
  std::allocator_traits<allocator>::deallocate(from, static_cast<api_cell*>(p), 1);
}

inline void free_by_pmr(api_pool& pool, void* p) {
  ashlar::pmr_resource<ashlar::resource_ref<api_pool>> bridge{ashlar::resource_ref<api_pool>(pool)};
  static_cast<std::pmr::memory_resource&>(bridge).deallocate(p, api_cell_bytes, 16);
}

inline void free_by_adaptor(api_pool& pool, void* p) {
  ashlar::statistics<ashlar::resource_ref<api_pool>> counted{ashlar::resource_ref<api_pool>(pool)};
  counted.deallocate(p, api_cell_bytes, 16);
}

inline constexpr std::array<free_api, 6> free_apis = {{
    {"deallocate(p)", [](api_pool& pool, void* p) { pool.deallocate(p); }},
    {"deallocate(p, bytes, alignment)", [](api_pool& pool, void* p) { pool.deallocate(p, api_cell_bytes, 16); }},
    {"resource_ref", [](api_pool& pool, void* p) { ashlar::resource_ref(pool).deallocate(p, api_cell_bytes, 16); }},
    {"allocator_traits", &free_by_traits},
    {"pmr", &free_by_pmr},
    {"statistics", &free_by_adaptor},
}};

/// Returns: the sentence of a pool of 48-byte cells about a pointer.
[[nodiscard]] inline std::string sentence_48(const std::string& fault_and_what) {
  return "ashlar: " + fault_and_what + ", pointer 0x*, resource 0x*, size 48";
}

}  // namespace ashlar_test
