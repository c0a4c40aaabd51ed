// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The headers for users, to be compiled for other systems.
#include <ashlar/adaptor/trace_log.hpp>
#include <ashlar/adaptor/tracing.hpp>
#include <ashlar/ashlar.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/study/summariser.hpp>
#include <ashlar/test/checking_allocator.hpp>
#include <ashlar/trace/reader.hpp>
#include <ashlar/trace/writer.hpp>
