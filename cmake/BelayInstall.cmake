# belay_install(target [folder]): the toolkit holds this program (in bin, or in the folder) or library. `make
# toolkit` builds what was named so, and nothing else (BelayToolkit.cmake).
function(belay_install target)
  set(folder bin)
  if(ARGC GREATER 1)
    set(folder ${ARGV1})
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION lib64 COMPONENT toolkit RUNTIME DESTINATION ${folder} COMPONENT toolkit)
  set_property(GLOBAL APPEND PROPERTY BELAY_TOOLKIT_TARGETS ${target})
endfunction()
