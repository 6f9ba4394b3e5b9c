#include "app/serve.hpp"

#include <cstdio>

namespace sluice::app {

int serve(const std::string&) {
    std::fputs("sluice: serve is not built yet\n", stderr);
    return 2;
}

} // namespace sluice::app
