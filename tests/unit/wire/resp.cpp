#include "wire/resp.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace sluice;
using namespace sluice::wire;
using namespace std::string_literals;

namespace {

using type = resp_reply::type;

std::vector<resp_reply> read_in_pieces(std::string_view bytes, std::size_t size) {
    resp_reader reader;
    std::vector<resp_reply> all;
    while (!bytes.empty()) {
        reader.feed(bytes.substr(0, size));
        bytes.remove_prefix(std::min(size, bytes.size()));
        for (;;) {
            auto got = reader.next();
            REQUIRE(got.ok());
            if (!*got) break;
            all.push_back(std::move(**got));
        }
    }
    return all;
}

resp_reply text(std::string value) {
    return {type::text, 0, std::move(value), {}};
}

} // namespace

TEST_CASE("a command is an array of bulk strings of any bytes") {
    std::array<std::string_view, 3> words{"SET", std::string_view("a\0\r\n", 4), ""};
    CHECK(resp_command(words) == "*3\r\n$3\r\nSET\r\n$4\r\na\0\r\n\r\n$0\r\n\r\n"s);
}

TEST_CASE("replies of every kind are read, whatever the split") {
    auto bytes = "+OK\r\n-ERR no\r\n:-7\r\n$-1\r\n$3\r\na\0\n\r\n*-1\r\n*0\r\n"
                 "*3\r\n$1\r\nx\r\n*2\r\n:1\r\n$-1\r\n$0\r\n\r\n:9\r\n"s;
    std::vector<resp_reply> wanted = {
        text("OK"),
        {type::error, 0, "ERR no", {}},
        {type::integer, -7, "", {}},
        {},
        text(std::string("a\0\n", 3)),
        {},
        {type::array, 0, "", {}},
        {type::array,
         0,
         "",
         {text("x"), {type::array, 0, "", {{type::integer, 1, "", {}}, {}}}, text("")}},
        {type::integer, 9, "", {}},
    };
    for (std::size_t size : {1U, 2U, 3U, 7U, 1000U})
        CHECK(read_in_pieces(bytes, size) == wanted);
}

TEST_CASE("what is not RESP is refused") {
    for (const char* bytes : {"HTTP/1.1 200 OK\r\n", "*x\r\n", "$-2\r\n", ":1z\r\n", "\r\n"}) {
        CAPTURE(bytes);
        resp_reader reader;
        reader.feed(bytes);
        auto got = reader.next();
        REQUIRE_FALSE(got.ok());
        CHECK(got.error().code == base::errc::protocol);
    }
}

TEST_CASE("a reply over the limits is refused before it is held") {
    resp_reader many({1000, 10});
    many.feed("*11\r\n");
    CHECK_FALSE(many.next().ok());
    resp_reader inner({1000, 10});
    inner.feed("*1\r\n*2000000000\r\n");
    CHECK_FALSE(inner.next().ok());
    resp_reader large({1000, 10});
    large.feed("$5000\r\n" + std::string(900, 'x'));
    CHECK(large.next().ok());
    large.feed(std::string(200, 'x'));
    CHECK_FALSE(large.next().ok());
}

TEST_CASE("a half read reply is given up without a leak") {
    resp_reader reader;
    reader.feed("*3\r\n$1\r\nx\r\n*2\r\n:1\r\n");
    auto got = reader.next();
    REQUIRE(got.ok());
    CHECK_FALSE(*got);
}
