// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Temporaries of a recursive function on a stack: taken on the way down, freed on the way up.
#include <cstddef>
#include <cstdio>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/stack_resource.hpp>

namespace {

using stack = ashlar::stack_resource<>;
using numbers = std::vector<double, ashlar::allocator<double, stack>>;

// A determinant by its first row: each minor is a temporary. A vector on a stack must not grow behind another one,
// since that would free its old memory out of order: so it gets its final size at once.
double determinant(const numbers& matrix, std::size_t n, stack& temporaries) {
  if (n == 1) return matrix[0];
  double sum = 0;
  for (std::size_t column = 0; column < n; ++column) {
    numbers minor((n - 1) * (n - 1), temporaries);
    for (std::size_t i = 0; i < (n - 1) * (n - 1); ++i) {
      const std::size_t from = i % (n - 1);
      minor[i] = matrix[(i / (n - 1) + 1) * n + from + (from >= column ? 1 : 0)];
    }
    sum += (column % 2 == 0 ? 1 : -1) * matrix[column] * determinant(minor, n - 1, temporaries);
  }
  return sum;
}

}  // namespace

int main() {
  stack temporaries;
  const stack::marker start = temporaries.mark();

  double result = 0;
  {
    const std::size_t n = 6;
    numbers matrix(n * n, temporaries);
    for (std::size_t i = 0; i < n * n; ++i) matrix[i] = i / n == i % n ? 2 : 1;
    result = determinant(matrix, n, temporaries);
  }
  std::printf("determinant %g, %zu bytes at most, %zu now\n", result, temporaries.high_water(), temporaries.used());
  if (result != 7 || temporaries.used() != 0) return 1;

  // Many blocks of unknown number, all freed at once.
  for (std::size_t i = 1; i <= 1000; ++i) static_cast<void>(temporaries.allocate(i, 64));
  std::printf("%zu bytes in use\n", temporaries.used());
  temporaries.rewind(start);
  return temporaries.used() == 0 ? 0 : 1;
}
