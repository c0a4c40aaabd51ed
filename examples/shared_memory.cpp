// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two processes and one vector: a writer builds it in shared memory and dies, a reader finds it at another address.
#include <cstddef>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/face/shared_memory_allocator.hpp>
#include <ashlar/resource/shared_memory.hpp>

namespace {

using ashlar::interprocess::shared_memory;
using prices = std::vector<double, ashlar::interprocess::allocator<double>>;
constexpr std::size_t bytes = std::size_t{1} << 20;

// Each process opens the memory by its name.
void* map_of(const std::string& name, int flags) {
  const int file = ::shm_open(name.c_str(), flags | O_RDWR, 0600);
  if (file < 0) return nullptr;
  void* const at =
      ::ftruncate(file, bytes) == 0 ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  ::close(file);
  return at == MAP_FAILED ? nullptr : at;
}

int write_prices(const std::string& name) {
  const auto memory = shared_memory::create(map_of(name, O_CREAT | O_EXCL), bytes);
  if (!memory) return 1;
  auto* const made = ::new (memory->allocate(sizeof(prices), alignof(prices))) prices(*memory);
  for (int i = 0; i < 1000; ++i) made->push_back(i / 100.0);
  memory->set_root(made);  // complete: from here on others find it
  return 0;
}

int read_prices(const std::string& name) {
  const auto memory = shared_memory::open(map_of(name, 0), bytes);
  if (!memory) return std::fprintf(stderr, "no shared memory: %s\n", name_of(memory.why).data());
  auto* const found = static_cast<prices*>(memory->root());
  std::printf("prices: %zu, the last one: %.2f\n", found->size(), found->back());
  found->~prices();
  memory->deallocate(found, sizeof(prices), alignof(prices));
  return memory->used() == 0 ? 0 : 1;
}

}  // namespace

int main() {
  const std::string name = "/ashlar-example-" + std::to_string(::getpid());
  const pid_t writer = ::fork();
  if (writer == 0) ::_exit(write_prices(name));
  int status = 1;
  if (::waitpid(writer, &status, 0) != writer || status != 0) return 1;
  const int result = read_prices(name);
  ::shm_unlink(name.c_str());
  return result;
}
