# belay_install(target): the toolkit holds this program or library. `make toolkit` builds what was named so,
# and nothing else (BelayToolkit.cmake).
function(belay_install target)
  install(TARGETS ${target} LIBRARY DESTINATION lib64 COMPONENT toolkit RUNTIME DESTINATION bin COMPONENT toolkit)
  set_property(GLOBAL APPEND PROPERTY BELAY_TOOLKIT_TARGETS ${target})
endfunction()
