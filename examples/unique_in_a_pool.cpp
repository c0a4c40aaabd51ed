// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unique pointers into a pool: a tree of parts behind one base without a virtual destructor; and an array.
#include <cstdio>
#include <utility>
#include <vector>

#include <ashlar/face/unique.hpp>
#include <ashlar/resource/block_pool.hpp>

namespace {

struct shape {
  const char* name;
};
struct circle : shape {
  double radius;
};
struct polygon : shape {
  std::vector<double> corners;
};

using pool_type = ashlar::block_pool<>;
using any_shape = ashlar::unique_base_from<shape, pool_type>;

}  // namespace

int main() {
  pool_type pool({.cell_bytes = sizeof(polygon), .max_count = 100});

  std::vector<any_shape> drawing;
  drawing.push_back(ashlar::allocate_unique<circle>(pool, circle{{"circle"}, 2.0}));
  drawing.push_back(ashlar::allocate_unique<polygon>(pool, polygon{{"triangle"}, {0, 0, 1, 0, 0, 1}}));
  for (const any_shape& each : drawing) std::printf("%s\n", each->name);

  // Null when the pool is full, never an exception.
  std::vector<ashlar::unique_from<circle, pool_type>> more;
  while (auto next = ashlar::try_allocate_unique<circle>(pool)) more.push_back(std::move(next));
  std::printf("%zu shapes live, no more to be had\n", pool.live());

  drawing.clear();  // also destroys the triangle's corners
  const auto samples = ashlar::allocate_unique<float[]>(pool, 4);
  std::printf("%zu samples\n", samples.get_deleter().count());
  more.clear();
  return pool.live() == 1 ? 0 : 1;
}
