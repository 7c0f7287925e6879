# Runs the generator while CMake configures, and configures again whenever spec/ or gen/ changes. The
# generator decides which files there are, and only CMake's configure step may learn that; it leaves
# an unchanged file alone, so nothing is compiled twice. Generated sources lie in ${BELAY_GEN}:
#   entries/*.cc   compiled into libbelay_core.so       everything else: included by hand-written code
set(BELAY_GEN ${CMAKE_BINARY_DIR}/gen)
file(MAKE_DIRECTORY ${BELAY_GEN})
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

file(GLOB_RECURSE BELAY_GEN_INPUTS CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/spec/*.yaml ${CMAKE_SOURCE_DIR}/gen/*.py)
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${BELAY_GEN_INPUTS})

if(EXISTS ${CMAKE_SOURCE_DIR}/gen/generate.py)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} gen/generate.py --spec spec --out ${BELAY_GEN}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    COMMAND_ERROR_IS_FATAL ANY)
endif()
