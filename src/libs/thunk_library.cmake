# A library that programs link: generated thunks into libbelay_core.so, exporting exactly the names of
# its rows in spec/, without versions.
#
#   belay_thunk_library(opapi NEEDS nnopbase)
function(belay_thunk_library name)
  cmake_parse_arguments(THUNK "" "" "NEEDS" ${ARGN})
  set(script ${BELAY_GEN}/thunks/lib${name}.map)
  add_library(${name} SHARED ${BELAY_GEN}/thunks/lib${name}.c)
  target_include_directories(${name} PRIVATE ${BELAY_GEN} ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE belay_core ${THUNK_NEEDS})
  target_link_options(${name} PRIVATE
    -Wl,--version-script=${script} -Wl,-z,nodelete ${BELAY_NO_UNDEFINED} -Wl,-z,now -Wl,--no-as-needed)
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${script} INSTALL_RPATH "$ORIGIN")
  belay_install(${name})
endfunction()
