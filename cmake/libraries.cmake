# Third-party libraries. Which file may use which one: docs/architecture.md, checked by tests/tidy.
find_package(PkgConfig REQUIRED)

# dt_library(NAME MODULE): dt::NAME from pkg-config, required.
function(dt_library name)
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET GLOBAL ${ARGN})
    add_library(dt::${name} ALIAS PkgConfig::${name})
endfunction()

dt_library(jansson jansson>=2.13)
dt_library(libevent libevent_core>=2.1.12 libevent_extra>=2.1.12 libevent_openssl>=2.1.12)
dt_library(openssl libssl>=3.0 libcrypto>=3.0)
dt_library(hiredis hiredis>=0.14)
dt_library(libyaml yaml-0.1>=0.2.5)
dt_library(hwloc hwloc>=2.0)
dt_library(pmix pmix>=4.2)
dt_library(libcurl libcurl>=7.80)
dt_library(smartcols smartcols>=2.38)
dt_library(openblas openblas)
dt_library(mpi ompi-c)
find_path(CUNIT_INCLUDE CUnit/CUnit.h)
find_library(CUNIT_LIBRARY cunit)
