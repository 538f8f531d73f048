# What is installed: liblapse, shared and static, with the public headers, a pkg-config file and a CMake package; and the
# `lapse` binary. Both libraries are made of the objects of the layers' libraries: nothing is compiled twice.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(lapse_objects $<TARGET_OBJECTS:lapse_base> $<TARGET_OBJECTS:lapse_engine> $<TARGET_OBJECTS:lapse_store>
                  $<TARGET_OBJECTS:lapse_c>)
add_library(lapse_shared SHARED ${lapse_objects})
add_library(lapse_static STATIC ${lapse_objects})

foreach(library lapse_shared lapse_static)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME lapse LINKER_LANGUAGE CXX)
  target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${library} PRIVATE ${LMDB_LIBRARIES} Threads::Threads)
  if(LAPSE_SANITIZE)
    target_link_options(${library} PUBLIC -fsanitize=${LAPSE_SANITIZE})
  endif()
endforeach()

# Before 1.0 each minor version may change the interface, so it is part of the library's name.
set_target_properties(lapse_shared PROPERTIES
  EXPORT_NAME lapse
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/liblapse.map)
target_link_options(lapse_shared PRIVATE LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/liblapse.map)
add_library(lapse::lapse ALIAS lapse_shared)
add_library(lapse::lapse_static ALIAS lapse_static)

if(PROJECT_IS_TOP_LEVEL)
  set(lapse_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lapse)
  install(TARGETS lapse_shared lapse_static EXPORT lapse-targets)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lapse DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.h")
  install(TARGETS lapse-server)
  install(EXPORT lapse-targets NAMESPACE lapse:: DESTINATION ${lapse_cmake_dir})

  configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lapse-config.cmake.in
                                ${CMAKE_CURRENT_BINARY_DIR}/lapse-config.cmake
                                INSTALL_DESTINATION ${lapse_cmake_dir})
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/lapse-config-version.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lapse-config.cmake
                ${CMAKE_CURRENT_BINARY_DIR}/lapse-config-version.cmake
          DESTINATION ${lapse_cmake_dir})

  # From where lapse.pc is to the prefix: lib/pkgconfig, or lib/x86_64-linux-gnu/pkgconfig.
  file(RELATIVE_PATH lapse_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/lapse.pc.in ${CMAKE_CURRENT_BINARY_DIR}/lapse.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lapse.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
