# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The formula of Homebrew, for a tap.
class Ashlar < Formula
  desc "Memory resources, and the tools that say which to use"
  homepage "https://ashlar.example"
  url "https://ashlar.example/ashlar.git", tag: "v0.2.0"
  license "Apache-2.0" => { with: "LLVM-exception" }
  depends_on "cmake" => :build

  def install
    off = %w[CLI MALLOC].map { |part| "-DASHLAR_BUILD_#{part}=OFF" }
    system "cmake", "-S", ".", "-B", "build", "-DASHLAR_BUILD_CORE=ON", *off, *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    (testpath/"program.cpp").write <<~CPP
      #include <ashlar/cxx11/pool_allocator.hpp>
      #include <list>
      int main() { return std::list<int, ashlar::cxx11::pool_allocator<int>>(3).size() == 3 ? 0 : 1; }
    CPP
    system ENV.cxx, "-std=c++11", "program.cpp", "-I#{include}", "-L#{lib}", "-lashlar_core", "-o", "program"
    system "./program"
  end
end
