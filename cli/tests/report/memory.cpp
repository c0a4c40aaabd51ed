// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes 64 MiB from malloc, or maps them itself; its arguments are the steps.
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::size_t large = std::size_t{64} << 20;
void* mapped = nullptr;

void map() {
  mapped = mmap(nullptr, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(mapped, 1, large);
}

void use_file() {
  std::string path = "/tmp/ashlar_memory_XXXXXX";
  const int fd = mkstemp(path.data());
  if (fd < 0 || ftruncate(fd, large) != 0) std::abort();
  mapped = mmap(nullptr, large, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  std::memset(mapped, 1, large);
  unlink(path.c_str());
}

void allocate(std::size_t count, std::size_t bytes) {
  for (std::size_t i = 0; i < count; ++i) std::memset(std::malloc(bytes), 1, bytes);
}

/// The steps that follow are the child's.
void fork_and_wait() {
  const pid_t child = fork();
  if (child == 0) return;
  waitpid(child, nullptr, 0);
  std::exit(0);
}

const std::map<std::string, void (*)()>& steps() {
  static const std::map<std::string, void (*)()> all = {
      {"maps", map},
      {"gives_back", [] { munmap(mapped, large); }},
      {"uses_file", use_file},
      {"mallocs", [] { allocate(1024, large / 1024); }},
      {"works", [] { allocate(20'000, 16); }},
      {"forks", fork_and_wait},
      {"sleeps", [] { usleep(200'000); }},
      {"dies", [] { raise(SIGKILL); }},
  };
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) steps().at(argv[i])();
}
