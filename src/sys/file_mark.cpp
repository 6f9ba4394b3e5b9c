#include "sys/file_mark.hpp"

#include <sys/stat.h>

namespace sluice::sys {

file_mark::file_mark(const std::string& path) {
    struct stat at{};
    if (::stat(path.c_str(), &at) != 0) return;
    seen_ = {
        static_cast<std::int64_t>(at.st_dev),
        static_cast<std::int64_t>(at.st_ino),
        static_cast<std::int64_t>(at.st_size),
        at.st_mtim.tv_sec,
        at.st_mtim.tv_nsec,
        at.st_ctim.tv_sec,
        at.st_ctim.tv_nsec
    };
}

} // namespace sluice::sys
