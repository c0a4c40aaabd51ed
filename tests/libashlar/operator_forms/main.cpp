// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program around the caller.
extern "C" int call_operator_forms();

int main() { return call_operator_forms(); }
