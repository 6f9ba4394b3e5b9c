// What nearly every unit test includes; precompiled once.
#pragma once

#include <doctest/doctest.h>

#include "../../../src/pch/sluice.hpp"
