#include "../scratch_directory.hpp"
#include "sys/file_mark.hpp"

#include <filesystem>
#include <fstream>
#include <string>

using sluice::sys::file_mark;
using sluice::sys::test::scratch_directory;
namespace files = std::filesystem;

namespace {

std::string write(const std::string& file, const std::string& text) {
    std::ofstream(file) << text;
    return file;
}

} // namespace

TEST_CASE("a file's mark is the same until it is written, replaced or gone") {
    scratch_directory in;
    auto file = write(in.path + "/a", "one");
    file_mark first(file);
    CHECK(file_mark(file) == first);
    write(in.path + "/a", "longer");
    file_mark written(file);
    CHECK(written != first);
    files::rename(write(in.path + "/b", "longer"), file);
    CHECK(file_mark(file) != written);
    files::remove(file);
    CHECK(file_mark(file) == file_mark(""));
    CHECK(first != file_mark(""));
}

TEST_CASE("a link that is replaced changes the mark of what lies behind it") {
    scratch_directory in;
    for (const auto* version : {"/v1", "/v2"}) {
        files::create_directory(in.path + version);
        write(in.path + version + "/key", "same");
    }
    files::create_directory_symlink("v1", in.path + "/now");
    auto file = in.path + "/now/key";
    file_mark before(file);
    files::create_directory_symlink("v2", in.path + "/next");
    files::rename(in.path + "/next", in.path + "/now");
    CHECK(file_mark(file) != before);
}
