// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The library of fork_after_close.cpp: it first has a fork-safe lock, reports to the program's handler, and is closed.
#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/resource/block_pool.hpp>

extern "C" void ashlar_fork_work();

extern "C" void ashlar_fork_work() {
  ashlar::synchronized<ashlar::block_pool<>> own(ashlar::block_pool_options{.cell_bytes = 40});
  own.deallocate(own.allocate(40, 8), 40, 8);
  ashlar::report_outsized({});
}
