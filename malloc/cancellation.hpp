// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that wait for files, within malloc, which is no cancellation point.
#pragma once

#include <pthread.h>

namespace ashlar::drop_in {

/// A scope in which no request ends the thread (`pthread_cancel`): the calls in it are cancellation points, and a
/// thread that ended there would keep a lock. A request that arrives meanwhile takes effect at the next such call
/// behind it.
class cancellation_deferral {
public:
  cancellation_deferral() noexcept { static_cast<void>(::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former_)); }
  cancellation_deferral(const cancellation_deferral&) = delete;
  cancellation_deferral& operator=(const cancellation_deferral&) = delete;
  ~cancellation_deferral() { static_cast<void>(::pthread_setcancelstate(former_, nullptr)); }

private:
  int former_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace ashlar::drop_in
