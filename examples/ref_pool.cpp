// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph of counted objects without a counter of their own: a pointer is one word, an object costs four more bytes.
#include <cstdio>
#include <optional>
#include <vector>

#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>

struct named {
  const char* name;
};

struct station : named {
  explicit station(const char* n) : named{n} {}
  std::vector<ashlar::ref_ptr<station>> next;
};

int main() {
  std::optional<ashlar::ref_pool<station>> stations(std::in_place);
  const auto south = stations->make("south");
  auto north = stations->make("north");
  south->next.push_back(north);

  const ashlar::ref_ptr<const named> sign = north;  // a base of the same object
  std::printf("%s has %u references, in %zu bytes each beside %zu of its own\n", sign->name, sign.use_count(),
              sizeof sign, decltype(stations)::value_type::bytes_per_object);

  north.reset();
  stations.reset();  // the objects stay; the last one frees the memory
  std::printf("%s leads to %s\n", south->name, south->next.front()->name);
  return sign.use_count() == 2 ? 0 : 1;
}
