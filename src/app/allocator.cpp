#include "app/allocator.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/auxv.h>
#include <unistd.h>
#include <vector>

namespace sluice::app {

namespace {

constexpr const char* variable = "GLIBC_TUNABLES";
constexpr const char* wanted = "glibc.malloc.tcache_count=200";

std::vector<std::string> own_arguments() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> all;
    for (std::string one; std::getline(file, one, '\0');)
        all.push_back(one);
    return all;
}

} // namespace

void keep_more_blocks_at_hand() {
#ifdef __GLIBC__
    // With raised privileges the variable would be taken out again: this would never end.
    bool raised = ::getauxval(AT_SECURE) != 0;
    if (raised || std::getenv(variable) != nullptr) return;
    auto arguments = own_arguments();
    // By its path where there is one: who looks for the process looks for that name.
    std::string self(4096, '\0');
    auto length = ::readlink("/proc/self/exe", self.data(), self.size());
    self.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    if (arguments.empty() || ::access(self.c_str(), X_OK) != 0) return;
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (auto& one : arguments)
        pointers.push_back(one.data());
    pointers.push_back(nullptr);
    if (::setenv(variable, wanted, 0) != 0) return;
    ::execv(self.c_str(), pointers.data());
    ::unsetenv(variable);
#endif
}

} // namespace sluice::app
