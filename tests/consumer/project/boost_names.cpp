// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that uses Boost.Pool's names, which stand for this library's pools.
#include <list>
#include <vector>

#include <boost/pool/object_pool.hpp>
#include <boost/pool/pool.hpp>
#include <boost/pool/pool_alloc.hpp>
#include <boost/pool/singleton_pool.hpp>

namespace {
struct tag {};

bool uses_pools() {
  boost::pool<> cells(32);
  (cells.free)((cells.malloc)());
  boost::object_pool<int> objects;
  objects.destroy(objects.construct(3));
  using singleton = boost::singleton_pool<tag, 32>;
  (singleton::free)((singleton::malloc)());
  return cells.release_memory();
}
}  // namespace

int main() {
  const std::list<int, boost::fast_pool_allocator<int>> nodes = {1};
  const std::vector<int, boost::pool_allocator<int>> numbers = {2};
  return uses_pools() && nodes.front() + numbers.front() == 3 ? 0 : 1;
}
