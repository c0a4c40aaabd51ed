// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every public type that has a default constructor, as a static member of a class.
#include <cstdint>
#include <list>

#include "everything.hpp"

namespace odr {

struct thing {
  int a = 0;
};
struct counted {
  std::uint32_t count = 0;
};
/// g++ 12 does not find a default constructor that is one by the default argument of its options here.
struct static_members {
  static inline ashlar::arena<> arena;
  static inline ashlar::inline_arena<1024> inline_arena;
  static inline ashlar::frame_arena<> frame_arena;
  static inline ashlar::scratch_arena scratch_arena;
  static inline ashlar::page_resource page_resource;
  static inline ashlar::basic_page_resource<ashlar::fresh_resident<>> resident_pages;
  static inline ashlar::basic_page_resource<ashlar::fresh_locked<>> locked_pages;
  static inline ashlar::new_delete_resource new_delete_resource;
  static inline ashlar::null_resource null_resource;
  static inline ashlar::inline_buffer<1024> inline_buffer;
  static inline ashlar::stack_resource<> stack_resource;
  static inline ashlar::fixed_block_pool<32, 8> fixed_block_pool;
  static inline ashlar::tlsf_resource<> tlsf_resource;
  static inline ashlar::pool_set<> pool_set;
  static inline ashlar::shared_pool_set<> shared_pool_set;
  static inline ashlar::local_heap<> local_heap;
  static inline ashlar::owner_heap<> owner_heap;
  static inline ashlar::heap<> heap;
  static inline ashlar::statistics<ashlar::new_delete_resource> statistics;
  static inline ashlar::synchronized<ashlar::new_delete_resource> synchronized;
  static inline ashlar::guarding<ashlar::new_delete_resource> guarding;
  static inline ashlar::labelled<> labelled;
  static inline ashlar::tracking<ashlar::new_delete_resource> tracking;
  static inline ashlar::logging<ashlar::new_delete_resource> logging;
  static inline ashlar::profiling<ashlar::pool_set<>> profiling;
  static inline ashlar::fallback<ashlar::arena<>, ashlar::new_delete_resource> fallback;
  static inline ashlar::segregator<ashlar::pool_set<>, ashlar::new_delete_resource, ashlar::fixed_threshold<64>>
      segregator;
  static inline ashlar::chain<ashlar::inline_buffer<1024>> chain;
  static inline ashlar::pool_allocator<int> pool_allocator;
  static inline ashlar::process_allocator<int, ashlar::new_delete_resource> process_allocator;
  static inline ashlar::pmr_resource<ashlar::pool_set<>> pmr_resource;
  static inline ashlar::slot_map<thing> slot_map;
  static inline ashlar::object_pool<thing, ashlar::with_capacity<16>> bounded_objects;
  static inline ashlar::ref_ptr<thing> ref_ptr;
  static inline ashlar::ref_pool<thing> ref_pool;
  static inline ashlar::intrusive_pool<counted> intrusive_pool;
  static inline ashlar::buffer_pool<256> buffer_pool;
  static inline ashlar::pmr::unsynchronized_pool_resource pmr_pool;
  static inline ashlar::pmr::synchronized_pool_resource pmr_shared_pool;
  static inline ashlar::pmr::monotonic_buffer_resource pmr_monotonic;
  static inline ashlar::plan::problem problem;
  static inline std::list<int, ashlar::pool_allocator<int, ashlar::thread_cached>> list;
};

/// Takes a block of one, and gives it back.
template <class Resource>
bool serves(Resource& r) {
  void* const p = r.allocate(8, 8);
  r.deallocate(p, 8, 8);
  return p != nullptr;
}

}  // namespace odr

int main() {
  using namespace odr;
  return serves(static_members::heap) && serves(static_members::local_heap) && serves(static_members::tlsf_resource)
             ? 0
             : 1;
}
