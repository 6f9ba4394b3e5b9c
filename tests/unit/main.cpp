// The unit tests' main: doctest's own, except that tests of child processes start this binary as
// guard.
#define DOCTEST_CONFIG_IMPLEMENT
#include "net/child.hpp"

#include <doctest/doctest.h>

#include <string_view>

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "guard-children") return sluice::net::guard_main();
    return doctest::Context(argc, argv).run();
}
