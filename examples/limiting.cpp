// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A budget for the whole program and one for its scripts; the program's cache shrinks on demand.
#include <cstddef>
#include <cstdio>
#include <vector>

#include <ashlar/adaptor/budget.hpp>
#include <ashlar/adaptor/limiting.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

using heap = ashlar::limiting<ashlar::new_delete_resource>;

struct cache {
  static constexpr std::size_t entry_bytes = 1000;

  heap& memory;
  std::vector<void*> entries{};

  void fill(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) entries.push_back(memory.allocate(entry_bytes, 8));
  }
  bool drop_one() noexcept {
    if (entries.empty()) return false;
    memory.deallocate(entries.back(), entry_bytes, 8);
    entries.pop_back();
    return true;
  }
};

ashlar::budget::answer make_room(const ashlar::budget::refusal& request, void* context) noexcept {
  std::printf("no room for %zu bytes under a limit of %zu\n", request.bytes, request.exceeded.max_bytes());
  auto& images = *static_cast<cache*>(context);
  const bool would_help = &request.exceeded == &images.memory.limits() && request.bytes <= request.exceeded.max_bytes();
  return would_help && images.drop_one() ? ashlar::budget::answer::retry : ashlar::budget::answer::give_up;
}

int main() {
  ashlar::budget program(10'000);
  ashlar::budget scripts(4'000, &program);  // and never more than the program has left
  heap for_cache(program);
  heap for_scripts(scripts);

  cache images{for_cache};
  images.fill(9);
  program.on_exceeded(&make_room, &images);

  void* const script = for_scripts.allocate(3'000, 8);  // two images are evicted
  const bool gave_way = images.entries.size() == 7 && program.used() == 10'000;
  const bool refused = for_scripts.try_allocate(8'000, 8) == nullptr;  // more than the limit of scripts
  for_scripts.deallocate(script, 3'000, 8);
  while (images.drop_one()) {
  }
  return gave_way && refused && program.used() == 0 && program.peak() == 10'000 ? 0 : 1;
}
