// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Another planner, as a command that reads and writes the CSV that planners exchange.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include <ashlar/plan/csv.hpp>
#include <ashlar/plan/validate.hpp>

namespace ashlar::bench {

/// The result of a peer for a problem.
struct peer_result {
  std::string fault;  ///< Empty if there is a valid layout.
  std::uint64_t height = 0;
  double milliseconds = 0;  ///< Process start and files included.
};

/// Effects: runs the command with {in}, {out} and {capacity} replaced, and judges the offsets it writes.
inline peer_result run_peer(std::string command, const plan::problem& p, std::uint64_t capacity) {
  namespace fs = std::filesystem;
  const fs::path base = fs::temp_directory_path() / ("ashlar_peer_" + std::to_string(::getpid()));
  const std::string in = base.string() + ".in.csv", out = base.string() + ".out.csv";
  std::ofstream(in) << plan::format_csv(p);
  const auto put = [&](const std::string& name, const std::string& value) {
    for (std::size_t at = command.find(name); at != command.npos; at = command.find(name, at + value.size()))
      command.replace(at, name.size(), value);
  };
  put("{in}", in);
  put("{out}", out);
  put("{capacity}", std::to_string(capacity));
  peer_result r;
  const auto start = std::chrono::steady_clock::now();
  const int status = std::system((command + " >/dev/null 2>&1").c_str());
  r.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::ifstream written(out, std::ios::binary);
  const plan::csv_result parsed = plan::parse_csv(std::string(std::istreambuf_iterator<char>(written), {}));
  fs::remove(in);
  fs::remove(out);
  if (status != 0) r.fault = "exit status " + std::to_string(status);
  else if (!parsed.ok()) r.fault = parsed.error->text();
  if (!r.fault.empty()) return r;
  plan::layout l;
  l.offsets = parsed.document.offsets;
  for (std::size_t i = 0; i < l.offsets.size(); ++i)
    l.height = std::max(l.height, l.offsets[i] + parsed.document.content.buffers[i].size);
  // The command may have written the buffers in another order.
  if (const auto broken = plan::validate(parsed.document.content, l)) r.fault = plan::describe(broken->rule);
  else if (l.offsets.size() != p.buffers.size()) r.fault = "buffers are missing";
  r.height = l.height;
  return r;
}

}  // namespace ashlar::bench
