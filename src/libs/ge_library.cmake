# A library of the graph interface: jumps into libbelay_core.so under the C++ symbols that spec/ge gives it.
#
#   belay_ge_library(ge_runner NEEDS graph)
function(belay_ge_library name)
  cmake_parse_arguments(GE "" "" "NEEDS" ${ARGN})
  set(source ${BELAY_GE_OUT}/lib${name}.c)
  set(script ${BELAY_GE_OUT}/lib${name}.map)
  set_source_files_properties(${source} PROPERTIES GENERATED TRUE)
  add_library(${name} SHARED ${source})
  add_dependencies(${name} belay_ge_symbols)
  target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE belay_core ${GE_NEEDS})
  target_link_options(${name} PRIVATE
    -Wl,--version-script=${script} -Wl,-z,nodelete ${BELAY_NO_UNDEFINED} -Wl,-z,now -Wl,--no-as-needed)
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${script} INSTALL_RPATH "$ORIGIN")
  belay_install(${name})
endfunction()
