// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes a pool visible to `ashlar replay` and `ashlar report`: its trace, in the format of `ashlar record`.
//
//     example_tracing pool.trace && ashlar report pool.trace
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <ashlar/adaptor/trace_log.hpp>
#include <ashlar/adaptor/tracing.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/os/site.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/trace/reader.hpp>
#include <ashlar/trace/sink.hpp>

// Nodes of a map, from a pool of 64-byte cells.
template <class Log>
void work(Log& log) {
  using pool = ashlar::tracing<ashlar::block_pool<>, Log, ashlar::site::return_address>;
  pool cells(log, ashlar::block_pool_options{.cell_bytes = 64});
  std::map<int, int, std::less<>, ashlar::allocator<std::pair<const int, int>, pool>> squares(cells);
  for (int i = 0; i < 1000; ++i) squares.emplace(i, i * i);
  log.mark(1);
  for (int i = 0; i < 1000; i += 2) squares.erase(i);
}

int main(int argc, char** argv) {
  if (argc > 1) {
    ashlar::trace_log<> log(argv[1], {.command_line = {argv[0], argv[1]}});
    work(log);
    return log.close() ? 0 : 1;
  }
  std::vector<std::byte> bytes;
  ashlar::trace_log<ashlar::trace::raw_codec, ashlar::trace::memory_sink> log{ashlar::trace::memory_sink(bytes)};
  work(log);
  if (!log.close()) return 1;
  ashlar::trace::reader<ashlar::trace::raw_codec> trace(bytes);
  std::size_t events = 0;
  while (trace.next()) ++events;
  std::printf("%zu events in %zu bytes, %zu still live\n", events, bytes.size(),
              static_cast<std::size_t>(trace.counts().live));
  return !trace.error() && events == 2001 && trace.counts().live == 0 ? 0 : 1;
}
