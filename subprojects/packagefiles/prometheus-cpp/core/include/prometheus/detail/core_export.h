// CMake generates this file; a static library exports nothing in particular.
#pragma once
#define PROMETHEUS_CPP_CORE_EXPORT
#define PROMETHEUS_CPP_CORE_NO_EXPORT
