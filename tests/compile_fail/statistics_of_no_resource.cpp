// error: (int. does not satisfy .resource|constraints? .*resource)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor refuses a type that is not a resource.
#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/resource/null_resource.hpp>

#ifdef ASHLAR_CONTROL
using upstream = ashlar::null_resource;
#else
using upstream = int;
#endif

int main() {
  const ashlar::statistics<upstream> counted;
  return counted.counters().failures == 0 ? 0 : 1;
}
