# libbelay_core.so: all the state and all the work. The libraries that a program links hold thunks that
# call into it, so that several of them in one process share one runtime.
find_package(Threads REQUIRED)
file(GLOB BELAY_ENTRIES CONFIGURE_DEPENDS ${BELAY_GEN}/entries/*.cc)
add_library(belay_entries OBJECT ${BELAY_ENTRIES})
target_link_libraries(belay_entries PRIVATE belay_api)
belay_precompiled_headers(belay_entries)
# Their common headers take most of the time, and all of them change with the generator.
set_target_properties(belay_entries PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
add_library(belay_core SHARED $<TARGET_OBJECTS:belay_entries>)
foreach(room base tensor runtime ops graph collective api ge)
  target_sources(belay_core PRIVATE $<TARGET_OBJECTS:belay_${room}>)
endforeach()
target_sources(belay_core PRIVATE $<TARGET_OBJECTS:belay_ge_old_strings> ${BELAY_GE_OUT}/ge_core.c)
add_dependencies(belay_core belay_ge_symbols)
target_link_libraries(belay_core PRIVATE belay_api Threads::Threads ${CMAKE_DL_LIBS})
set(BELAY_CORE_EXPORTS ${CMAKE_SOURCE_DIR}/src/libs/libbelay_core/exports.map)
target_link_options(belay_core PRIVATE
  -Wl,-z,nodelete ${BELAY_NO_UNDEFINED} -Wl,--version-script=${BELAY_CORE_EXPORTS})
set_target_properties(belay_core PROPERTIES LINK_DEPENDS ${BELAY_CORE_EXPORTS} INSTALL_RPATH "$ORIGIN")
belay_install(belay_core)

# The public headers, for tests and examples that are built inside the tree.
add_library(belay_interface INTERFACE)
target_include_directories(belay_interface INTERFACE ${CMAKE_SOURCE_DIR}/include)
