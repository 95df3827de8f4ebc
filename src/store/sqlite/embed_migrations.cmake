# Turns the numbered SQL files into a C++ table: cmake -DOUTPUT=… -P embed_migrations.cmake file…
# A raw string literal may be cut by a compiler at 64 KiB; no migration comes near that.
set(rows "")
set(expected 1)
math(EXPR last "${CMAKE_ARGC} - 1")
set(collecting FALSE)
foreach(i RANGE ${last})
  set(argument "${CMAKE_ARGV${i}}")
  if(collecting)
    get_filename_component(name "${argument}" NAME_WE)
    string(REGEX MATCH "^[0-9]+" digits "${name}")
    string(REGEX REPLACE "^0+" "" version "${digits}")
    if(NOT version STREQUAL "${expected}")
      message(FATAL_ERROR "Migration ${name} should be number ${expected}: no gaps, no repeats")
    endif()
    math(EXPR expected "${expected} + 1")
    file(READ "${argument}" sql)
    string(APPEND rows "    {${version}, \"${name}\", R\"sql(${sql})sql\"},\n")
  elseif(argument MATCHES "embed_migrations.cmake$")
    set(collecting TRUE)
  endif()
endforeach()
file(WRITE "${OUTPUT}" "// Generated from migrations/*.sql.
#include \"store/sqlite/migrations.hpp\"

#include <array>

namespace dw::sqlite {
namespace {

constexpr auto migrations = std::to_array<Migration>({
${rows}});

}  // namespace

std::span<const Migration> all_migrations() {
  return migrations;
}

}  // namespace dw::sqlite
")
