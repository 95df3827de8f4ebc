# A disk that can lose power, for the tests of whatever sits on SQLite. Linked by tests only.
# g++ wants a hidden type in the file it compiles, not in one that this includes.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/fault_vfs.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
add_library(dw_fault_vfs STATIC ${CMAKE_CURRENT_LIST_DIR}/fault_vfs.cpp)
target_link_libraries(dw_fault_vfs PUBLIC dw_flags dw_core PRIVATE SQLite::SQLite3)

if(DW_BUILD_TESTS)
  add_executable(dw_fault_vfs_test ${CMAKE_CURRENT_LIST_DIR}/fault_vfs_test.cpp)
  target_link_libraries(dw_fault_vfs_test PRIVATE
    dw_fault_vfs SQLite::SQLite3 Threads::Threads GTest::gmock GTest::gtest_main)
  gtest_discover_tests(dw_fault_vfs_test TEST_PREFIX "fault_vfs." DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 LABELS slow)
endif()
