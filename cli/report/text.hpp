// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A trace's summary as text of 100 columns, and as JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/report/data.hpp"

namespace ashlar::cli {

[[nodiscard]] std::string report_text(const report_data& data);
[[nodiscard]] nlohmann::json report_json(const report_data& data);

}  // namespace ashlar::cli
