# find_package(dw) after install: dw::dw, and dw::testing for tests; each brings everything it needs.
include(CMakePackageConfigHelpers)

install(TARGETS dw_library ${DW_LIBRARY_ROOMS} EXPORT dwTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT dwTargets NAMESPACE dw:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dw)
install(DIRECTORY include/dw DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
configure_package_config_file(cmake/dwConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/dwConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dw)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/dwConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/dwConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/dwConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dw)
if(TARGET dw)
  install(TARGETS dw RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
