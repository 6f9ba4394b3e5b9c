// A folder of a test's own below the system's for such, gone with the object.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <stdlib.h>
#include <string>

namespace sluice::sys::test {

struct scratch_directory {
    scratch_directory()
        : path((std::filesystem::temp_directory_path() / "sluice-test-XXXXXX").string()) {
        REQUIRE(::mkdtemp(path.data()) != nullptr);
    }
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;
    ~scratch_directory() { std::filesystem::remove_all(path); }

    std::string path;
};

} // namespace sluice::sys::test
