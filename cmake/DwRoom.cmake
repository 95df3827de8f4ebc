# One room of the house is one library: dw_room(<name> SOURCES … DEPENDS … [PRIVATE_DEPENDS …]).
# Unit tests sit beside what they test: dw_room_tests(<name> SOURCES … [DEPENDS …]).
# What tests tell their stories with is compiled once: dw_room_story(<name> SOURCES … [DEPENDS …]) is
# dw_<name>_story, for this room's tests and those of the rooms above.

add_library(dw_flags INTERFACE)
target_compile_features(dw_flags INTERFACE cxx_std_20)
target_compile_options(dw_flags INTERFACE
  $<BUILD_INTERFACE:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual>
  $<BUILD_INTERFACE:$<$<BOOL:${DW_WERROR}>:-Werror>>
  # What g++ 12 says of optionals depends on what it happens to inline; clang and the sanitizers look for it, too.
  $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>>)
if(DW_SANITIZE)
  # What they find ends the program.
  target_compile_options(dw_flags INTERFACE
    $<BUILD_INTERFACE:-fsanitize=${DW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  # What the address sanitizer finds, too, or no machine of ours minds, and costs a good part of the build.
  if(DW_SANITIZE MATCHES undefined)
    target_compile_options(dw_flags INTERFACE $<BUILD_INTERFACE:-fno-sanitize=null,alignment,vptr>)
  endif()
  target_link_options(dw_flags INTERFACE $<BUILD_INTERFACE:-fsanitize=${DW_SANITIZE}>)
endif()
set_property(GLOBAL PROPERTY DW_ROOMS dw_flags)

find_program(DW_CCACHE ccache)
if(DW_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${DW_CCACHE}")
endif()
find_program(DW_MOLD mold)
if(DW_MOLD AND PROJECT_IS_TOP_LEVEL)
  add_link_options(-fuse-ld=mold)
endif()

function(dw_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(dw_${name} STATIC ${ROOM_SOURCES})
  add_library(dw::${name} ALIAS dw_${name})
  target_include_directories(dw_${name} PUBLIC
    $<BUILD_INTERFACE:${dw_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${dw_SOURCE_DIR}/src>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(dw_${name} PUBLIC dw_flags ${ROOM_DEPENDS} PRIVATE ${ROOM_PRIVATE_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY DW_ROOMS dw_${name})
endfunction()

function(dw_room_story name)
  if(NOT DW_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(dw_${name}_story STATIC ${ROOM_SOURCES})
  target_link_libraries(dw_${name}_story PUBLIC dw_${name} ${ROOM_DEPENDS} PRIVATE GTest::gmock)
endfunction()

# scripts/test runs a room's tests in one process: most of them take less time than a process. The
# inner loop leaves out what is drawn from seeds. By themselves they are there to be picked by name.
if(DW_BUILD_TESTS)
  add_custom_target(dw_quick)  # what the inner loop runs
endif()
function(dw_quick_test program)
  add_dependencies(dw_quick ${program})
  add_test(NAME quick.${program} COMMAND ${program} --gtest_brief=1 --gtest_filter=-Seeds/*)
  set_tests_properties(quick.${program} PROPERTIES TIMEOUT 300 LABELS quick)
  add_test(NAME room.${program} COMMAND ${program} --gtest_brief=1)
  set_tests_properties(room.${program} PROPERTIES TIMEOUT 600 LABELS room COST 10)
endfunction()

function(dw_room_tests name)
  if(NOT DW_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(dw_${name}_test ${ROOM_SOURCES})
  target_link_libraries(dw_${name}_test PRIVATE dw_${name} ${ROOM_DEPENDS} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(dw_${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 LABELS single)
  dw_quick_test(dw_${name}_test)
endfunction()
