// Which file stands at a path, and since when: whoever keeps a mark sees that it was replaced or
// written. Links are followed: a ConfigMap of Kubernetes changes by one that is replaced.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace sluice::sys {

class file_mark {
public:
    // All paths without a file are alike, and so is the empty one.
    explicit file_mark(const std::string& path);
    bool operator==(const file_mark&) const = default;

private:
    std::array<std::int64_t, 7> seen_{};
};

} // namespace sluice::sys
