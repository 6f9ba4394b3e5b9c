// What nearly every unit test includes; precompiled once. doctest itself stays out: its one main()
// must see it first.
#pragma once

#include "../../../src/pch/sluice.hpp"
