# What `make toolkit` installs: a folder that may be moved, with the layout that build scripts for an
# Ascend toolkit look for.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include DESTINATION . COMPONENT toolkit OPTIONAL)

configure_file(cmake/toolkit/CANNConfig.cmake.in ${CMAKE_BINARY_DIR}/toolkit-files/CANNConfig.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/toolkit-files/CANNConfig.cmake
        DESTINATION lib64/cmake/CANN COMPONENT toolkit)

# The rest depends on where the toolkit goes, which is known when it is installed.
set(BELAY_SET_ENV_TEMPLATE ${CMAKE_SOURCE_DIR}/cmake/toolkit/set_env.sh.in)
configure_file(cmake/toolkit/install.cmake.in ${CMAKE_BINARY_DIR}/toolkit-files/install.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/toolkit-files/install.cmake COMPONENT toolkit)

# What programs need, and everything that is installed; both without the tests.
get_property(libraries GLOBAL PROPERTY BELAY_TOOLKIT_LIBRARIES)
get_property(tools GLOBAL PROPERTY BELAY_TOOLKIT_TOOLS)
add_custom_target(libraries DEPENDS ${libraries})
add_custom_target(toolkit DEPENDS ${libraries} ${tools})
