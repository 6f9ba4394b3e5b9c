#include "sys/random.hpp"

#include "base/text.hpp"

#include <cerrno>
#include <sys/random.h>
#include <system_error>

namespace sluice::sys {

namespace {

void fill(char* to, std::size_t count) {
    while (count > 0) {
        auto got = ::getrandom(to, count, 0);
        if (got < 0) {
            if (errno == EINTR) continue;
            throw std::system_error(errno, std::generic_category(), "getrandom");
        }
        to += got;
        count -= static_cast<std::size_t>(got);
    }
}

} // namespace

std::string random_bytes(std::size_t count) {
    std::string out(count, '\0');
    fill(out.data(), out.size());
    return out;
}

std::string random_id(std::size_t bytes) {
    return base::base64url(random_bytes(bytes));
}

std::uint64_t random_u64() {
    std::uint64_t out = 0;
    fill(reinterpret_cast<char*>(&out), sizeof out);
    return out;
}

} // namespace sluice::sys
