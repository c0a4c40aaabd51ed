// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times the shortest run of this command, library by library.
#include "cli/try/loading.hpp"

#include "cli/rounds/interval.hpp"
#include "cli/rounds/program.hpp"

namespace ashlar::cli {

namespace {

struct loading {
  std::vector<double> ms;
  std::vector<double> bytes;
};

}  // namespace

void add_loading(std::vector<prediction>& predictions, std::size_t rounds) {
  program_runner runner({"/proc/self/exe", "--version"}, "");
  std::vector<loading> all(predictions.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    const program_run own = runner.run("");
    for (std::size_t i = 0; i < all.size(); ++i) {
      const program_run run = runner.run(predictions[i].library);
      all[i].ms.push_back(run.cpu_ms - own.cpu_ms);
      all[i].bytes.push_back(run.peak_bytes - own.peak_bytes);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    predictions[i].loading_ms = median_of(all[i].ms);
    predictions[i].loading_bytes = median_of(all[i].bytes);
  }
}

}  // namespace ashlar::cli
