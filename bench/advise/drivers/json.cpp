// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a JSON file with jsoncpp, changes each record, and prints what is left of it.
#include <cstdio>
#include <fstream>
#include <string>

#include <json/json.h>

int main(int argc, char** argv) {
  std::ifstream in(argc > 1 ? argv[1] : "");
  Json::Value all;
  in >> all;
  std::size_t bytes = 0;
  for (Json::Value& record : all) {
    record["seen"] = record["name"].asString() + "!";
    record.removeMember("note");
    bytes += record["tags"].size();
  }
  const std::string text = Json::writeString(Json::StreamWriterBuilder(), all);
  std::printf("%zu %zu\n", bytes, text.size());
}
