# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the headers and a CMake package that refuses other minor versions while the library is before 1.0.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The folder of libraries, for generator expressions; and the way from the pkg-config files in it to the prefix.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(ashlar_installed_objects "${CMAKE_INSTALL_LIBDIR}")
else()
  set(ashlar_installed_objects "$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}")
endif()
set(ashlar_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/ashlar")
# The folder of installed sources, for generator expressions. Some distributions make the folder of data absolute.
cmake_path(APPEND ashlar_installed_sources "$<INSTALL_PREFIX>" "${CMAKE_INSTALL_DATADIR}" "ashlar")

install(TARGETS ashlar EXPORT ashlar_targets FILE_SET HEADERS FILE_SET detail)
install(EXPORT ashlar_targets NAMESPACE ashlar:: DESTINATION "${ashlar_package_dir}")

write_basic_package_version_file("${PROJECT_BINARY_DIR}/ashlar-config-version.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/ashlar-config-version.cmake" cmake/ashlar-config.cmake
  compiled/module.cmake compiled/ashlar.cppm DESTINATION "${ashlar_package_dir}")
install(DIRECTORY packaging/debuggers/ DESTINATION "${CMAKE_INSTALL_DATADIR}/ashlar/debuggers"
  PATTERN "__pycache__" EXCLUDE)

# For builds without CMake.
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(ashlar_pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
else()
  set(ashlar_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
file(RELATIVE_PATH ashlar_pc_up "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file(packaging/pkgconfig/ashlar.pc.in "${PROJECT_BINARY_DIR}/ashlar.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/ashlar.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")

install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
