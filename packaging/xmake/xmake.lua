-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set_description("Packages of ashlar")
