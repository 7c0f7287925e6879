# belay_install(library): the toolkit holds this library, which programs link or load. `make run` builds and installs
# what was named so, and nothing else (BelayToolkit.cmake).
function(belay_install library)
  install(TARGETS ${library} LIBRARY DESTINATION lib64 COMPONENT toolkit)
  set_property(GLOBAL APPEND PROPERTY BELAY_TOOLKIT_LIBRARIES ${library})
endfunction()

# belay_install_tool(target [folder]): the toolkit holds this command (in bin, or in the folder), or a library that only
# commands load. `make toolkit` builds these, too; an installation before that goes without.
function(belay_install_tool target)
  set(folder bin)
  if(ARGC GREATER 1)
    set(folder ${ARGV1})
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION lib64 COMPONENT toolkit OPTIONAL
    RUNTIME DESTINATION ${folder} COMPONENT toolkit OPTIONAL)
  set_property(GLOBAL APPEND PROPERTY BELAY_TOOLKIT_TOOLS ${target})
endfunction()

# belay_loaded_library(library test): one that Belay loads itself, when it is first needed, so that the symbols of what
# it is linked with do not meet a program's: only its entry is seen. It never goes, and the test runs with it.
function(belay_loaded_library library test)
  target_include_directories(${library} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_options(${library} PRIVATE -Wl,-z,nodelete ${BELAY_NO_UNDEFINED}
    -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/libs/libbelay_core/exports.map)
  set_target_properties(${library} PROPERTIES INSTALL_RPATH "$ORIGIN")
  belay_install(${library})
  if(TARGET ${test})
    add_dependencies(${test} ${library})
  endif()
endfunction()
