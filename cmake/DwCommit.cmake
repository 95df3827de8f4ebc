# cmake -DSOURCE=DIR -DFILE=FILE -P DwCommit.cmake: writes down which commit the sources are, for
# src/main/commit.cpp. A file that is right already is left alone, so nothing is compiled for it, and
# the date is the commit's, not the clock's: the same sources give the same program.
cmake_minimum_required(VERSION 3.25)
set(commit unknown)
set(committed_at unknown)
find_program(GIT git)

function(ask_git answer)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env TZ=UTC0 ${GIT} --no-optional-locks -C ${SOURCE} ${ARGN}
    OUTPUT_VARIABLE said ERROR_QUIET RESULT_VARIABLE code OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${answer} "${said}" PARENT_SCOPE)
  set(code "${code}" PARENT_SCOPE)
endfunction()

if(GIT)
  # Sources without a repository of their own may lie in somebody else's.
  ask_git(inside rev-parse --show-prefix)
  if(code EQUAL 0 AND inside STREQUAL "")
    ask_git(described describe --always --dirty --abbrev=12 --exclude=*)
    ask_git(dated log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
    if(code EQUAL 0 AND NOT described STREQUAL "")
      set(commit "${described}")
      set(committed_at "${dated}")
    endif()
  endif()
endif()

file(CONFIGURE OUTPUT "${FILE}" @ONLY CONTENT
"constexpr std::string_view commit = \"@commit@\";
constexpr std::string_view commit_time = \"@committed_at@\";
")
