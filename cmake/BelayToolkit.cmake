# What `make toolkit` installs: headers, libraries, tools, set_env.sh and the CMake package.
if(EXISTS ${CMAKE_SOURCE_DIR}/include)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/ DESTINATION include COMPONENT toolkit)
endif()
