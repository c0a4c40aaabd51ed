// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that only loads a library.
int early_library();

int main() { return early_library(); }
