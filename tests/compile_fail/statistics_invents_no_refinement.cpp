// error: owns
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor has only refinements of its upstream: operator new does not know its blocks.
#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>

#ifdef ASHLAR_CONTROL
using upstream = ashlar::null_resource;
#else
using upstream = ashlar::new_delete_resource;
#endif

int main() {
  const ashlar::statistics<upstream> counted;
  return counted.owns(&counted) ? 1 : 0;
}
