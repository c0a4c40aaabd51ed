// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool whose cells a heap profiler sees one by one, as if each came from malloc:
//
//     heaptrack ./profiled_pool                                  10000 allocations in `take_order`, 240000 bytes
//     valgrind ./profiled_pool --use-after-free                  an invalid read, and the free of its block
//
// Without either tool the adaptor costs a load and a branch for each call. Such tools see a pool alone as one mapping.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include <ashlar/adaptor/profiling.hpp>
#include <ashlar/resource/block_pool.hpp>

namespace {

struct order {
  long id;
  long quantity;
  long price;
};

using order_pool = ashlar::profiling<ashlar::block_pool<>>;

[[gnu::noinline]] order* take_order(order_pool& pool, long id) {
  return ::new (pool.allocate(sizeof(order), alignof(order))) order{id, id % 7, 100};
}

[[gnu::noinline]] void cancel_order(order_pool& pool, order* cancelled) {
  pool.deallocate(cancelled, sizeof(order), alignof(order));
}

long turnover_of(const std::vector<order*>& book) {
  long turnover = 0;
  for (const order* each : book) turnover += each->quantity * each->price;
  return turnover;
}

}  // namespace

int main(int argc, char** argv) {
  order_pool pool(ashlar::block_pool_options{.cell_bytes = sizeof(order)});
  std::vector<order*> book;
  book.reserve(10'000);
  for (long id = 0; id < 10'000; ++id) book.push_back(take_order(pool, id));
  std::printf("turnover: %ld\n", turnover_of(book));

  cancel_order(pool, book[4321]);
  if (argc > 1 && std::strcmp(argv[1], "--use-after-free") == 0) std::printf("turnover: %ld\n", turnover_of(book));
  book.erase(book.begin() + 4321);

  for (order* each : book) cancel_order(pool, each);
  return pool.upstream_resource().live() == 0 ? 0 : 1;
}
