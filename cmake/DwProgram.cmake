# dw_program(<name>): our own programs allocate with jemalloc (decision 12). Embedders choose for
# themselves, sanitizers bring their own.
find_library(DW_JEMALLOC jemalloc)
if(DW_JEMALLOC AND NOT DW_SANITIZE)
  set(DW_ALLOCATOR jemalloc)
else()
  set(DW_ALLOCATOR libc)
endif()

function(dw_program name)
  if(DW_ALLOCATOR STREQUAL jemalloc)
    target_link_libraries(${name} PRIVATE ${DW_JEMALLOC})
  endif()
endfunction()
