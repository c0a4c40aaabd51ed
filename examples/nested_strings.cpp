// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A parsed configuration, strings in vectors in a map, in one arena: by scoped_allocator, and by std::pmr.
#include <cstdio>
#include <functional>
#include <map>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/face/scoped_allocator.hpp>
#include <ashlar/resource/arena.hpp>

namespace {

using arena = ashlar::arena<>;
using text = std::basic_string<char, std::char_traits<char>, ashlar::allocator<char, arena>>;
using values = std::vector<text, ashlar::scoped_allocator<text, arena>>;
using settings = std::map<text, values, std::less<>, ashlar::scoped_allocator<std::pair<const text, values>, arena>>;

constexpr const char* path = "/a/path/that/is/too/long/for/the/string/itself";

// Neither the vector nor its strings are told of the arena: the map hands it on.
bool all_in_one_arena() {
  arena memory({.initial_bytes = 4096});
  settings all(memory);
  values& paths = all[text("search paths of this program, in order", memory)];
  for (int i = 0; i < 3; ++i) paths.emplace_back(path);
  std::printf("%zu bytes in the arena\n", memory.used());
  return &paths.back().get_allocator().resource() == &memory;
}

// The same with a resource that is found at run time: std::pmr's allocators hand it on by themselves.
bool all_in_one_pmr_resource() {
  ashlar::pmr_resource<arena> memory;
  std::pmr::map<std::pmr::string, std::pmr::vector<std::pmr::string>> all(&memory);
  all["search paths of this program, in order"].emplace_back(path);
  return all.begin()->second.back().get_allocator().resource() == &memory;
}

}  // namespace

int main() { return all_in_one_arena() && all_in_one_pmr_resource() ? 0 : 1; }
